import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  frame,
  jsonAnswer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  streamStart,
} from '../helpers/fault-server.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';

const entities = [
  '{"name":"Ünal é日😀","links":{"website":"https://a.example"},"description":"d","score":{"score":"0.9","reason":"r"}}',
  '{"name":"B","follower_id":12345678901234567890,"ratio":1.10,"unknown":{"deep":[1e400,-0]}}',
  '{"name":"C","note":"line\\nbreak, \\"quoted\\""}',
];
const batches = [entities.slice(0, 2), entities.slice(2)];
const frames = searchFrames(batches);
const [first = '', second = '', done = '', sentinel = ''] = frames;
const both = first + second;
const whole = frames.join('');
const bytes = Buffer.from(whole);
const rowsOf = (leads: readonly string[]): string => leads.map((lead) => `${lead}\n`).join('');
const rows = rowsOf(entities);
const firstTwo = rowsOf(entities.slice(0, 2));

let server: FaultServer;
/** The pieces of a body, each in a chunk of its own, and what is done then. */
let pieces: readonly (Uint8Array | string)[];
let end: (socket: Socket) => void;
let env: Record<string, string>;
const finish = (socket: Socket): void => void socket.write(lastChunk);
beforeEach(async () => {
  end = finish;
  server = await startFaultServer((socket) => {
    const chunks = pieces.filter((one) => one.length > 0).map(chunk);
    socket.write(Buffer.concat([Buffer.from(streamHead), ...chunks]));
    end(socket);
  });
  env = pointedAt(server.url);
});

const search = ['search', 'company', 'anything', '-f', 'jsonl'];
/** What a search comes to whose answer has this body. */
function streamed(...body: typeof pieces) {
  pieces = body;
  return runInProcess(search, { env });
}

/** The same frame with another text in place of one. */
function edited(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, () => to);
}
const doneWith = (count: string): string => edited(done, '"cum_count":3', count);
const secondAs = (index: string): string => edited(second, '"batch_index":2', `"batch_index":${index}`);
const announcing = (count: number): string => edited(first, '"count":2', `"count":${count}`);
const uncounted = 'the service did not say how many leads it sent';
const early = 'the connection ended too early';
const deep = `"stop_reason":${'['.repeat(20_000)}${']'.repeat(20_000)}`;
const ends = done + sentinel;

