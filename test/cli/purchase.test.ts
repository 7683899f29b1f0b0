import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/operations/kinds.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, type FaultServer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, resultOf, run, start, temporaryFolder } from '../helpers/run.ts';

/** What contact, research, enrich and extract have in common: one paid request, one answer. */

let server: FaultServer | undefined;

const requestId = ['X-Request-Id: req_test'];
const ok = (body: string): string => wholeAnswer('200 OK', 'application/json', body, requestId);

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

async function serve(answer: string): Promise<Record<string, string>> {
  server = await startFaultServer((socket) => void socket.end(answer));
  return pointedAt(server.url);
}

it('is every kind whose answer is kept', () => {
  const kept = Object.entries(kinds).filter(([, { keeps }]) => keeps === 'answer');
  expect(kept.map(([name]) => name).filter((name) => !(name in commands))).toEqual([]);
});

describe.each(rows)('%s', (_, row) => {
  it('sends what was asked, with the bearer form and a key of its own, and prints the answer as it came', async () => {
    const { code, stdout, stderr } = await runInProcess(row.args, { env: await serve(ok(row.answer)) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: row.stdout });
    // The key is for -v: nobody needs it after a success.
    expect(stderr).toMatch(/^.*\nrequest req_test · operation op_test_\d+\n$/);
    expect(stderr.split('\n')[0]).toBe(row.closing);
    expect(server?.requests).toHaveLength(1);
    const [request] = server?.requests ?? [];
    expect(request).toMatchObject({ method: 'POST', path: row.path });
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer test-key-0123456789',
      'idempotency-key': 'test-1',
      'content-type': 'application/json',
    });
    expect(JSON.parse(request?.body ?? '')).toEqual(row.body);
  });

  it('takes a key, and -q silences the closing line', async () => {
    const env = await serve(ok(row.answer));
    const { stderr } = await runInProcess([...row.args, '--idempotency-key', 'mine', '-q'], { env });
    expect(stderr).toBe('');
    expect(server?.requests[0]?.headers['idempotency-key']).toBe('mine');
  });

  it('--dry-run shows the request, and asks for nothing but the balance', async () => {
    const env = await serve(ok(row.answer));
    const { code, stdout } = await runInProcess([...row.args, '--dry-run', '-o', '/nowhere/x'], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ url: `${server?.url}${row.path}`, body: row.body });
    expect(stdout).not.toContain('test-key-0123456789');
    expect(new Set(server?.requests.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(['GET /v1/credit/balance']),
    );
  });

  it('prints help with two examples, the output and the exit codes', async () => {
    const { code, stdout } = await runInProcess([...row.args.slice(0, 1), '--help']);
    expect(code).toBe(0);
    expect(stdout.match(/^ {2}\$ /gm)).toHaveLength(2);
    for (const words of ['Output shape:', 'csv: ', 'Exit codes:', ' 5 7 8 ']) expect(stdout).toContain(words);
  });

  const isExtract = row.args[0] === 'extract';
  /** How it ends, and how many requests that takes: repetitions have the same key. */
  const faults: readonly [name: string, answer: string, expected: object, requests?: number][] = [
    ['401', errorAnswer('401 Unauthorized', 'authentication_error', 'no'), { exit: 4, charged: 'no' }],
    ['402', errorAnswer('402 Payment Required', 'insufficient_credits', 'no'), { exit: 5, charged: 'no' }],
    [
      '409',
      errorAnswer('409 Conflict', 'request_already_exists', 'no'),
      { exit: 8, charged: 'no' },
      isExtract ? 6 : 1,
    ],
    ['422', errorAnswer('422 Unprocessable', 'invalid_request_error', 'no'), { exit: 2, charged: 'no' }],
    [
      '429',
      errorAnswer('429 Too Many', 'concurrency_limit', 'no'),
      { exit: 75, charged: 'no', retryable: true },
      7,
    ],
    ['500', errorAnswer('500 Error', 'internal_error', 'no'), { exit: 8, charged: 'maybe' }, 2],
    ['503', errorAnswer('503 Unavailable', 'service_unavailable', 'no'), { exit: 9, charged: 'no' }],
    ['no answer', '', { exit: 8, charged: 'maybe', type: 'lost', idempotency_key: 'test-1' }, 2],
    [
      'an answer that is cut',
      ok(row.answer).slice(0, -5),
      { exit: 8, charged: 'maybe', request_id: 'req_test' },
      2,
    ],
    ['no JSON', ok('{"success":tru'), { exit: 8, charged: 'yes', request_id: 'req_test' }, isExtract ? 2 : 1],
    ['another JSON', ok('{}'), { exit: 8, charged: 'yes', request_id: 'req_test' }, isExtract ? 2 : 1],
    ['an array', ok('[]'), { exit: 8, charged: 'yes', request_id: 'req_test' }, isExtract ? 2 : 1],
  ];
  it.each(faults)(
    '%s: says how it ends and what it cost, and leaves no file',
    async (_name, answer, expected, requests = 1) => {
      const cwd = temporaryFolder();
      const args = [...row.args, '--json-errors', '-o', join(cwd, 'out.json')];
      const { code, stdout, stderr } = await runInProcess(args, { env: await serve(answer) });
      const { error } = JSON.parse(stderr);
      expect(error).toMatchObject(expected);
      expect({ code, stdout }).toEqual({ code: error.exit, stdout: '' });
      expect(readdirSync(cwd)).toEqual([]);
      // A refusal for want of credits is told with the balance.
      const bought = server?.requests.filter(({ method }) => method === 'POST');
      expect(bought).toHaveLength(requests);
      const sent = bought?.map((one) => `${one.headers['idempotency-key']} ${one.body}`);
      expect(new Set(sent).size).toBe(1);
    },
  );

  it('a wrong -o is found before anything is sent', async () => {
    const env = await serve(ok(row.answer));
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    for (const [target, exit] of [
      ['folder', 2],
      ['nowhere/out.csv', 74],
    ] as const) {
      expect((await runInProcess([...row.args, '-o', join(cwd, target)], { env })).code).toBe(exit);
    }
    expect(server?.requests).toEqual([]);
  });

  it.each([
    ['-o', '/dev/full', '-f', 'jsonl'],
    ['-o', '/dev/full', '-f', 'csv'],
  ])('a full disk after the answer: 74, charged, with the IDs (%s %s %s %s)', async (...options) => {
    const env = await serve(ok(row.answer));
    const { code, stderr } = await runInProcess([...row.args, ...options, '--json-errors'], { env });
    expect(code).toBe(74);
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'yes',
      request_id: 'req_test',
      idempotency_key: 'test-1',
      hint: expect.stringMatching(/leadpipe history show op_test_\d+$/),
    });
  });

  it('a full disk after an answer that was not kept: extract alone may give it again', async () => {
    const env = await serve(ok(row.answer));
    const args = [...row.args, '-o', '/dev/full', '-f', 'jsonl', '--no-history', '--json-errors'];
    const { code, stderr } = await runInProcess(args, { env });
    expect(code).toBe(74);
    expect(JSON.parse(stderr).error.hint).toContain(
      row.path === '/v1/extract' ? 'run it with --idempotency-key test-1' : "can't be fetched again",
    );
  });

  it('a reader that is gone ends it silently with 141', async () => {
    const env = await serve(ok(row.answer));
    const child = start(row.args, { env });
    child.stdout.destroy();
    expect(await resultOf(child)).toMatchObject({ code: 141, stderr: '' });
  });

  it('Ctrl-C while it waits says that it may have cost something', async () => {
    let asked = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    server = await startFaultServer(() => asked());
    const child = start([...row.args, '--json-errors'], { env: pointedAt(server.url) });
    const ended = resultOf(child);
    await arrived;
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(JSON.parse(stderr).error).toMatchObject({ charged: 'maybe', idempotency_key: expect.any(String) });
  });

  it('appends to a file of its own kind', async () => {
    const cwd = temporaryFolder();
    const file = join(cwd, 'out.jsonl');
    for (const _time of [1, 2]) {
      const env = await serve(ok(row.answer));
      expect((await runInProcess([...row.args, '-o', file, '--append'], { env })).code).toBe(0);
      await server?.close();
    }
    expect(readFileSync(file, 'utf8')).toBe(row.stdout.repeat(2));
  });

  it('answers from the local service, offline', async () => {
    const { code, stdout } = await run(
      [...row.args, '--local', '--exit-status'].filter(
        (arg) => row.args[0] === 'contact' || arg !== '--exit-status',
      ),
    );
    expect([0, 7]).toContain(code);
    for (const line of stdout.split('\n').filter(Boolean)) JSON.parse(line);
  });
});

