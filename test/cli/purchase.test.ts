import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { kinds } from '../../src/operations/kinds.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  errorAnswer,
  type FaultServer,
  jsonAnswer,
  startFaultServer,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, resultOf, run, start, temporaryFolder } from '../helpers/run.ts';

/** What contact, research, enrich and extract have in common: one paid request, one answer. */

/** What the service answers each request with. */
let answer: string;
let server: FaultServer;
let env: Record<string, string>;
let cwd: string;
beforeEach(async () => {
  server = await startFaultServer((socket) => void socket.end(answer));
  env = { ...bareEnvironment(), ...pointedAt(server.url) };
  cwd = temporaryFolder();
});

const ok = (body: string): string => jsonAnswer(body, ['X-Request-Id: req_test']);
const refusal = (status: string, type: string): string => errorAnswer(status, type, 'no');
const leadpipe = (...args: string[]) => runInProcess(args, { env });
const bought = () => server.requests.filter(({ method }) => method === 'POST');

interface Row {
  readonly args: readonly string[];
  readonly path: string;
  readonly body: unknown;
  readonly answer: string;
  readonly stdout: string;
  readonly closing: string;
  /** `success: false`, and its text. */
  readonly failure?: readonly [answer: string, text: string];
}

const contactAnswer =
  '{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":{"content":"a@b.example","reference":null},"created_at":"2026-01-31T09:00:00Z"}';
const researchAnswer = '{"success":true,"answer":{"Result":"Yes.","Citations":["https://a.example"]}}';
const enrichAnswer = '{"success":true,"answer":{"city":"Berlin"}}';
const extractAnswer =
  '{"success":true,"data":[{"id":12345678901234567890}],"metadata":{"type":"x_followers","target":"ada","instruction":null,"limit":100}}';

const commands: Readonly<Record<string, Row>> = {
  contact: {
    args: ['contact', 'email', ' x '],
    path: '/v1/contact-search',
    body: { contact_type: 'email', objective: 'x' },
    answer: contactAnswer,
    stdout: `${contactAnswer}\n`,
    closing: 'email found',
  },
  research: {
    args: ['research', 'x'],
    path: '/v1/deep-search',
    body: { query: 'x' },
    answer: researchAnswer,
    stdout: `${researchAnswer}\n`,
    closing: 'answered, 1 citation',
    failure: [
      '{"success":false,"answer":{"answer":"No result generated from deep search"}}',
      'No result generated from deep search',
    ],
  },
  enrich: {
    args: ['enrich', ' x ', '--field', 'city=where it is'],
    path: '/v1/enrich',
    body: {
      entity_context: 'x',
      enrich_fields: { type: 'object', properties: { city: { type: 'string', description: 'where it is' } } },
    },
    answer: enrichAnswer,
    stdout: `${enrichAnswer}\n`,
    closing: '1 of 1 fields filled',
    failure: [
      '{"success":false,"answer":{"answer":"No result generated from enrich"}}',
      'No result generated from enrich',
    ],
  },
  extract: {
    args: ['extract', 'x_followers', 'ada'],
    path: '/v1/extract',
    body: { type: 'x_followers', target: 'ada', limit: 100 },
    answer: extractAnswer,
    stdout: '{"id":12345678901234567890}\n',
    closing: '1 item',
    failure: ['{"success":false,"data":"the account is\\u001b[2J private"}', 'the account is[2J private'],
  },
};
const rows = Object.entries(commands);

it('is every kind whose answer is kept', () => {
  const kept = Object.entries(kinds).filter(([, { keeps }]) => keeps === 'answer');
  expect(kept.map(([name]) => name).filter((name) => !(name in commands))).toEqual([]);
});

