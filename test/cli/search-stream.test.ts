import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  frame,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer | undefined;
afterEach(() => server?.close());

const entities = [
  '{"name":"Ünal é日😀","links":{"website":"https://a.example"},"description":"d","score":{"score":"0.9","reason":"r"}}',
  '{"name":"B","follower_id":12345678901234567890,"ratio":1.10,"unknown":{"deep":[1e400,-0]}}',
  '{"name":"C","note":"line\\nbreak, \\"quoted\\""}',
];
const frames = searchFrames([entities.slice(0, 2), entities.slice(2)]);
const whole = Buffer.from(frames.join(''));
const rows = entities.map((entity) => `${entity}\n`).join('');

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

describe('a stream that is whole', () => {
  it('gives the same bytes wherever it is split', async () => {
    for (let at = 0; at <= whole.length; at++) {
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
    'at any byte %s is never complete',
    async (_, end) => {
      for (let at = 0; at < whole.length; at++) {
        const { url } = await serve([whole.subarray(0, at)], end);
        const { stdout, stderr, code } = await runInProcess(search, { env: pointedAt(url) });
        expect({ at, code }).toEqual({ at, code: stdout === '' ? 8 : 3 });
        expect(rows.startsWith(stdout)).toBe(true);
        expect(stderr).toContain('cut short');
      }
    },
    120_000,
  );

  it('at any byte by a last chunk is complete only where the done event says so', async () => {
    for (let at = 0; at < whole.length; at++) {
      const { url } = await serve([whole.subarray(0, at)], finish);
      const { stdout, stderr, code } = await runInProcess(search, { env: pointedAt(url) });
      expect({ at, code }).toEqual({ at, code: at === doneEnds ? 0 : stdout === '' ? 8 : 3 });
      if (at === doneEnds) expect(stderr).toContain('warning: the stream ended without [DONE]');
    }
  }, 120_000);

  it('without a length or chunks is not complete even after the done event', async () => {
    server = await startFaultServer((socket) => {
      const head = streamHead.replace('Transfer-Encoding: chunked\r\n', 'Connection: close\r\n');
      socket.end(head + frames.slice(0, -1).join(''));
    });
    expect(await runInProcess(search, { env: pointedAt(server.url) })).toMatchObject({
      stdout: rows,
      code: 3,
    });
  });

  const [first = '', second = '', done = '', sentinel = ''] = frames;
  const cases: readonly [name: string, body: string, code: number, says: string][] = [
    ['[DONE] without done', first + second + sentinel, 3, 'without its done event'],
    ['a count above what arrived', first + done + sentinel, 3, 'counted 3 leads, and 2 arrived'],
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
    ['bad JSON', `${first}data: {"object":\n\n`, 3, 'not JSON'],
    ['an error frame before anything', frame({ error: { message: 'no' } }), 8, 'nothing arrived'],
    ['nothing at all', '', 8, 'nothing arrived'],
  ];
  it.each(cases)('by %s says so', async (_, body, code, says) => {
    const { url } = await serve([body], finish);
    const result = await runInProcess(search, { env: pointedAt(url) });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(says);
    expect(rows.startsWith(result.stdout)).toBe(true);
    expect(server?.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('keeps what arrived in .part, names it, and says how to go on', async () => {
    const { url } = await serve([first], (socket) => void socket.end());
    const cwd = temporaryFolder();
    const file = join(cwd, 'leads.jsonl');
    const { stderr, code } = await runInProcess(
      ['search', 'company', 'it\'s "x"', '-o', file, '--limit', '9', '--no-history'],
      { env: pointedAt(url) },
    );
    expect(code).toBe(3);
    expect(readdirSync(cwd)).toEqual(['leads.jsonl.part']);
    expect(readFileSync(join(cwd, 'leads.jsonl.part'), 'utf8')).toBe(
      rows.split('\n').slice(0, 2).join('\n').concat('\n'),
    );
    expect(stderr).toContain(`2 leads arrived, and are in ${file}.part`);
    expect(stderr).toContain(
      `leadpipe search company 'it'\\''s "x"' --limit 7 --dedup-service-leads ls_test`,
    );
    expect(stderr).toContain('request req_test · charged: yes');
  });
});

describe('a cut search that can still be read', () => {
  const status = (state: string, ready: number): string =>
    `{"status":{"status":"${state}","ready_count":${ready},"verified_count":${ready},"stop_reason":"limit"}}`;
  const page = (items: readonly string[], state = 'done'): string =>
    `{"object":"entity_search_items","leads_search_id":"ls_test","status":"${state}","pts":0,"num":500,` +
    `"count":${items.length},"ready_count":${items.length},"limit":9,"entities":[${items.join(',')}]}`;
  const json = (body: string): string => wholeAnswer('200 OK', 'application/json', body);
  const notFound = errorAnswer('404 Not Found', 'not_found', 'no such task');
  const [b = ''] = entities.slice(1);

  const cases: readonly [name: string, status: string, page: string, code: number, stdout: string][] = [
    ['brings the rest', json(status('done', 3)), json(page(entities)), 0, rows],
    ['is not readable', notFound, notFound, 3, `${entities[0]}\n${entities[1]}\n`],
    [
      'ended in error',
      json(status('error', 3)),
      json(page(entities, 'error')),
      3,
      `${entities[0]}\n${entities[1]}\n`,
    ],
    [
      'is told in other words',
      json(status('done', 3)),
      json(page(entities.map((entity) => (entity === b ? entity.replace('1.10', '1.1') : entity)))),
      3,
      `${entities[0]}\n${entities[1]}\n`,
    ],
  ];
  it.each(cases)('%s', async (_, statusAnswer, pageAnswer, code, stdout) => {
    server = await startFaultServer((socket, { method, path }) => {
      if (method === 'POST') socket.end(Buffer.concat([Buffer.from(streamHead), chunk(frames[0] ?? '')]));
      else socket.write(path.includes('/status') ? statusAnswer : pageAnswer);
    });
    const result = await runInProcess(search, { env: pointedAt(server.url) });
    expect(result).toMatchObject({ code, stdout });
    expect(result.stderr).toContain(code === 0 ? 'the rest was read from the service' : 'cut short');
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('batches', () => {
  const [first = '', second = '', done = '', sentinel = ''] = frames;
  const cases: readonly [name: string, body: string, stdout: string, warning: string][] = [
    [
      'out of order are taken as they come',
      first.replace('"batch_index":1', '"batch_index":2') +
        second.replace('"batch_index":2', '"batch_index":1') +
        done +
        sentinel,
      rows,
      '',
    ],
    [
      'repeated with other content bring what is new',
      first + second.replace('"batch_index":2', '"batch_index":1') + done + sentinel,
      rows,
      'batch 1 came again with other leads (1)',
    ],
    [
      'with a wrong count are taken whole',
      first.replace('"count":2', '"count":5') + second + done + sentinel,
      rows,
      'announced 5',
    ],
    [
      'beyond the count of the done event',
      first + second + done.replace('"cum_count":3', '"cum_count":2') + sentinel,
      rows,
      'counted 2 leads',
    ],
  ];
  it.each(cases)('%s', async (_, body, stdout, warning) => {
    const { url } = await serve([body], finish);
    const result = await runInProcess(search, { env: pointedAt(url) });
    expect(result).toMatchObject({ code: 0, stdout });
    expect(result.stderr).toContain(warning);
  });
});
