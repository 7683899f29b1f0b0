import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

let server: FaultServer | undefined;

const entities = [
  '{"name":"Ünal é日😀","links":{"website":"https://a.example"},"description":"d","score":{"score":"0.9","reason":"r"}}',
  '{"name":"B","follower_id":12345678901234567890,"ratio":1.10,"unknown":{"deep":[1e400,-0]}}',
  '{"name":"C","note":"line\\nbreak, \\"quoted\\""}',
];
const frames = searchFrames([entities.slice(0, 2), entities.slice(2)]);
const whole = Buffer.from(frames.join(''));
const rows = entities.map((entity) => `${entity}\n`).join('');
/** What the first batch brings. */
const firstTwo = `${entities[0]}\n${entities[1]}\n`;

/** Serves these body pieces as chunks of their own, then does what `end` does. */
async function serve(
  pieces: readonly (Uint8Array | string)[],
  end: (socket: Socket) => void,
): Promise<FaultServer> {
  await server?.close();
  server = await startFaultServer((socket) => {
    socket.write(
      Buffer.concat([Buffer.from(streamHead), ...pieces.filter((one) => one.length > 0).map(chunk)]),
    );
    end(socket);
  });
  return server;
}

const finish = (socket: Socket): void => void socket.write(lastChunk);
const search = ['search', 'company', 'anything', '-f', 'jsonl'];
/** Where a body is cut; at every byte it is in test/fuzz, without a network. */
const places = Array.from({ length: Math.ceil(whole.length / 7) }, (_, index) => 7 * index);

describe('a stream that is whole', () => {
  it('gives the same bytes wherever it is split', async () => {
    for (const at of places) {
      const { url } = await serve([whole.subarray(0, at), whole.subarray(at)], finish);
      const { stdout, code } = await runInProcess(search, { env: pointedAt(url) });
      expect({ at, stdout, code }).toEqual({ at, stdout: rows, code: 0 });
    }
  }, 120_000);

  const shapes: readonly [name: string, body: string][] = [
    ['CRLF', whole.toString().replaceAll('\n', '\r\n')],
    ['CR', whole.toString().replaceAll('\n', '\r')],
    ['BOM', `\ufeff${whole}`],
    ['comments and other fields', frames.map((one) => `: ping\n\nid: 1\nretry: 5\n${one}`).join('')],
    ['no space after data:', whole.toString().replaceAll('data: ', 'data:')],
    ['several data lines', whole.toString().replaceAll('"entities":[', '"entities":\ndata: [')],
    ['an unknown event', `${frame({ object: 'entity_search_hint', text: 'x' })}${whole}`],
    [
      'unknown fields and stop reason',
      searchFrames([entities.slice(0, 2), entities.slice(2)], 'new_reason').join(''),
    ],
    ['a repeated batch', `${frames[0]}${frames[0]}${frames.slice(1).join('')}`],
    ['rubbish after the sentinel', `${whole}data: {{{\n\n`],
  ];
  it.each(shapes)('gives the same bytes with %s', async (_, body) => {
    const { url } = await serve([body], finish);
    const result = await runInProcess(search, { env: pointedAt(url) });
    expect(result).toMatchObject({ stdout: rows, code: 0 });
  });

  it('does so through the built command, byte by byte', async () => {
    const { url } = await serve(
      [...whole].map((byte) => Uint8Array.of(byte)),
      finish,
    );
    expect(await run(search, { env: pointedAt(url) })).toMatchObject({ stdout: rows, code: 0 });
  });

  it('does not wait for the connection to end after the sentinel', async () => {
    const { url } = await serve([whole], () => {});
    expect(await run(search, { env: pointedAt(url) })).toMatchObject({ stdout: rows, code: 0 });
  });

  it('keeps numbers as they were written in every format', async () => {
    const { url } = await serve([whole], finish);
    for (const format of ['jsonl', 'json', 'csv']) {
      const columns = format === 'csv' ? ['--columns', 'follower_id,ratio,unknown'] : [];
      const { stdout } = await run([...search.slice(0, 3), '-f', format, ...columns], {
        env: pointedAt(url),
      });
      for (const number of ['12345678901234567890', '1.10', '1e400', '-0']) expect(stdout).toContain(number);
    }
  });
});