/** Bodies, how a search of each ends, what it says, and how many of the leads it prints, if not all. */
const bodies: readonly [name: string, body: string, code: number, says?: string, leads?: number][] = [
  ['CRLF', whole.replaceAll('\n', '\r\n'), 0],
  ['CR', whole.replaceAll('\n', '\r'), 0],
  ['BOM', `\ufeff${whole}`, 0],
  ['comments and other fields', frames.map((one) => `: ping\n\nid: 1\nretry: 5\n${one}`).join(''), 0],
  ['no space after data:', whole.replaceAll('data: ', 'data:'), 0],
  ['several data lines', whole.replaceAll('"entities":[', '"entities":\ndata: ['), 0],
  ['an unknown event', `${frame({ object: 'entity_search_hint', text: 'x' })}${whole}`, 0],
  ['unknown fields and stop reason', searchFrames(batches, 'new_reason').join(''), 0],
  ['a repeated batch', first + whole, 0],
  ['rubbish after the sentinel', `${whole}data: {{{\n\n`, 0],
  ['batches out of order', edited(first, '"batch_index":1', '"batch_index":2') + secondAs('1') + ends, 0],
  [
    'a repeated batch of other content',
    first + secondAs('1') + ends,
    0,
    'batch 1 came again with other leads (1)',
  ],
  [
    'more than was announced',
    announcing(1) + second + ends,
    0,
    'the service announced 1 lead in batch 1, but sent 2',
  ],
  [
    'what was announced, when it comes again',
    announcing(3) + edited(announcing(3), '"entities":[', `"entities":[${entities[2]},`) + ends,
    0,
    'batch 1 came again with other leads (1)',
  ],
  [
    'a list that is null, as some languages write an empty one',
    `${both}${frame('{"object":"entity_search_batch","batch_index":3,"count":0,"cum_count":3,"entities":null}')}${ends}`,
    0,
    'batch 3 came without a list of leads',
  ],
  [
    'what is odd and proves nothing',
    edited(first, '"leads_search_id":"ls_test"', '"leads_search_id":{"toString":1}') +
      edited(second, '"count":1', '"count":[]') +
      edited(done, '"stop_reason":"limit"', deep) +
      sentinel,
    0,
    'the service did not say how many leads are in batch 2; it sent 1',
  ],
  [
    'leads beyond the count of the done event',
    both + doneWith('"cum_count":2') + sentinel,
    0,
    'counted 2 leads',
  ],

  ['[DONE] without done', both + sentinel, 3, early],
  ['a count above what arrived', first + ends, 3, 'counted 3 leads, but 2 arrived', 2],
  ['a gap', first + secondAs('4') + ends, 3, 'batch 2 never arrived'],
  [
    'an error frame',
    first + frame({ error: { message: 'upstream \u001b[31mfailed' } }),
    3,
    'upstream [31mfailed',
    2,
  ],
  ['an error event', `${first}event: error\ndata: {"message":"no"}\n\n`, 3, 'reported an error: no', 2],
  ['an error event of text', `${first}event: error\ndata: "no"\n\n`, 3, 'reported an error: no', 2],
  ['an error event of a number', `${first}event: error\ndata: 429\n\n`, 3, 'reported an error: 429', 2],
  ['an error event that says [DONE]', `${first}event: error\n${sentinel}`, 3, 'reported an error: [DONE]', 2],
  ['an error in a batch', edited(first, '{', '{"error":"no",') + second, 3, 'reported an error: no', 2],
  ['bad JSON', `${first}data: {"object":\n\n`, 3, 'not JSON', 2],
  ['an error frame before anything', frame({ error: { message: 'no' } }), 8, 'No leads arrived', 0],
  ['nothing at all', '', 8, 'No leads arrived', 0],

  ...['null', '-1', '0.5', '1e400', '"many"', '{}', '[3]', '{"toString":null}', '9007199254740993'].map(
    (count): [string, string, number, string] => [
      `a done event that counts ${count}`,
      both + doneWith(`"cum_count":${count}`) + sentinel,
      3,
      uncounted,
    ],
  ),
  ['a done event that does not count', both + doneWith('"x":3') + sentinel, 3, uncounted],
  ['nothing but a done event that does not count', doneWith('"x":0') + sentinel, 8, '', 0],
  [
    'a done event that says it is not finished',
    both + edited(done, '"finish":true', '"finish":false') + sentinel,
    3,
    'not say that the search is finished',
  ],
  [
    'a second done event that counts more',
    both + done + doneWith('"cum_count":4') + sentinel,
    3,
    'counted 4 leads, but 3 arrived',
  ],
  [
    'a batch that counts more than the done event',
    first + edited(second, '"cum_count":3', '"cum_count":30') + ends,
    3,
    'counted 30 leads, but 3 arrived',
  ],
  [
    'a batch that announces more than it brings',
    announcing(5) + second + ends,
    3,
    'the service announced 5 leads in batch 1, but sent 2',
  ],
  [
    'a batch without its number',
    first + secondAs('"2"') + ends,
    3,
    'a group of leads came without its number',
  ],
  [
    'leads that are none',
    first +
      edited(edited(second, '"entities":[', '"entities":[null,'), '"count":1', '"count":2') +
      doneWith('"cum_count":4') +
      sentinel,
    3,
    'counted 4 leads, but 3 arrived',
  ],
  [
    'a done event that counts less, and no [DONE]',
    both + doneWith('"cum_count":2'),
    3,
    `${early}: the service counted 2 leads, but 3 arrived`,
  ],
];

it.each(bodies)('a stream with %s', async (_, body, code, says = '', leads = 3) => {
  const { stdout, ...result } = await streamed(body);
  expect(result).toEqual({ code, stderr: expect.stringContaining(says) });
  // What is no lead is delivered, and counts for none.
  expect(stdout.replace('null\n', '')).toBe(rowsOf(entities.slice(0, leads)));
  expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
});

/** Where a body is cut; at every byte it is in test/fuzz, without a network. */
const places = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) => 7 * index);

describe('a stream that is whole', () => {
  it('gives the same bytes wherever it is split', async () => {
    for (const at of places) {
      const { stdout, code } = await streamed(bytes.subarray(0, at), bytes.subarray(at));
      expect({ at, stdout, code }).toEqual({ at, stdout: rows, code: 0 });
    }
  }, 120_000);

  it('does so through the built command, byte by byte', async () => {
    pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(await run(search, { env })).toMatchObject({ stdout: rows, code: 0 });
  });

  it('does not wait for the connection to end after the sentinel', async () => {
    pieces = [bytes];
    end = () => {};
    expect(await run(search, { env })).toMatchObject({ stdout: rows, code: 0 });
  });

  it('keeps numbers as they were written in every format', async () => {
    pieces = [bytes];
    for (const format of ['jsonl', 'json', 'csv']) {
      const columns = format === 'csv' ? ['--columns', 'follower_id,ratio,unknown'] : [];
      const { stdout } = await run([...search.slice(0, 3), '-f', format, ...columns], { env });
      for (const number of ['12345678901234567890', '1.10', '1e400', '-0']) expect(stdout).toContain(number);
    }
  });
});