const failing = rows.flatMap(([name, { args, failure }]) =>
  failure === undefined ? [] : [{ name, args, answer: failure[0], text: failure[1] }],
);

describe.each(failing)('$name without a result', ({ args, answer, text }) => {
  it('success: false is a 7 with its text on stderr, in every format', async () => {
    for (const format of ['jsonl', 'json', 'csv', 'table']) {
      const env = await serve(ok(answer));
      const { code, stdout, stderr } = await runInProcess([...args, '-f', format], { env });
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
      expect(stderr).toContain(`error: the service finished without a result: "${text}"\n`);
      expect(stderr).toMatch(/^request req_test · operation op_test_\d+ · charged: maybe$/m);
      await server?.close();
    }
  });

  it('success: false keeps the old file', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'out.json'), 'old');
    const env = await serve(ok(answer));
    expect((await runInProcess([...args, '-o', join(cwd, 'out.json')], { env })).code).toBe(7);
    expect(readdirSync(cwd)).toEqual(['out.json']);
    expect(readFileSync(join(cwd, 'out.json'), 'utf8')).toBe('old');
  });
});

it('what is sent again with its key, because its answer was lost, is the same purchase in the history', async () => {
  let isLost = true;
  server = await startFaultServer((socket) => {
    if (isLost) socket.destroy();
    else socket.write(ok(extractAnswer));
  });
  const env = { ...bareEnvironment(), ...pointedAt(server.url) };
  const again = () => run(['extract', 'x_followers', 'ada', '--idempotency-key', 'mine'], { env });
  const history = async () =>
    (await run(['history', 'list', '-f', 'csv', '--columns', 'state,charged,idempotency_key'], { env }))
      .stdout;
  expect((await again()).code).toBe(8);
  expect(await history()).toBe('state,charged,idempotency_key\r\nunknown,maybe,mine\r\n');
  isLost = false;
  expect((await again()).code).toBe(0);
  expect(await history()).toBe('state,charged,idempotency_key\r\ncomplete,yes,mine\r\n');
});

