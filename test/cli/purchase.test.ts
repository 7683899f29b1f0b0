import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerKinds } from '../helpers/answer-kinds.ts';
import { ending, failing } from '../helpers/ending.ts';
import { errorAnswer, jsonAnswer, searchFrames, wholeAnswer, wholeStream } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { resultOf } from '../helpers/run.ts';

/** Behaviour of all commands with one paid request and one answer. */

/** What the service answers each request with. */
let answer: string;
let at: Awaited<ReturnType<typeof machineWith>>;
beforeEach(async () => {
  at = await machineWith((socket) => void socket.end(answer));
});

const ok = (body: string): string => jsonAnswer(body, ['X-Request-Id: req_test']);
const bought = () => at.requests.filter(({ method }) => method === 'POST');
const operation = /leadpipe history show op_test_\d+$/;

const rows = Object.entries(answerKinds);
const contactAnswer = answerKinds.contact.answer;

describe.each(rows)(
  '%s',
  (_name, { line, path, body, brought, setting, answer: good, items = [good], mayReplay }) => {
    const stdout = items.map((item) => `${item}\n`).join('');
    const buy = (more = '') => at.leadpipe(`${line} ${more}`);
    beforeEach(() => {
      answer = ok(good);
    });

    it('sends what was asked, with the bearer form and a key of its own, and prints the answer as it came', async () => {
      // The key is printed only with -v: it is not needed after a success.
      const stderr = expect.stringMatching(
        RegExp(
          `^${brought} · charged; price unknown\nTo see what it costs, set your price, such as 5: leadpipe config set ${setting} 5\nrequest req_test · operation op_test_\\d+\n$`,
        ),
      );
      expect(await buy()).toEqual({ code: 0, stdout, stderr });
      const [request, ...others] = at.requests;
      expect(others).toEqual([]);
      expect(request).toMatchObject({
        method: 'POST',
        path,
        headers: {
          authorization: 'Bearer test-key-0123456789',
          'idempotency-key': 'test-1',
          'content-type': 'application/json',
        },
      });
      expect(JSON.parse(request?.body ?? '')).toEqual(body);
    });

    it('takes a key, and -q silences the closing line', async () => {
      expect((await buy('--idempotency-key mine -q')).stderr).toBe('');
      expect(at.requests[0]?.headers['idempotency-key']).toBe('mine');
    });

    it('--dry-run shows the request, and asks for nothing but the balance', async () => {
      const shown = await buy('--dry-run -o /nowhere/x');
      expect(shown.code).toBe(0);
      expect(JSON.parse(shown.stdout)).toMatchObject({ url: `${at.url}${path}`, body });
      expect(shown.stdout).not.toContain('test-key-0123456789');
      const asked = at.requests.map((request) => `${request.method} ${request.path}`);
      expect([...new Set(asked)]).toEqual(['GET /v1/credit/balance']);
    });

    /** Every other fault is in test/matrix, and with every command in every-command.test.ts. */
    it.each([
      ['402', errorAnswer('402 Payment Required', 'insufficient_credits', 'no'), 5, 'no', 1],
      ['no answer', '', 8, 'maybe', 2],
      ['no JSON', ok('{"success":tru'), 8, 'yes', mayReplay ? 2 : 1],
    ])(
      '%s: says how it ends and what it cost, and leaves no file',
      async (_, fault, exit, charged, requests) => {
        answer = fault;
        const { stderr, ...end } = await buy('--json-errors -o out.json');
        expect(end).toEqual({ code: exit, stdout: '' });
        expect(JSON.parse(stderr).error).toMatchObject({ exit, charged, idempotency_key: 'test-1' });
        expect(at.files()).toEqual([]);
        // A refusal for want of credits is told with the balance; repetitions have the same key.
        const sent = bought().map((one) => `${one.headers['idempotency-key']} ${one.body}`);
        expect([sent.length, new Set(sent).size]).toEqual([requests, 1]);
      },
    );

    it.each([
      ['folder', 2],
      ['nowhere/out.csv', 74],
    ])('a wrong -o (%s) is found before anything is sent', async (target, exit) => {
      mkdirSync(at.pathOf('folder'));
      expect((await buy(`-o ${target}`)).code).toBe(exit);
      expect(at.requests).toEqual([]);
    });

    const again = mayReplay ? /run it with --idempotency-key test-1/ : /can't be fetched again/;
    it.each([
      ['', '-f jsonl', operation],
      ['', '-f csv', operation],
      [' that was not kept: extract alone may give it again', '-f jsonl --no-history', again],
    ])('a full disk after the answer%s: 74, charged, with the IDs (%s)', async (_, options, hint) => {
      const { code, stderr } = await buy(`-o /dev/full ${options} --json-errors`);
      expect(code).toBe(74);
      expect(JSON.parse(stderr).error).toMatchObject({
        charged: 'yes',
        request_id: 'req_test',
        idempotency_key: 'test-1',
        hint: expect.stringMatching(hint),
      });
    });

    it('a reader that is gone ends it silently with 141', async () => {
      const child = at.start(line);
      child.stdout.destroy();
      expect(await resultOf(child)).toMatchObject({ code: 141, stderr: '' });
    });

    it('Ctrl-C while it waits says that it may have cost something', async () => {
      const silent = await machineWith(() => {});
      const child = silent.start(`${line} --json-errors`);
      const ended = resultOf(child);
      await expect.poll(() => silent.requests.length).toBe(1);
      child.kill('SIGINT');
      const { code, stderr } = await ended;
      expect(code).toBe(130);
      expect(JSON.parse(stderr).error).toMatchObject({
        charged: 'maybe',
        idempotency_key: expect.any(String),
      });
    });

    it('appends to a file of its own kind', async () => {
      for (const _time of [1, 2]) expect((await buy('-o out.jsonl --append')).code).toBe(0);
      expect(at.read('out.jsonl')).toBe(stdout.repeat(2));
    });
  },
);

