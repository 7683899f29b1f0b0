import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  type Answer,
  chunk,
  errorAnswer,
  searchFrames,
  streamHead,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { pointedAt } from '../helpers/run.ts';

/** Messages of network faults. Their costs, and the exit of each operation, are in test/matrix. */

const search = 'search company x';

describe('a fault on the way', () => {
  it.each([
    ['error.code', '{"error":{"message":"m","code":"idempotency_error"}}', 'req_test'],
    ['the outermost type', '{"type":"idempotency_error","error":{"message":"m"}}', null],
  ])('the error type is found as %s', async (_, body, request_id) => {
    const headers = request_id === null ? [] : [`X-Request-Id: ${request_id}`];
    const at = await machineWith(wholeAnswer('409 Conflict', 'application/json', body, headers));
    const { stderr } = await at.leadpipe(`${search} --json-errors`);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'idempotency_error', exit: 8, request_id });
  });

  it.each([
    ['between bytes', [streamHead]],
    ['after half a frame', [streamHead, chunk('data: {"object":')]],
  ])('silence %s is a stall', async (_, pieces) => {
    const at = await machineWith((socket) => void socket.write(pieces.join('')));
    expect(await at.leadpipe(`${search} --timeout 0.3`)).toMatchObject(ending(8, 'for 0.3 s'));
  });

  it('comments alone do not keep a stream alive', async () => {
    let beat: NodeJS.Timeout | undefined;
    const [first = ''] = searchFrames([['{"name":"A"}']]);
    const at = await machineWith((socket) => {
      socket.write(streamStart(first));
      beat = setInterval(() => socket.write(chunk(': ping\n\n')), 50);
    });
    const result = await at.leadpipe(`${search} -f jsonl --timeout 1`);
    clearInterval(beat);
    expect(result).toEqual({ ...ending(3, 'no new leads for 1 s'), stdout: '{"name":"A"}\n' });
  });

  it('a lost answer whose repetition is refused for another reason stays in doubt', async () => {
    const refused = errorAnswer('401 X', 'authentication_error', 'no');
    const answers: Answer[] = [(socket) => void socket.destroy(), (socket) => void socket.write(refused)];
    const at = await machineWith((socket, request) => answers.shift()?.(socket, request));
    const { code, stderr } = await at.leadpipe(`${search} --json-errors`);
    expect(code).toBe(8);
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'maybe',
      retryable: false,
      message: expect.stringContaining(
        'the second attempt failed too: the service does not know this API key',
      ),
    });
    expect(at.requests).toHaveLength(2);
  });

  it.each([
    ['61', '61 s'],
    ['3600', '60 min'],
  ])('a wait beyond the budget, of %s s, ends the run at once', async (seconds, said) => {
    const at = await machineWith(
      errorAnswer('429 X', 'concurrency_limit', 'no', [`Retry-After: ${seconds}`]),
    );
    const says = `too many requests are running; the service asks to wait ${said}`;
    expect(await at.leadpipe(search)).toMatchObject(ending(75, says));
    expect(at.requests).toHaveLength(1);
  });
});

describe('what is sent', () => {
  const key = 'canary-key-8f14e45fceea';

  it('one POST with the documented headers and body, and a new key each time', async () => {
    const at = await machineWith((socket) => void socket.write(wholeStream(searchFrames([]))), key);
    const line =
      'search person "  CTOs  " --limit 7 --enrich-fields a,b --enrich-fields c --dedup-service-leads ls_1 --dedup-custom-leads "Acme, Bolt ,,Acme"';
    for (const _ of [1, 2]) await at.run(line);
    const [first] = at.requests;
    expect(first).toMatchObject({
      method: 'POST',
      path: '/v1/entity-search',
      headers: expect.objectContaining({
        'x-api-key': key,
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'user-agent': expect.stringMatching(/^leadpipe\//),
      }),
      body:
        '{"entity_type":"person","objective":"CTOs","limit":7,"enrich_fields":["a","b","c"],' +
        '"dedup_service_leads":["ls_1"],"dedup_custom_leads":["Acme","Bolt"]}',
    });
    expect(first?.headers).not.toHaveProperty('authorization');
    const keys = at.requests.map(({ headers }) => headers['idempotency-key'] ?? '');
    expect(new Set(keys).size).toBe(2);
    for (const one of keys) expect(one).toMatch(/^lp-[0-9a-f-]{36}$/);
  });

  it('the same request is what --dry-run prints, with the key masked and nothing bought', async () => {
    const at = await machineWith((socket) => void socket.destroy());
    const env = pointedAt(`${at.url}/base/`, key);
    const { code, stdout } = await at.run(`${search} --dry-run --idempotency-key mine`, env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'POST',
      url: `${at.url}/base/v1/entity-search`,
      headers: { 'x-api-key': '[API key]', 'Idempotency-Key': 'mine' },
      body: { entity_type: 'company', objective: 'x', limit: 100 },
    });
    expect(new Set(at.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
  });
});

describe('control and invisible characters do not reach a terminal', () => {
  const hostile = 'a\u001b[2Jb\u202ec\u0007\u009b1md\u2028e\u200ff';
  const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e]/;

  it.each([false, true])('in an objective, with --dry-run (terminal: %s)', async (stdoutIsTerminal) => {
    const env = pointedAt('https://a.example');
    const { stdout } = await runInProcess(['search', 'company', hostile, '--dry-run'], {
      env,
      stdoutIsTerminal,
    });
    expect(stdout).not.toMatch(obeyed);
    expect(JSON.parse(stdout).body.objective).toBe(hostile);
    expect(stdout.trimEnd().split('\n').length > 1).toBe(stdoutIsTerminal);
  });

  it.each([
    ['the type', { type: hostile, message: 'm' }, []],
    ['the message', { type: 't', message: `${hostile}\ng` }, []],
    ['the request ID', { type: 't', message: 'm' }, [`X-Request-Id: a\u009b1m`]],
  ])('in %s of an error', async (_, error, headers) => {
    const answer = wholeAnswer('422 X', 'application/json', JSON.stringify({ error }), headers);
    const at = await machineWith(Buffer.from(answer, headers[0] ? 'latin1' : 'utf8'));
    for (const more of ['', '--json-errors', '--verbose']) {
      const { stderr } = await at.leadpipe(`${search} ${more}`);
      expect(stderr).not.toMatch(obeyed);
      expect(stderr).toContain('422');
    }
  });
});