describe('a stream that is cut off', () => {
  const doneEnds = Buffer.byteLength(both + done);
  const oddEnd = 'warning: the service did not end its answer as it should';

  it.each([
    ['by a reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['by the end of the connection', (socket: Socket) => void socket.end()],
    ['by a last chunk', finish],
  ])(
    'anywhere %s is complete only behind the done event',
    async (_, cut) => {
      end = cut;
      for (const at of [...places, doneEnds - 1, doneEnds, doneEnds + 1]) {
        const { stdout, stderr, code } = await streamed(bytes.subarray(0, at));
        // A reset overtakes what was written before it and has not been read.
        const isRead = cut === finish || (stdout === rows && code === 0);
        const isWhole = at >= doneEnds && isRead;
        expect({ at, code }).toEqual({ at, code: isWhole ? 0 : stdout === '' ? 8 : 3 });
        expect(rows.startsWith(stdout)).toBe(true);
        expect(stderr).toContain(isWhole ? oddEnd : 'stopped before its end');
      }
    },
    120_000,
  );

  it('without a length or chunks is complete after the done event', async () => {
    const bare = await startFaultServer((socket) => {
      const head = streamHead.replace('Transfer-Encoding: chunked\r\n', 'Connection: close\r\n');
      socket.end(head + both + done);
    });
    const says = expect.stringContaining(oddEnd);
    expect(await runInProcess(search, { env: pointedAt(bare.url) })).toMatchObject({
      code: 0,
      stdout: rows,
      stderr: says,
    });
  });

  it('keeps what arrived in .part, names it, and says how to go on', async () => {
    pieces = [first];
    end = (socket) => void socket.end();
    const cwd = temporaryFolder();
    const file = join(cwd, 'leads.jsonl');
    const args = ['search', 'company', 'it\'s "x"', '-o', file, '--limit', '9', '--no-history'];
    const { stderr, code } = await runInProcess(args, { env });
    expect(code).toBe(3);
    expect(readdirSync(cwd)).toEqual(['leads.jsonl.part']);
    expect(readFileSync(`${file}.part`, 'utf8')).toBe(firstTwo);
    expect(stderr).toContain(`2 leads arrived, and are in ${file}.part`);
    const anew = `leadpipe search company 'it'\\''s "x"' --limit 7 --dedup-service-leads ls_test`;
    expect(stderr).toContain(anew);
    expect(stderr).toContain('request req_test · charged: yes');
  });
});

describe('a cut search that can still be read', () => {
  const status = (state: string, ready: number): string =>
    jsonAnswer({
      status: { status: state, ready_count: ready, verified_count: ready, stop_reason: 'limit' },
    });
  const page = (items: readonly string[], state = 'done'): string =>
    jsonAnswer(
      `{"object":"entity_search_items","leads_search_id":"ls_test","status":"${state}","pts":0,"num":500,` +
        `"count":${items.length},"ready_count":${items.length},"limit":9,"entities":[${items.join(',')}]}`,
    );
  const notFound = errorAnswer('404 Not Found', 'not_found', 'no such task');
  const otherwise = page(entities.map((entity) => entity.replace('"ratio":1.10', '"ratio":1.1')));

  const cases: readonly [name: string, status: string, page: string, code: number, stdout: string][] = [
    ['brings the rest', status('done', 3), page(entities), 0, rows],
    ['is not readable', notFound, notFound, 3, firstTwo],
    ['ended in error', status('error', 3), page(entities, 'error'), 3, firstTwo],
    ['is told in other words', status('done', 3), otherwise, 3, firstTwo],
  ];
  it.each(cases)('%s', async (_, statusAnswer, pageAnswer, code, stdout) => {
    const cut = await startFaultServer((socket, { method, path }) => {
      if (method === 'POST') socket.end(streamStart(first));
      else socket.write(path.includes('/status') ? statusAnswer : pageAnswer);
    });
    const says = code === 0 ? 'the rest was read from the service' : 'stopped before its end';
    expect(await runInProcess(search, { env: pointedAt(cut.url) })).toMatchObject({
      ...ending(code, says),
      stdout,
    });
    expect(cut.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('a service without measure', () => {
  it('is warned of in a few lines', async () => {
    const many = Array.from({ length: 5000 }, (_, index) =>
      frame(`{"object":"entity_search_batch","batch_index":${index + 1},"count":"x","entities":[]}`),
    );
    const { code, stderr } = await streamed(...many, ...searchFrames([], 'x'.repeat(100_000)));
    expect(code).toBe(0);
    expect(stderr.match(/^warning: the service did not say how/gm)).toHaveLength(10);
    expect(stderr).toContain('warning: and 4990 more warnings\n');
    expect(stderr.length).toBeLessThan(2000);
  });

  it('may send more leads than were asked for: they are kept, and it is said once', async () => {
    pieces = [bytes];
    const { code, stdout, stderr } = await runInProcess([...search, '--limit', '2'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows });
    expect(stderr.match(/warning: 3 leads came for a limit of 2/g)).toHaveLength(1);
  });
});
