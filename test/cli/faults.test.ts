import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  type RawRequest,
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
const balance = ['balance', '--json-errors'];
const key = 'canary-key-8f14e45fceea';

interface Expected {
  readonly exit: number;
  readonly charged: 'no' | 'maybe' | 'yes';
  readonly type?: string;
  readonly retryable?: boolean;
  /** On the wire, the repetitions with the same key included. */
  readonly requests?: number;
}

const requestId = ['X-Request-Id: req_test'];
const html = wholeAnswer('502 Bad Gateway', 'text/html', '<html>nginx</html>');

/** A fault, and how a search and a balance end with it. */
const faults: readonly [name: string, answer: string, search: Expected, balance: Expected | null][] = [
  [
    '401',
    errorAnswer('401 Unauthorized', 'authentication_error', 'no', requestId),
    { exit: 4, charged: 'no', type: 'authentication_error' },
    { exit: 4, charged: 'no' },
  ],
  [
    '402',
    errorAnswer('402 Payment Required', 'insufficient_credits', 'no', requestId),
    { exit: 5, charged: 'no', type: 'insufficient_credits' },
    null,
  ],
  [
    '403',
    errorAnswer('403 Forbidden', 'authentication_error', 'no', requestId),
    { exit: 4, charged: 'no', type: 'authentication_error' },
    { exit: 4, charged: 'no' },
  ],
  [
    '404',
    errorAnswer('404 Not Found', 'not_found', 'no', requestId),
    { exit: 6, charged: 'no', type: 'not_found' },
    null,
  ],
  [
    '409 conflict',
    errorAnswer('409 Conflict', 'idempotency_error', 'no', requestId),
    { exit: 8, charged: 'no', type: 'idempotency_error' },
    null,
  ],
  [
    '409 duplicate',
    errorAnswer('409 Conflict', 'request_already_exists', 'no', requestId),
    { exit: 8, charged: 'no', type: 'request_already_exists' },
    null,
  ],
  [
    '422',
    errorAnswer('422 Unprocessable Content', 'invalid_request_error', 'no', requestId),
    { exit: 2, charged: 'no', type: 'invalid_request_error' },
    null,
  ],
  [
    '429',
    errorAnswer('429 Too Many Requests', 'concurrency_limit', 'no', requestId),
    { requests: 7, exit: 75, charged: 'no', type: 'concurrency_limit', retryable: true },
    null,
  ],
  [
    '500',
    errorAnswer('500 Internal Server Error', 'internal_error', 'no', requestId),
    { requests: 2, exit: 8, charged: 'maybe', type: 'internal_error' },
    { requests: 5, exit: 75, charged: 'no', retryable: true },
  ],
  [
    '503',
    errorAnswer('503 Service Unavailable', 'service_unavailable', 'no', requestId),
    { exit: 9, charged: 'no', type: 'service_unavailable' },
    { exit: 9, charged: 'no' },
  ],
  [
    '503 of a proxy',
    wholeAnswer('503 Service Unavailable', 'text/html', '<html>'),
    { requests: 2, exit: 8, charged: 'maybe', type: 'gateway' },
    { requests: 5, exit: 75, charged: 'no' },
  ],
  [
    '500 of a proxy',
    wholeAnswer('500 Internal Server Error', 'text/plain', 'oops'),
    { requests: 2, exit: 8, charged: 'maybe', type: 'gateway' },
    { requests: 5, exit: 75, charged: 'no' },
  ],
  [
    '502 of a proxy',
    html,
    { requests: 2, exit: 8, charged: 'maybe', type: 'gateway' },
    { requests: 5, exit: 75, charged: 'no', type: 'gateway' },
  ],
  [
    '418',
    errorAnswer('418 Teapot', 'teapot', 'no'),
    { exit: 76, charged: 'no', type: 'undocumented' },
    { exit: 76, charged: 'no' },
  ],
  [
    '204',
    'HTTP/1.1 204 No Content\r\n\r\n',
    { exit: 8, charged: 'yes', type: 'garbled' },
    { requests: 4, exit: 76, charged: 'no' },
  ],
  [
    '302',
    'HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n',
    { exit: 76, charged: 'maybe', type: 'redirect' },
    { exit: 76, charged: 'no' },
  ],
  [
    '307',
    'HTTP/1.1 307 Temporary Redirect\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n',
    { exit: 76, charged: 'maybe', type: 'redirect' },
    { exit: 76, charged: 'no' },
  ],
  [
    '200 HTML',
    wholeAnswer('200 OK', 'text/html', '<html>'),
    { exit: 8, charged: 'yes', type: 'garbled' },
    { requests: 4, exit: 76, charged: 'no', type: 'garbled' },
  ],
  [
    '200 of the wrong shape',
    wholeAnswer('200 OK', 'application/json', '{"available_credits":"many"}'),
    { exit: 8, charged: 'yes' },
    { requests: 4, exit: 76, charged: 'no' },
  ],
  [
    'bad JSON',
    wholeAnswer('200 OK', 'application/json', '{"object":'),
    { exit: 8, charged: 'yes' },
    { requests: 4, exit: 76, charged: 'no', type: 'garbled' },
  ],
  [
    'not HTTP',
    'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    { exit: 76, charged: 'no', type: 'not_http' },
    { exit: 76, charged: 'no', type: 'not_http' },
  ],
];