describe('a stream that is cut off', () => {
  const doneEnds = Buffer.byteLength(frames.slice(0, -1).join(''));

  it.each([
    ['by a reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['by the end of the connection', (socket: Socket) => void socket.end()],
  ])(
    'anywhere %s is complete only behind the done event',
    async (_, end) => {
      for (const at of places) {
        const { url } = await serve([whole.subarray(0, at)], end);
        const { stdout, stderr, code } = await runInProcess(search, { env: pointedAt(url) });
        // A reset overtakes what was written before it and has not been read.
        const mayBeWhole = at >= doneEnds && stdout === rows;
        expect({ at, code }).toEqual({ at, code: stdout === '' ? 8 : mayBeWhole && code === 0 ? 0 : 3 });
        expect(rows.startsWith(stdout)).toBe(true);
        expect(stderr).toContain(
          code === 0 ? 'did not end its answer as it should' : 'stopped before its end',
        );
      }
    },
    120_000,
  );

  it('anywhere by a last chunk is complete only where the done event says so', async () => {
    for (const at of [...places, doneEnds - 1, doneEnds, doneEnds + 1]) {
      const { url } = await serve([whole.subarray(0, at)], finish);
      const { stdout, stderr, code } = await runInProcess(search, { env: pointedAt(url) });
      expect({ at, code }).toEqual({ at, code: at >= doneEnds ? 0 : stdout === '' ? 8 : 3 });
      if (at >= doneEnds && at < whole.length)
        expect(stderr).toContain('warning: the service did not end its answer as it should');
    }
  }, 120_000);

  it('without a length or chunks is complete after the done event', async () => {
    server = await startFaultServer((socket) => {
      const head = streamHead.replace('Transfer-Encoding: chunked\r\n', 'Connection: close\r\n');
      socket.end(head + frames.slice(0, -1).join(''));
    });
    expect(await runInProcess(search, { env: pointedAt(server.url) })).toMatchObject({
      stdout: rows,
      code: 0,
      stderr: expect.stringContaining('did not end its answer as it should'),
    });
  });

  const [first = '', second = '', done = '', sentinel = ''] = frames;
  const cases: readonly [name: string, body: string, code: number, says: string][] = [
    ['[DONE] without done', first + second + sentinel, 3, 'the connection ended too early'],
    ['a count above what arrived', first + done + sentinel, 3, 'counted 3 leads, but 2 arrived'],
    [
      'a gap',
      first + second.replace('"batch_index":2', '"batch_index":4') + done + sentinel,
      3,
      'batch 2 never arrived',
    ],
    [
      'an error frame',
      first + frame({ error: { message: 'upstream \u001b[31mfailed' } }),
      3,
      'upstream [31mfailed',
    ],
    ['an error event', `${first}event: error\ndata: {"message":"no"}\n\n`, 3, 'reported an error: no'],
    ['an error event of text', `${first}event: error\ndata: "no"\n\n`, 3, 'reported an error: no'],
    ['an error event of a number', `${first}event: error\ndata: 429\n\n`, 3, 'reported an error: 429'],
    ['an error event that says [DONE]', `${first}event: error\n${sentinel}`, 3, 'reported an error: [DONE]'],
    ['an error in a batch', `${first.replace('{', '{"error":"no",')}${second}`, 3, 'reported an error: no'],
    ['bad JSON', `${first}data: {"object":\n\n`, 3, 'not JSON'],
    ['an error frame before anything', frame({ error: { message: 'no' } }), 8, 'No leads arrived'],
    ['nothing at all', '', 8, 'No leads arrived'],
  ];
  it.each(cases)('by %s says so', async (_, body, code, says) => {
    const { url } = await serve([body], finish);
    const result = await runInProcess(search, { env: pointedAt(url) });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(says);
    expect(rows.startsWith(result.stdout)).toBe(true);
    expect(server?.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  /** The done event with another count. */
  const doneWith = (count: string): string => done.replace('"cum_count":3', count);
  const both = first + second;
  const early = 'the connection ended too early: the service counted 2 leads, but 3 arrived';
  const uncounted = 'the service did not say how many leads it sent';
  const counts = [
    'null',
    '-1',
    '0.5',
    '1e400',
    '"many"',
    '{}',
    '[3]',
    '{"toString":null}',
    '9007199254740993',
  ];
  const unproven: readonly [name: string, body: string, says: string, sentinel?: string][] = [
    ...counts.map((count): [string, string, string] => [
      `a done event that counts ${count}`,
      both + doneWith(`"cum_count":${count}`),
      uncounted,
    ]),
    ['a done event that does not count', both + doneWith('"x":3'), uncounted],
    [
      'a done event that says it is not finished',
      both + done.replace('"finish":true', '"finish":false'),
      'not say that the search is finished',
    ],
    [
      'a second done event that counts more',
      both + done + doneWith('"cum_count":4'),
      'counted 4 leads, but 3',
    ],
    [
      'a batch that counts more than the done event',
      first + second.replace('"cum_count":3', '"cum_count":30') + done,
      'counted 30 leads, but 3 arrived',
    ],
    [
      'a batch that announces more than it brings',
      first.replace('"count":2', '"count":5') + second + done,
      'the service announced 5 leads in batch 1, but sent 2',
    ],
    [
      'a batch without its number',
      first + second.replace('"batch_index":2', '"batch_index":"2"') + done,
      'a group of leads came without its number',
    ],
    [
      'leads that are none',
      both.replace('"count":1,"cum_count":3,"entities":[', '"count":2,"cum_count":3,"entities":[null,') +
        doneWith('"cum_count":4'),
      'counted 4 leads, but 3 arrived',
    ],
    ['a done event that counts less, and no [DONE]', both + doneWith('"cum_count":2'), early, ''],
  ];
  it.each(unproven)('not, but not proven whole by %s, is partial', async (_, body, says, end = sentinel) => {
    const { url } = await serve([body + end], finish);
    const { code, stdout, stderr } = await runInProcess(search, { env: pointedAt(url) });
    expect({ code, rows: stdout.replace('null\n', '') }).toEqual({ code: 3, rows });
    expect(stderr).toContain(says);
  });

  it('with nothing but a done event that does not count is unknown', async () => {
    const { url } = await serve([doneWith('"x":0') + sentinel], finish);
    expect(await runInProcess(search, { env: pointedAt(url) })).toMatchObject({ code: 8, stdout: '' });
  });

  it('keeps what arrived in .part, names it, and says how to go on', async () => {
    const { url } = await serve([first], (socket) => void socket.end());
    const cwd = temporaryFolder();
    const file = join(cwd, 'leads.jsonl');
    const args = ['search', 'company', 'it\'s "x"', '-o', file, '--limit', '9', '--no-history'];
    const { stderr, code } = await runInProcess(args, { env: pointedAt(url) });
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
    server = await startFaultServer((socket, { method, path }) => {
      if (method === 'POST') socket.end(streamStart(frames[0] ?? ''));
      else socket.write(path.includes('/status') ? statusAnswer : pageAnswer);
    });
    const result = await runInProcess(search, { env: pointedAt(server.url) });
    expect(result).toMatchObject({ code, stdout });
    expect(result.stderr).toContain(
      code === 0 ? 'the rest was read from the service' : 'stopped before its end',
    );
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('batches', () => {
  const [first = '', second = '', done = '', sentinel = ''] = frames;
  const announcing = (count: number): string => first.replace('"count":2', `"count":${count}`);
  const secondAs1 = second.replace('"batch_index":2', '"batch_index":1');
  const deep = `"stop_reason":${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const cases: readonly [name: string, frames: readonly string[], warning: string][] = [
    [
      'out of order are taken as they come',
      [first.replace('"batch_index":1', '"batch_index":2'), secondAs1],
      '',
    ],
    [
      'repeated with other content bring what is new',
      [first, secondAs1],
      'batch 1 came again with other leads (1)',
    ],
    [
      'that bring more than they announced are taken whole',
      [announcing(1), second],
      'the service announced 1 lead in batch 1, but sent 2',
    ],
    [
      'that bring what they announced when they come again are whole',
      [announcing(3), announcing(3).replace('"entities":[', `"entities":[${entities[2]},`)],
      'batch 1 came again with other leads (1)',
    ],
    [
      'with a list that is null, as some languages write an empty one, are empty',
      [
        first,
        second,
        frame('{"object":"entity_search_batch","batch_index":3,"count":0,"cum_count":3,"entities":null}'),
      ],
      'batch 3 came without a list of leads',
    ],
    [
      'are not stopped by what is odd and proves nothing',
      [
        first.replace('"leads_search_id":"ls_test"', '"leads_search_id":{"toString":1}'),
        second.replace('"count":1', '"count":[]'),
        done.replace('"stop_reason":"limit"', deep),
      ],
      'the service did not say how many leads are in batch 2; it sent 1',
    ],
    [
      'beyond the count of the done event',
      [first, second, done.replace('"cum_count":3', '"cum_count":2')],
      'counted 2 leads',
    ],
  ];
  it.each(cases)('%s', async (_, batches, warning) => {
    const isDone = batches.some((one) => one.includes('entity_search_done'));
    const { url } = await serve([...batches, isDone ? '' : done, sentinel], finish);
    const result = await runInProcess(search, { env: pointedAt(url) });
    expect(result).toMatchObject({ code: 0, stdout: rows, stderr: expect.stringContaining(warning) });
  });
});

describe('a service without measure', () => {
  it('is warned of in a few lines', async () => {
    const batches = Array.from({ length: 5000 }, (_, index) =>
      frame(`{"object":"entity_search_batch","batch_index":${index + 1},"count":"x","entities":[]}`),
    );
    const { url } = await serve([...batches, ...searchFrames([], 'x'.repeat(100_000))], finish);
    const { code, stderr } = await runInProcess(search, { env: pointedAt(url) });
    expect(code).toBe(0);
    expect(
      stderr.split('\n').filter((line) => line.startsWith('warning: the service did not say how')),
    ).toHaveLength(10);
    expect(stderr).toContain('warning: and 4990 more warnings\n');
    expect(stderr.length).toBeLessThan(2000);
  });

  it('may send more leads than were asked for: they are kept, and it is said once', async () => {
    const { url } = await serve([whole], finish);
    const { code, stdout, stderr } = await runInProcess([...search, '--limit', '2'], { env: pointedAt(url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: rows });
    expect(stderr.match(/warning: 3 leads came for a limit of 2/g)).toHaveLength(1);
  });
});
