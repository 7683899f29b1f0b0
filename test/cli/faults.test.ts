import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { pointedAt, run } from '../helpers/run.ts';

let server: FaultServer | undefined;

const search = ['search', 'company', 'x', '--json-errors'];
const key = 'canary-key-8f14e45fceea';

describe('a fault on the way', () => {
  it.each([
    ['error.code', '{"error":{"message":"m","code":"idempotency_error"}}', 'req_test'],
    ['the outermost type', '{"type":"idempotency_error","error":{"message":"m"}}', null],
  ])('the error type is found as %s', async (_, body, request_id) => {
    const headers = request_id === null ? [] : [`X-Request-Id: ${request_id}`];
    server = await startFaultServer(
      (socket) => void socket.write(wholeAnswer('409 Conflict', 'application/json', body, headers)),
    );
    const { stderr } = await runInProcess(search, { env: pointedAt(server.url) });
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'idempotency_error', exit: 8, request_id });
  });

  it.each([
    ['between bytes', [streamHead]],
    ['after half a frame', [streamHead, chunk('data: {"object":')]],
  ])('silence %s is a stall', async (_, pieces) => {
    server = await startFaultServer((socket) => void socket.write(pieces.join('')));
    const { code, stderr } = await runInProcess(['search', 'company', 'x', '--timeout', '0.3'], {
      env: pointedAt(server.url),
    });
    expect(code).toBe(8);
    expect(stderr).toContain('for 0.3 s');
  });

  it('comments alone do not keep a stream alive', async () => {
    let beat: NodeJS.Timeout | undefined;
    const [first = ''] = searchFrames([['{"name":"A"}']]);
    server = await startFaultServer((socket) => {
      socket.write(streamStart(first));
      beat = setInterval(() => socket.write(chunk(': ping\n\n')), 50);
    });
    const { code, stdout, stderr } = await runInProcess(
      ['search', 'company', 'x', '-f', 'jsonl', '--timeout', '1'],
      {
        env: pointedAt(server.url),
      },
    );
    clearInterval(beat);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '{"name":"A"}\n' });
    expect(stderr).toContain('no new leads for 1 s');
  });
});

describe('a fault that passes', () => {
  const lost = (socket: Socket): void => void socket.destroy();
  const refused =
    (status: string, type: string, headers: readonly string[] = []) =>
    (socket: Socket): void =>
      void socket.write(errorAnswer(status, type, 'no', headers));

  it.each([
    [
      'is there already',
      refused('409 Conflict', 'request_already_exists'),
      "The service has the request, but its answer can't be fetched again.",
    ],
    [
      'is refused for another reason',
      refused('401 X', 'authentication_error'),
      'the second attempt failed too: the service does not know this API key',
    ],
  ])('a lost answer whose repetition %s stays in doubt', async (_, second, says) => {
    const answers = [lost, second];
    server = await startFaultServer((socket) => answers.shift()?.(socket));
    const { code, stderr } = await runInProcess(search, { env: pointedAt(server.url) });
    const { error } = JSON.parse(stderr);
    expect(code).toBe(8);
    expect(error).toMatchObject({ charged: 'maybe', retryable: false });
    expect(error.message).toContain(says);
    expect(server.requests).toHaveLength(2);
  });

  it('a wait beyond the budget ends the run at once', async () => {
    for (const [value, said] of [
      ['61', '61 s'],
      ['3600', '60 min'],
    ]) {
      server = await startFaultServer(refused('429 X', 'concurrency_limit', [`Retry-After: ${value}`]));
      const { code, stderr } = await runInProcess(search, { env: pointedAt(server.url) });
      expect({ code, requests: server.requests.length }).toEqual({ code: 75, requests: 1 });
      expect(stderr).toContain(`too many requests are running; the service asks to wait ${said}`);
      await server.close();
    }
  });
});