/** Every repetition has the key and the bytes of the first. */
function expectRepetitions([first, ...rest]: readonly RawRequest[]): void {
  for (const one of rest) {
    expect([one.method, one.path, one.body]).toEqual([first?.method, first?.path, first?.body]);
    expect(one.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
  }
}

describe('a fault on the way', () => {
  it.each(faults)('%s', async (_, answer, ofSearch, ofBalance) => {
    for (const [args, expected] of [
      [search, ofSearch],
      [balance, ofBalance],
    ] as const) {
      if (expected === null) continue;
      server = await startFaultServer((socket) => void socket.write(answer));
      const { code, stdout, stderr } = await runInProcess(args, { env: pointedAt(server.url) });
      const { error } = JSON.parse(stderr);
      const { requests = 1, ...said } = expected;
      // A search that is refused for want of credits is told with the balance.
      const { requests: all } = server;
      const sent = all.filter(({ path }) => path === all[0]?.path);
      expect({ code, stdout, requests: sent.length }).toEqual({
        code: expected.exit,
        stdout: '',
        requests,
      });
      expect(error).toMatchObject(said);
      expect(error.request_id).toBe(answer.includes('X-Request-Id') ? 'req_test' : null);
      expect(error.idempotency_key).toBe(args === search ? 'test-1' : null);
      expectRepetitions(sent);
      await server.close();
    }
  });

  it.each([
    ['error.code', '{"error":{"message":"m","code":"idempotency_error"}}'],
    ['the outermost type', '{"type":"idempotency_error","error":{"message":"m"}}'],
  ])('the error type is found as %s', async (_, body) => {
    server = await startFaultServer(
      (socket) => void socket.write(wholeAnswer('409 Conflict', 'application/json', body)),
    );
    const { stderr } = await runInProcess(search, { env: pointedAt(server.url) });
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'idempotency_error', exit: 8 });
  });

  const endings: readonly [name: string, end: (socket: Socket) => void][] = [
    ['a reset', (socket) => void socket.resetAndDestroy()],
    ['the end of the connection', (socket) => void socket.end()],
    ['half a head', (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-')],
    ['silence', () => {}],
  ];
  it.each(endings)('%s instead of an answer leaves a paid request in doubt', async (_, end) => {
    server = await startFaultServer(end);
    const paid = await runInProcess([...search, '--timeout', '0.3'], { env: pointedAt(server.url) });
    expect(paid.code).toBe(8);
    expect(JSON.parse(paid.stderr).error).toMatchObject({ type: 'lost', charged: 'maybe', retryable: false });
    const free = await runInProcess([...balance, '--timeout', '0.3'], { env: pointedAt(server.url) });
    expect(free.code).toBe(75);
    // The search once more, the free read four times more.
    expect(server.requests.map(({ method }) => method).join(' ')).toBe('POST POST GET GET GET GET GET');
    expectRepetitions(server.requests.slice(0, 2));
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

  it('a refused connection and an unknown host cost nothing', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.on('listening', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    for (const url of [`http://127.0.0.1:${port}`, 'https://nowhere.invalid']) {
      const { code, stderr } = await runInProcess(search, { env: pointedAt(url) });
      expect(code).toBe(75);
      expect(JSON.parse(stderr).error).toMatchObject({ type: 'unsent', charged: 'no', retryable: true });
    }
  });

  it('plain HTTP behind an https address is not the service', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => plain.on('listening', resolve));
    const { port } = plain.address() as AddressInfo;
    const { code, stderr } = await run(search, { env: pointedAt(`https://127.0.0.1:${port}`) });
    plain.close();
    expect(code).toBe(76);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'not_http', charged: 'no' });
  });
});

describe('a fault that passes', () => {
  const whole = wholeStream(searchFrames([['{"name":"A"}']]));
  const lost = (socket: Socket): void => void socket.destroy();
  const refused =
    (status: string, type: string, headers: readonly string[] = []) =>
    (socket: Socket): void =>
      void socket.write(errorAnswer(status, type, 'no', headers));
  const busy = refused('429 Too Many Requests', 'concurrency_limit');

  it.each([
    ['a lost answer', [lost]],
    ['a busy service', [busy, busy, busy, busy, busy, busy]],
    ['a busy service that says when', [refused('429 X', 'concurrency_limit', ['Retry-After: 0'])]],
    ['a gateway', [refused('502 Bad Gateway', 'x')]],
  ])('%s: the search is whole in the end, with one key', async (_, faults) => {
    const left = [...faults];
    server = await startFaultServer((socket) => {
      const fault = left.shift();
      if (fault === undefined) socket.write(whole);
      else fault(socket);
    });
    const { code, stdout } = await runInProcess(['search', 'company', 'x'], { env: pointedAt(server.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"name":"A"}\n' });
    expect(server.requests).toHaveLength(faults.length + 1);
    expectRepetitions(server.requests);
  });

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