const without = rows.flatMap(([name, { line, withoutResult }]) =>
  withoutResult === undefined ? [] : [{ name, line, said: withoutResult[0], text: withoutResult[1] }],
);

describe.each(without)('$name without a result', ({ line, said, text }) => {
  it.each(['jsonl', 'json', 'csv', 'table'])('is a 7 with its text on stderr, in %s', async (format) => {
    answer = ok(said);
    const says = `error: the service finished without a result: "${text}"\n`;
    const ids = /^request req_test · operation op_test_\d+ · charged: maybe$/m;
    expect(await at.leadpipe(`${line} -f ${format}`)).toMatchObject(failing(7, says, ids));
  });

  it('keeps the old file', async () => {
    answer = ok(said);
    at.write('out.json', 'old');
    expect((await at.leadpipe(`${line} -o out.json`)).code).toBe(7);
    expect(at.files()).toEqual(['out.json']);
    expect(at.read('out.json')).toBe('old');
  });
});

it('a request sent again with its key after a lost answer is one purchase in the history', async () => {
  const list = 'history list -f csv --columns state,charged,idempotency_key';
  for (const [given, code, record] of [
    ['', 8, 'unknown,maybe,mine'],
    [ok(answerKinds.extract.answer), 0, 'complete,yes,mine'],
  ] as const) {
    answer = given;
    expect((await at.run('extract x_followers ada --idempotency-key mine')).code).toBe(code);
    expect((await at.run(list)).stdout).toBe(`state,charged,idempotency_key\r\n${record}\r\n`);
  }
});

describe('the same again', () => {
  const save = (more = '') => at.run(`contact email x ${more}`);
  const lost =
    /^warning: The same request was sent by op_\w+ \(.*\), and its answer was lost\. It may have been charged; check `leadpipe balance`\. This is a new purchase, at an unknown price$/m;

  it('after a lost answer warns first, only for the same output', async () => {
    for (const place of ['', '-o out.jsonl']) {
      answer = '';
      expect((await save(place)).code).toBe(8);
      answer = ok(contactAnswer);
      expect((await save('-o other.jsonl')).stderr).not.toContain('lost');
      expect(await save(place)).toMatchObject(ending(0, lost));
      expect((await save(place)).stderr).not.toContain('lost');
    }
  });

  it('is reported if the whole request is the same; for lists, if the file is', async () => {
    answer = ok(contactAnswer);
    const told = async (line: string): Promise<boolean> =>
      (await at.leadpipe(line)).stderr.includes('You already bought');
    expect([await told('contact email x'), await told('contact email x')]).toEqual([false, true]);
    for (const name of ['a', 'b']) {
      at.write('rows.txt', name);
      expect(await told('contact email --input rows.txt')).toBe(name === 'b');
    }
    expect(await told('contact phone --input rows.txt')).toBe(false);
    answer = wholeStream(searchFrames([['{"name":"a"}']])).toString();
    const search = 'search company fintech --limit';
    const again = [await told(`${search} 2`), await told(`${search} 4`), await told(`${search} 2`)];
    expect(again).toEqual([false, false, true]);
  });
});

it('--local is free where there is no result, too', async () => {
  const result = await at.run('research qqqq --local');
  expect(result).toMatchObject(ending(7, 'It cost nothing'));
  expect(result.stderr).not.toContain('charged');
  const { stderr } = await at.run('research qqqq --local --json-errors -q');
  expect(JSON.parse(stderr).error).toMatchObject({ exit: 7, charged: 'no' });
});

describe('an answer that can not be understood', () => {
  const torn = '{"result":{"content":"a@b.example"';
  it.each([
    ['that is not JSON', jsonAnswer(torn)],
    ['of another content type', wholeAnswer('200 OK', 'text/plain', torn)],
    ['without what is promised', jsonAnswer('["a@b.example"]')],
  ])('%s is kept, since it is paid for', async (_, garbled) => {
    answer = garbled;
    const { code, stderr } = await at.leadpipe('contact email x --json-errors');
    const { error } = JSON.parse(stderr);
    expect({ code, charged: error.charged }).toEqual({ code: 8, charged: 'yes' });
    const file = join(at.state, 'operations', error.operation_id, 'answer.garbled');
    expect(error.hint).toContain(file);
    const kept = readFileSync(file, 'utf8');
    expect(kept).toContain('a@b.example');
    expect(answer.endsWith(kept)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await at.leadpipe(`history show ${error.operation_id}`)).toMatchObject(failing(6, file));
  });

  it('with a byte that is not UTF-8 is kept, and can be printed', async () => {
    const body = Buffer.from(jsonAnswer(contactAnswer.replace('a@b.example', 'Jos#')));
    body[body.indexOf('#')] = 0xe9;
    const there = await machineWith(body);
    const { code, stderr } = await there.leadpipe('contact email x --json-errors');
    const { error } = JSON.parse(stderr);
    expect({ code, message: error.message }).toEqual({
      code: 8,
      message: 'the service sent an answer with bytes that are not UTF-8 (POST /v1/contact-search)',
    });
    const shown = await there.leadpipe(`history show ${error.operation_id} -f jsonl`);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('"content":"Jos\ufffd"') });
    there.write('rows.txt', 'Ada\n');
    const rows = await there.leadpipe('contact email --input rows.txt -f jsonl');
    expect(rows).toMatchObject({ code: 0, stdout: expect.stringContaining('Jos\ufffd') });
  });
});