describe('what is sent', () => {
  it('one POST with the documented headers and body, and a new key each time', async () => {
    server = await startFaultServer((socket) => {
      socket.write(wholeStream(searchFrames([])));
    });
    const args = [
      'search',
      'person',
      '  CTOs  ',
      '--limit',
      '7',
      '--enrich-fields',
      'a,b',
      '--enrich-fields',
      'c',
    ];
    const excluded = ['--dedup-service-leads', 'ls_1', '--dedup-custom-leads', 'Acme, Bolt ,,Acme'];
    await run([...args, ...excluded], { env: pointedAt(server.url, key) });
    await run([...args, ...excluded], { env: pointedAt(server.url, key) });
    const [first, second] = server.requests;
    expect(first).toMatchObject({ method: 'POST', path: '/v1/entity-search' });
    expect(first?.headers).toMatchObject({
      'x-api-key': key,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'user-agent': expect.stringMatching(/^leadpipe\//),
    });
    expect(first?.headers).not.toHaveProperty('authorization');
    expect(first?.body).toBe(
      '{"entity_type":"person","objective":"CTOs","limit":7,"enrich_fields":["a","b","c"],' +
        '"dedup_service_leads":["ls_1"],"dedup_custom_leads":["Acme","Bolt"]}',
    );
    const keys = [first, second].map((one) => one?.headers['idempotency-key'] ?? '');
    expect(new Set(keys).size).toBe(2);
    for (const one of keys) expect(one).toMatch(/^lp-[0-9a-f-]{36}$/);
  });

  it('the same request is what --dry-run prints, with the key masked and nothing bought', async () => {
    server = await startFaultServer((socket) => void socket.destroy());
    const { code, stdout } = await run([...search, '--dry-run', '--idempotency-key', 'mine'], {
      env: pointedAt(`${server.url}/base/`, key),
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'POST',
      url: `${server.url}/base/v1/entity-search`,
      headers: { 'x-api-key': '[API key]', 'Idempotency-Key': 'mine' },
      body: { entity_type: 'company', objective: 'x', limit: 100 },
    });
    expect(new Set(server.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  });

  it('a service that echoes the key does not make us print it', async () => {
    const entity = `{"name":"${key}"}`;
    const answers = [
      errorAnswer('422 X', 'invalid_request_error', `bad key ${key}`, [`X-Request-Id: req_${key}`]),
      `HTTP/1.1 302 Found\r\nLocation: https://a.example/?k=${key}\r\nContent-Length: 0\r\n\r\n`,
      Buffer.concat([
        Buffer.from(streamHead.replace('req_test', key)),
        chunk(searchFrames([[entity]], key).join('')),
        Buffer.from(lastChunk),
      ]),
    ];
    for (const answer of answers) {
      server = await startFaultServer((socket) => void socket.write(answer));
      const { stdout, stderr } = await run(['search', 'company', 'x', '--verbose'], {
        env: pointedAt(server.url, key),
      });
      expect(stdout + stderr).not.toContain(key);
      await server.close();
    }
  });

  /** What a terminal obeys or hides, written by a user or a service. */
  const hostile = 'a\u001b[2Jb\u202ec\u0007\u009b1md\u2028e\u200ff';
  const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e]/;

  it.each([false, true])(
    'nor does that of the objective, with --dry-run (terminal: %s)',
    async (stdoutIsTerminal) => {
      const { stdout } = await runInProcess([...search.slice(0, 2), hostile, '--dry-run'], {
        env: pointedAt('https://a.example'),
        stdoutIsTerminal,
      });
      expect(stdout).not.toMatch(obeyed);
      expect(JSON.parse(stdout).body.objective).toBe(hostile);
      expect(stdout.trimEnd().split('\n').length > 1).toBe(stdoutIsTerminal);
    },
  );

  it.each([
    ['the type', { type: hostile, message: 'm' }, []],
    ['the message', { type: 't', message: hostile }, []],
    ['the request ID', { type: 't', message: 'm' }, [`X-Request-Id: a\u009b1m`]],
  ])('nor does %s of an error, with --json-errors', async (_, error, headers) => {
    const body = JSON.stringify({ error });
    const answer = wholeAnswer('422 X', 'application/json', body, headers);
    server = await startFaultServer(
      (socket) => void socket.write(Buffer.from(answer, headers[0] ? 'latin1' : 'utf8')),
    );
    for (const more of ['--json-errors', '--verbose']) {
      const { stderr } = await runInProcess(['search', 'company', 'x', more], { env: pointedAt(server.url) });
      expect(stderr).not.toMatch(obeyed);
      expect(stderr).toContain('422');
    }
  });

  it('hostile text in errors and request IDs does not reach the terminal', async () => {
    const answer = errorAnswer('500 X', 'internal_error', 'a\u001b[2Jb\u202ec\nd\u0007\u009b1m');
    server = await startFaultServer((socket) => void socket.write(answer));
    const { stderr } = await run(['search', 'company', 'x'], { env: pointedAt(server.url) });
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});