describe('the same again', () => {
  const save = (...more: string[]) => ['contact', 'email', 'x', ...more];
  const lost =
    /^warning: the same was sent as op_\w+ \(.*\), and its answer was lost\. It may have been charged; check `leadpipe balance`\. This is a new purchase$/m;

  it('after its answer was lost says so first, into the same place alone', async () => {
    let isLost = true;
    server = await startFaultServer((socket) => {
      if (isLost) socket.destroy();
      else socket.write(ok(contactAnswer));
    });
    const env = { ...bareEnvironment(), ...pointedAt(server.url) };
    const file = join(temporaryFolder(), 'out.jsonl');
    for (const place of [[], ['-o', file]]) {
      isLost = true;
      expect((await run(save(...place), { env })).code).toBe(8);
      isLost = false;
      const other = await run(save('-o', `${file}.other`, '-f', 'jsonl'), { env });
      expect(other.stderr).not.toContain('lost');
      const again = await run(save(...place), { env });
      expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(lost) });
      expect((await run(save(...place), { env })).stderr).not.toContain('lost');
    }
  });

  it('is told on a terminal where the whole request is the same, and never of lists', async () => {
    const env = { ...bareEnvironment(), ...(await serve(ok(contactAnswer))) };
    const rows = join(temporaryFolder(), 'rows.txt');
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
    expect([await told(...search, '2'), await told(...search, '4'), await told(...search, '2')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

it('--local is free where there is no result, too', async () => {
  const env = bareEnvironment();
  const { code, stderr } = await run(['research', 'qqqq', '--local'], { env });
  expect(code).toBe(7);
  expect(stderr).toContain('It cost nothing');
  expect(stderr).not.toContain('charged');
  const { error } = JSON.parse(
    (await run(['research', 'qqqq', '--local', '--json-errors', '-q'], { env })).stderr,
  );
  expect(error).toMatchObject({ exit: 7, charged: 'no' });
});

describe('an answer that can not be understood', () => {
  it.each([
    ['that is not JSON', wholeAnswer('200 OK', 'application/json', '{"result":{"content":"a@b.example"')],
    ['of another content type', wholeAnswer('200 OK', 'text/plain', '{"result":{"content":"a@b.example"')],
    ['without what is promised', wholeAnswer('200 OK', 'application/json', '["a@b.example"]')],
  ])('%s is kept, since it is paid for', async (_, answer) => {
    const broken = await startFaultServer((socket) => void socket.write(answer));
    const env = { ...bareEnvironment(), ...pointedAt(broken.url) };
    const { code, stderr } = await runInProcess(['contact', 'email', 'x', '--json-errors'], { env });
    await broken.close();
    const { error } = JSON.parse(stderr);
    expect({ code, charged: error.charged }).toEqual({ code: 8, charged: 'yes' });
    const file = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', error.operation_id, 'answer.garbled');
    expect(error.hint).toContain(file);
    expect(answer.endsWith(readFileSync(file, 'utf8'))).toBe(true);
    expect(readFileSync(file, 'utf8')).toContain('a@b.example');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