describe.each(rows)('%s', (_, row) => {
  const buy = (...more: string[]) => leadpipe(...row.args, ...more);
  beforeEach(() => {
    answer = ok(row.answer);
  });

  it('sends what was asked, with the bearer form and a key of its own, and prints the answer as it came', async () => {
    const { code, stdout, stderr } = await buy();
    expect({ code, stdout }).toEqual({ code: 0, stdout: row.stdout });
    // The key is for -v: nobody needs it after a success.
    expect(stderr).toMatch(/^.*\nrequest req_test · operation op_test_\d+\n$/);
    expect(stderr.split('\n')[0]).toBe(row.closing);
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: row.path });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer test-key-0123456789',
      'idempotency-key': 'test-1',
      'content-type': 'application/json',
    });
    expect(JSON.parse(request?.body ?? '')).toEqual(row.body);
  });

  it('takes a key, and -q silences the closing line', async () => {
    expect((await buy('--idempotency-key', 'mine', '-q')).stderr).toBe('');
    expect(server.requests[0]?.headers['idempotency-key']).toBe('mine');
  });

  it('--dry-run shows the request, and asks for nothing but the balance', async () => {
    const { code, stdout } = await buy('--dry-run', '-o', '/nowhere/x');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ url: `${server.url}${row.path}`, body: row.body });
    expect(stdout).not.toContain('test-key-0123456789');
    const asked = server.requests.map(({ method, path }) => `${method} ${path}`);
    expect([...new Set(asked)]).toEqual(['GET /v1/credit/balance']);
  });

  it('prints help with two examples, the output and the exit codes', async () => {
    const { code, stdout } = await leadpipe(...row.args.slice(0, 1), '--help');
    expect(code).toBe(0);
    expect(stdout.match(/^ {2}\$ /gm)).toHaveLength(2);
    for (const words of ['Output shape:', 'csv: ', 'Exit codes:', ' 5 7 8 ']) expect(stdout).toContain(words);
  });

  const isExtract = row.args[0] === 'extract';
  const free = { charged: 'no' };
  const doubtful = { exit: 8, charged: 'maybe' };
  const unreadable = { exit: 8, charged: 'yes', request_id: 'req_test' };
  /** How it ends, and how many requests that takes: repetitions have the same key. */
  const faults: readonly [name: string, answer: string, expected: object, requests?: number][] = [
    ['401', refusal('401 Unauthorized', 'authentication_error'), { exit: 4, ...free }],
    ['402', refusal('402 Payment Required', 'insufficient_credits'), { exit: 5, ...free }],
    ['409', refusal('409 Conflict', 'request_already_exists'), { exit: 8, ...free }, isExtract ? 6 : 1],
    ['422', refusal('422 Unprocessable', 'invalid_request_error'), { exit: 2, ...free }],
    ['429', refusal('429 Too Many', 'concurrency_limit'), { exit: 75, ...free, retryable: true }, 7],
    ['500', refusal('500 Error', 'internal_error'), doubtful, 2],
    ['503', refusal('503 Unavailable', 'service_unavailable'), { exit: 9, ...free }],
    ['no answer', '', { ...doubtful, type: 'lost', idempotency_key: 'test-1' }, 2],
    ['an answer that is cut', ok(row.answer).slice(0, -5), { ...doubtful, request_id: 'req_test' }, 2],
    ['no JSON', ok('{"success":tru'), unreadable, isExtract ? 2 : 1],
    ['another JSON', ok('{}'), unreadable, isExtract ? 2 : 1],
    ['an array', ok('[]'), unreadable, isExtract ? 2 : 1],
  ];
  it.each(faults)(
    '%s: says how it ends and what it cost, and leaves no file',
    async (_name, fault, expected, requests = 1) => {
      answer = fault;
      const { code, stdout, stderr } = await buy('--json-errors', '-o', join(cwd, 'out.json'));
      const { error } = JSON.parse(stderr);
      expect(error).toMatchObject(expected);
      expect({ code, stdout }).toEqual({ code: error.exit, stdout: '' });
      expect(readdirSync(cwd)).toEqual([]);
      // A refusal for want of credits is told with the balance.
      const sent = bought().map((one) => `${one.headers['idempotency-key']} ${one.body}`);
      expect([sent.length, new Set(sent).size]).toEqual([requests, 1]);
    },
  );

  it.each([
    ['folder', 2],
    ['nowhere/out.csv', 74],
  ])('a wrong -o (%s) is found before anything is sent', async (target, exit) => {
    mkdirSync(join(cwd, 'folder'));
    expect((await buy('-o', join(cwd, target))).code).toBe(exit);
    expect(server.requests).toEqual([]);
  });

  const again = isExtract ? /run it with --idempotency-key test-1/ : /can't be fetched again/;
  it.each([
    ['', ['-f', 'jsonl'], /leadpipe history show op_test_\d+$/],
    ['', ['-f', 'csv'], /leadpipe history show op_test_\d+$/],
    [' that was not kept: extract alone may give it again', ['-f', 'jsonl', '--no-history'], again],
  ])('a full disk after the answer%s: 74, charged, with the IDs (%j)', async (_name, options, hint) => {
    const { code, stderr } = await buy('-o', '/dev/full', ...options, '--json-errors');
    expect(code).toBe(74);
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'yes',
      request_id: 'req_test',
      idempotency_key: 'test-1',
      hint: expect.stringMatching(hint),
    });
  });

  it('a reader that is gone ends it silently with 141', async () => {
    const child = start(row.args, { env });
    child.stdout.destroy();
    expect(await resultOf(child)).toMatchObject({ code: 141, stderr: '' });
  });

  it('Ctrl-C while it waits says that it may have cost something', async () => {
    const silent = await startFaultServer(() => {});
    const child = start([...row.args, '--json-errors'], { env: pointedAt(silent.url) });
    const ended = resultOf(child);
    await expect.poll(() => silent.requests.length, { timeout: 10_000 }).toBe(1);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(JSON.parse(stderr).error).toMatchObject({ charged: 'maybe', idempotency_key: expect.any(String) });
  });

  it('appends to a file of its own kind', async () => {
    const file = join(cwd, 'out.jsonl');
    for (const _time of [1, 2]) expect((await buy('-o', file, '--append')).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(row.stdout.repeat(2));
  });

  it('answers from the local service, offline', async () => {
    const exitStatus = row.args[0] === 'contact' ? ['--exit-status'] : [];
    const { code, stdout } = await run([...row.args, '--local', ...exitStatus]);
    expect([0, 7]).toContain(code);
    for (const line of stdout.split('\n').filter(Boolean)) JSON.parse(line);
  });
});

