import { chunk, lastChunk, wholeAnswer } from '../helpers/fault-server.ts';
import { garbledEndings, lost, paid, type Row, someOfAll, well, withoutStream } from './row.ts';
import { after, instead, type Way } from './ways.ts';

const json = (...head: readonly string[]): string =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...head, '', ''].join('\r\n');

/** Heads that begin like HTTP but can't be parsed: the sender may have done the work. */
const malformedHeads: readonly (readonly [fault: string, answer: string | Buffer])[] = [
  ['a negative length', `${json('Content-Length: -2')}{}`],
  ['a length that no number holds', `${json('Content-Length: 99999999999999999999999')}{}`],
  ['a length in hexadecimal', `${json('Content-Length: 0x2')}{}`],
  ['two lengths', `${json('Content-Length: 2', 'Content-Length: 3')}{}`],
  ['the same length twice', `${json('Content-Length: 2', 'Content-Length: 2')}{}`],
  [
    'a length and chunks',
    `${json('Content-Length: 2', 'Transfer-Encoding: chunked')}${chunk('{}')}${lastChunk}`,
  ],
  ['bare line feeds', `${json('Content-Length: 2')}{}`.replaceAll('\r\n', '\n')],
  ['a folded header', `${json('X-A: b', ' c', 'Content-Length: 2')}{}`],
  ['a NUL in a header', `${json('X-A: b\0c', 'Content-Length: 2')}{}`],
  ['a NUL in the name of a header', `${json('X\0A: b', 'Content-Length: 2')}{}`],
  ['a space before the colon', `${json('X-A : b', 'Content-Length: 2')}{}`],
  ['a header without a colon', `${json('X-A', 'Content-Length: 2')}{}`],
  ['status 99', 'HTTP/1.1 99 X\r\nContent-Length: 2\r\n\r\n{}'],
  ['status 099', 'HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\n{}'],
  ['status 1000', 'HTTP/1.1 1000 X\r\nContent-Length: 2\r\n\r\n{}'],
  ['no status', 'HTTP/1.1\r\n\r\n'],
  ['another version of HTTP', 'HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}'],
  ['101 that nobody asked for', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['101 without an upgrade', 'HTTP/1.1 101 X\r\n\r\n'],
];

/** Heads that are good HTTP and are refused all the same. The next one would be alike, so it is sent once. */
const unreadable: readonly Row[] = (
  [
    ['a flood of headers', json(...Array(10_000).fill('X-A: bbbbbbbbbbbbbbbb')), 'larger than 64 kB'],
    ['one endless header', json(`X-A: ${'b'.repeat(66_000)}`), 'larger than 64 kB'],
    ['100 that nobody asked for', `HTTP/1.1 100 Continue\r\n\r\n${json()}`, 'an unexpected "100 Continue"'],
  ] as const
).map(([fault, head, says]) => ({
  fault: `${fault}, after the service has done it`,
  ways: [after(instead(head.replace(/\r\n$/, 'Content-Length: 2\r\n\r\n{}')))],
  only: someOfAll,
  endings: {
    G: { exit: 76, charged: 'no', type: 'unreadable' },
    ...paid({ exit: 8, charged: 'maybe', type: 'unreadable', paid: 1 }),
  },
  says: RegExp(`^the answer of the service can't be read: .*${says}`),
}));

/** Proxies add whole kilobytes of cookies and policies. */
const largeHead: Row = {
  fault: '60 kB of headers',
  ways: [
    async ({ socket, deliver }) => {
      const answer = await deliver();
      const more = Array.from({ length: 15 }, (_, nth) => `X-${nth}: ${'b'.repeat(4000)}\r\n`).join('');
      const end = answer.indexOf('\r\n') + 2;
      socket.end(Buffer.concat([answer.subarray(0, end), Buffer.from(more), answer.subarray(end)]));
    },
  ],
  only: someOfAll,
  endings: well(),
};

/** Bodies whose end can't be found, behind a good head. */
const malformedBodies: readonly (readonly [fault: string, answer: string])[] = [
  ['a chunk size that is none', `${json('Transfer-Encoding: chunked')}zz\r\n{}\r\n${lastChunk}`],
  ['a chunk size that no number holds', `${json('Transfer-Encoding: chunked')}${'f'.repeat(40)}\r\n{}`],
  ['a chunk longer than its size', `${json('Transfer-Encoding: chunked')}1\r\n{}\r\n${lastChunk}`],
];

const malformed: readonly Row[] = (
  [
    [malformedHeads, lost(1)],
    [malformedBodies, withoutStream(lost(1))],
  ] as const
).flatMap(([list, endings]) =>
  list.map(([fault, answer]) => ({
    fault: `${fault}, after the service has done it`,
    ways: [after(instead(answer))],
    only: someOfAll,
    endings,
    says: 'the connection to the service broke: ',
  })),
);

/** Answers that announce another: HTTP lets them come unasked for. */
const interim: readonly Row[] = (
  [
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX-Request-Id: req_early\r\n\r\n'],
    ['199', 'HTTP/1.1 199 X\r\n\r\n'],
    ['a hundred of 103', 'HTTP/1.1 103 X\r\nX-A: b\r\n\r\n'.repeat(100)],
  ] as const
).flatMap(([fault, text]): Row[] =>
  ([`${fault}, then the answer`, `${fault}, and the answer in one piece with it`] as const).map(
    (fault, nth) => ({
      fault,
      ways: [announcing(text, nth === 1)],
      only: someOfAll,
      endings: well(),
    }),
  ),
);

function announcing(text: string, isAtOnce: boolean): Way {
  return async ({ socket, deliver }) => {
    if (!isAtOnce) socket.write(text);
    const answer = await deliver();
    socket.end(isAtOnce ? Buffer.concat([Buffer.from(text), answer]) : answer);
  };
}

/** Content types that are only nearly the promised ones, and those that are in other words. */
const nearly: readonly Row[] = [
  'x',
  '/json',
  ', text/html',
  '; charset=utf-8\r\nContent-Type: text/html',
  '\r\ncontent-type: application/json; charset=latin1',
].map((more) => ({
  fault: `the content type with ${more} behind it`,
  ways: [
    ({ socket, endpoint }) => void socket.write(wholeAnswer('200 OK', `${endpoint.answer}${more}`, '{}')),
  ],
  only: someOfAll,
  endings: garbledEndings,
  says: 'with the content type',
}));

const inOtherWords: readonly Row[] = (
  [
    ['; charset=utf-8'],
    [';a=b;c="d"'],
    [' ; x'],
    // A second one, of a proxy.
    ['', '\r\nContent-Type: ', '; charset=UTF-8'],
    ['; Charset="UTF-8";a="b,c"', '\r\nCONTENT-TYPE:', ''],
    [';charset=utf-8', ', ', ' ; charset = utf-8'],
  ] as const
).map(([more, again, moreAgain]) => {
  const inCapitals = (_: string, name: string, type: string) =>
    `${name}${type.toUpperCase()}${more}${again === undefined ? '' : `${again}${type}${moreAgain}`}`;
  const changed = (answer: Buffer): string =>
    answer.toString('latin1').replace(/^(content-type: )([\w/-]+).*$/im, inCapitals);
  return {
    fault: `the content type in capitals, with ${JSON.stringify([more, again, moreAgain])}`,
    ways: [async ({ socket, deliver }) => void socket.end(changed(await deliver()), 'latin1')],
    only: someOfAll,
    endings: well(),
  };
});

export const framingRows: readonly Row[] = [
  ...malformed,
  ...unreadable,
  largeHead,
  ...interim,
  ...nearly,
  ...inOtherWords,
];
