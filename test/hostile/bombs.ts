import type { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { chunk, frame, lastChunk, streamHead } from '../helpers/fault-server.ts';
import type { Ending } from '../matrix/row.ts';

/** An answer that is meant to exhaust the memory or time of its reader. */
export interface Bomb {
  readonly name: string;
  readonly asked: 'balance' | 'contact' | 'search';
  readonly head: string | Buffer;
  /** What comes then, over and over, and how often. */
  readonly piece: string | Buffer;
  readonly times: number;
  readonly end?: string | Buffer;
  /** Milliseconds from one piece to the next, in place of haste. */
  readonly everyMs?: number;
  /** How a run ends with it; absent where only a signal or a time limit ends one. */
  readonly ending?: Ending;
  /** It is given up too soon for a signal to come in the middle. */
  readonly isBrief?: true;
}

const forEver = Number.POSITIVE_INFINITY;
/** Pieces after which a reader is in the middle of what has no end, and has not got to its cap yet. */
const much = 200;

/** Writes a bomb as fast as it is read, or slowly, and says when its reader is in the middle of it. */
export function drop(socket: Socket, bomb: Bomb, onMiddle = () => {}): void {
  const { head, piece, times, end = '', everyMs } = bomb;
  let written = 0;
  const more = (): void => {
    while (written < times && !socket.destroyed) {
      if (++written === (times === forEver ? much : Math.ceil(0.75 * times))) onMiddle();
      const isTaken = socket.write(piece);
      if (everyMs !== undefined) return void setTimeout(more, everyMs);
      if (!isTaken) return void socket.once('drain', more);
    }
    socket.write(end);
  };
  socket.write(head);
  more();
}

const json = (...head: readonly string[]): string =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', 'X-Request-Id: req_bomb', ...head, '', ''].join(
    '\r\n',
  );
const chunked = json('Transfer-Encoding: chunked');
const filler = chunk('x'.repeat(60_000));

const garbled = { exit: 8, charged: 'yes', type: 'garbled' } as const;
const cut = { exit: 8, charged: 'maybe', type: 'cut' } as const;

const MiB = 1024 * 1024;
const spaces = Buffer.alloc(100 * MiB, ' ');

const expanding: readonly Bomb[] = (
  [
    ['gzip', gzipSync(spaces)],
    ['deflate', deflateSync(spaces)],
    ['br', brotliCompressSync(spaces, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const
).map(([name, bytes]) => ({
  name: `100 MiB in ${name}`,
  asked: 'contact',
  head: json(`Content-Encoding: ${name}`, `Content-Length: ${bytes.length}`),
  piece: bytes,
  times: 1,
  ending: garbled,
}));

/** 60 MB of small values, the last two of them in good form: taken apart, they are gigabytes. */
const values: readonly Bomb[] = (
  [
    ['arrays in arrays', '[', '[', ''],
    ['empty objects', '{"result":{"content":"x","y":[', '{},', '{}]}}'],
    ['keys', '{"result":{"content":"x","y":{', '"":0,', '"":0}}}'],
  ] as const
).map(([name, opening, value, closing]) => ({
  name: `a body of ${name}`,
  asked: 'contact',
  head: Buffer.concat([Buffer.from(chunked), chunk(opening)]),
  piece: chunk(value.repeat(60_000 / value.length)),
  times: 1000,
  end: Buffer.concat([closing === '' ? Buffer.alloc(0) : chunk(closing), Buffer.from(lastChunk)]),
  ending: garbled,
}));

/** Answers in good form that are much too long: they are paid for, and are passed on. */
const giants: readonly Bomb[] = (
  [
    ['letters', 'x'],
    ['escapes', '\\u0074'],
    ['spaces', ' '],
  ] as const
).map(([name, letter]) => ({
  name: `an email address of 60 MB of ${name}`,
  asked: 'contact',
  head: Buffer.concat([
    Buffer.from(chunked),
    chunk('{"object":"contact_search_result","request":{},"result":{"content":"'),
  ]),
  piece: chunk(letter.repeat(60_000 / letter.length)),
  times: 1000,
  end: Buffer.concat([chunk('","reference":null}}'), Buffer.from(lastChunk)]),
  ending: { exit: 0 },
}));

// What can't be read is no envelope of the service.
const refused = { exit: 2, charged: 'no', type: 'gateway_refused' } as const;
const redirected = { exit: 76, charged: 'no', type: 'redirect' } as const;
const unreadable = { exit: 8, charged: 'maybe', type: 'unreadable' } as const;
const redirect = chunked.replace('200 OK', '307 X\r\nLocation: /elsewhere');
const page = chunked.replace('application/json', 'text/html');
const header = 'X-A: bbbbbbbbbbbbbbbb\r\n';
const line = chunk(`data: ${'x'.repeat(60_000)}\n`);
const zipped = chunk(gzipSync(`data: ${'x'.repeat(100 * MiB)}`));
const gzip = streamHead.replace('\r\n\r\n', '\r\nContent-Encoding: gzip\r\n\r\n');

const endless: readonly Bomb[] = (
  [
    ['a body', 'contact', chunked, filler, forEver, garbled, 'long'],
    ['a refusal', 'contact', chunked.replace('200 OK', '422 X'), filler, forEver, refused, 'brief'],
    ['a redirect', 'balance', redirect, filler, forEver, redirected, 'brief'],
    ['a page', 'contact', page, filler, forEver, garbled, 'brief'],
    ['the headers', 'contact', 'HTTP/1.1 200 OK\r\n', header.repeat(100), forEver, unreadable, 'brief'],
    ['a frame', 'search', streamHead, line, forEver, cut, 'long'],
    ['a frame in gzip', 'search', gzip, zipped, 1, cut, 'brief'],
  ] as const
).map(([name, asked, head, piece, times, ending, length]) => ({
  name: `${name} without end`,
  ...{ asked, head, piece, times, ending },
  ...(length === 'brief' && { isBrief: true }),
}));

const batch = frame({
  object: 'entity_search_batch',
  leads_search_id: 'ls_test',
  batch_index: 1,
  count: 1,
  cum_count: 1,
  entities: [{ name: 'A' }],
});

/** Nothing in them is wrong. */
const floods: readonly Bomb[] = (
  [
    ['comments', 'search', streamHead, chunk(': ping\n\n'.repeat(5000))],
    ['events that nobody knows', 'search', streamHead, chunk(frame({ object: 'x' }).repeat(1000))],
    ['one batch over and over', 'search', streamHead, chunk(batch.repeat(300))],
    ['answers that announce another', 'contact', '', 'HTTP/1.1 103 X\r\nLink: </a>\r\n\r\n'.repeat(1000)],
    ['spaces before a value', 'contact', chunked, chunk(' '.repeat(10))],
  ] as const
).map(([name, asked, head, piece]) => ({ name: `a flood of ${name}`, asked, head, piece, times: forEver }));

/** A page is read no further than a refusal: it is told by its head. */
const trickles: readonly Bomb[] = [
  ['a refusal', '422 X\r\nContent-Type: application/json'],
  ['a page', '200 OK\r\nContent-Type: text/html'],
].map(([name, head]) => ({
  name: `${name} that trickles`,
  asked: 'contact',
  head: `HTTP/1.1 ${head}\r\nContent-Length: 60000\r\n\r\n`,
  piece: 'x',
  times: forEver,
  everyMs: 1,
}));

export const bombs: readonly Bomb[] = [
  ...expanding,
  ...values,
  ...giants,
  ...endless,
  ...floods,
  ...trickles,
];