const failing = rows.flatMap(([name, { args, failure }]) =>
  failure === undefined ? [] : [{ name, args, said: failure[0], text: failure[1] }],
);

describe.each(failing)('$name without a result', ({ args, said, text }) => {
  it.each(['jsonl', 'json', 'csv', 'table'])(
    'success: false is a 7 with its text on stderr, in %s',
    async (format) => {
      answer = ok(said);
      const { code, stdout, stderr } = await leadpipe(...args, '-f', format);
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
      expect(stderr).toContain(`error: the service finished without a result: "${text}"\n`);
      expect(stderr).toMatch(/^request req_test · operation op_test_\d+ · charged: maybe$/m);
    },
  );

  it('success: false keeps the old file', async () => {
    answer = ok(said);
    writeFileSync(join(cwd, 'out.json'), 'old');
    expect((await leadpipe(...args, '-o', join(cwd, 'out.json'))).code).toBe(7);
    expect(readdirSync(cwd)).toEqual(['out.json']);
    expect(readFileSync(join(cwd, 'out.json'), 'utf8')).toBe('old');
  });
});

it('what is sent again with its key, because its answer was lost, is the same purchase in the history', async () => {
  const extract = () => run(['extract', 'x_followers', 'ada', '--idempotency-key', 'mine'], { env });
  const list = ['history', 'list', '-f', 'csv', '--columns', 'state,charged,idempotency_key'];
  for (const [given, code, record] of [
    ['', 8, 'unknown,maybe,mine'],
    [ok(extractAnswer), 0, 'complete,yes,mine'],
  ] as const) {
    answer = given;
    expect((await extract()).code).toBe(code);
    expect((await run(list, { env })).stdout).toBe(`state,charged,idempotency_key\r\n${record}\r\n`);
  }
});

describe('the same again', () => {
  const save = (...more: string[]) => ['contact', 'email', 'x', ...more];
  const lost =
    /^warning: the same was sent as op_\w+ \(.*\), and its answer was lost\. It may have been charged; check `leadpipe balance`\. This is a new purchase$/m;

  it('after its answer was lost says so first, into the same place alone', async () => {
    const file = join(cwd, 'out.jsonl');
    for (const place of [[], ['-o', file]]) {
      answer = '';
      expect((await run(save(...place), { env })).code).toBe(8);
      answer = ok(contactAnswer);
      const other = await run(save('-o', `${file}.other`, '-f', 'jsonl'), { env });
      expect(other.stderr).not.toContain('lost');
      const again = await run(save(...place), { env });
      expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(lost) });
      expect((await run(save(...place), { env })).stderr).not.toContain('lost');
    }
  });

  it('is told on a terminal where the whole request is the same, and never of lists', async () => {
    answer = ok(contactAnswer);
    const rows = join(cwd, 'rows.txt');
    const told = async (...args: string[]): Promise<boolean> =>
      (await runInProcess(args, { env, stderrIsTerminal: true })).stderr
        .replace(/\s+/g, ' ')
        .includes('You bought the same at');
    expect([await told(...save()), await told(...save())]).toEqual([false, true]);
    for (const name of ['a', 'b']) {
      writeFileSync(rows, name);
      expect(await told('contact', 'email', '--input', rows)).toBe(false);
    }
    const search = ['search', 'company', 'fintech', '--local', '--limit'];
    const again = [await told(...search, '2'), await told(...search, '4'), await told(...search, '2')];
    expect(again).toEqual([false, false, true]);
  });
});

it('--local is free where there is no result, too', async () => {
  const local = ['research', 'qqqq', '--local'];
  const { code, stderr } = await run(local, { env });
  expect(code).toBe(7);
  expect(stderr).toContain('It cost nothing');
  expect(stderr).not.toContain('charged');
  const { error } = JSON.parse((await run([...local, '--json-errors', '-q'], { env })).stderr);
  expect(error).toMatchObject({ exit: 7, charged: 'no' });
});

describe('an answer that can not be understood', () => {
  const torn = '{"result":{"content":"a@b.example"';
  it.each([
    ['that is not JSON', jsonAnswer(torn)],
    ['of another content type', wholeAnswer('200 OK', 'text/plain', torn)],
    ['without what is promised', jsonAnswer('["a@b.example"]')],
  ])('%s is kept, since it is paid for', async (_, garbled) => {
    answer = garbled;
    const { code, stderr } = await leadpipe('contact', 'email', 'x', '--json-errors');
    const { error } = JSON.parse(stderr);
    expect({ code, charged: error.charged }).toEqual({ code: 8, charged: 'yes' });
    const file = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', error.operation_id, 'answer.garbled');
    expect(error.hint).toContain(file);
    expect(answer.endsWith(readFileSync(file, 'utf8'))).toBe(true);
    expect(readFileSync(file, 'utf8')).toContain('a@b.example');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
