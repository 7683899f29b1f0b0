import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Intent, toEntries } from '../../src/operations/journal/entries.ts';
import { createJournal, openJournal } from '../../src/operations/journal/journal.ts';
import { prune } from '../../src/operations/journal/retention.ts';
import { readNeeded } from '../../src/operations/known-operations.ts';
import { pruneIfDue } from '../../src/operations/prune-if-due.ts';
import { printedFormats } from '../../src/output/writer.ts';
import { answerKinds } from '../helpers/answer-kinds.ts';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  type Answer,
  errorAnswer,
  jsonAnswer,
  searchFrames,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { command, temporaryFolder } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';
import { toWords } from '../helpers/words.ts';

/** How purchases are stored, when, and how they are shown again. */

const key = 'test-key-0123456789';
const requestId = 'X-Request-Id: req_test';
const ok = (body: string): string => jsonAnswer(body, [requestId]);
const contactAnswer = answerKinds.contact.answer;
// A line break in an event starts another line of data.
const entities = [
  '{"name":"A","follower_id":12345678901234567890,"links":{"website":"https://a.example"},"ratio":1.10,"enrich_fields":{"size":{"content":"a@b.example","reference":"r"}}}',
  '{"name":"=B()","description":"two\\nlines\u2028and more",\ndata:  "links":{ "x":\ndata: 1 }}',
];

/** A kind of purchase. */
interface Paid {
  readonly name: string;
  readonly line: string;
  readonly answer: string | Buffer;
  /** How many leads or items come. */
  readonly leads: number | null;
  /** How often the service is asked if the answer can't be understood. */
  readonly asked: number;
}

const paid: readonly Paid[] = [
  ...Object.entries(answerKinds).map(([name, { line, answer, items, mayReplay }]) => ({
    ...{ name, line, leads: items?.length ?? null, asked: mayReplay ? 2 : 1 },
    // Some proxies send the content type a second time.
    answer: jsonAnswer(answer, [requestId, 'content-type: Application/JSON;charset=utf-8']),
  })),
  {
    ...{ name: 'search', line: 'search company x --enrich-fields size', leads: 2, asked: 1 },
    answer: wholeStream(searchFrames([entities])),
  },
];

/** A machine whose service answers so, and what is kept there. */
async function home(answer: Answer | string | Buffer) {
  const machine = await machineWith(answer, key);
  const root = join(machine.state, 'operations');
  const operation = (): string => readdirSync(root).sort()[0] ?? '';
  const pathOf = (name: string): string => join(root, operation(), name);
  // No service: everything must come from the disk.
  const offline = { env: { LEADPIPE_API_KEY: '', LEADPIPE_BASE_URL: '' } };
  return {
    ...machine,
    /** Its first purchase. */
    operation,
    journalPath: () => pathOf('journal.jsonl'),
    journal: () => toEntries(readFileSync(pathOf('journal.jsonl'), 'utf8'), '').entries,
    /** What `history show` prints of the first purchase. */
    show: (more = '') => machine.leadpipe(`history show ${operation()} ${more}`, offline),
  };
}

describe.each(paid)('$name', ({ name, line, answer, leads, asked }) => {
  it('has its intent, with the exact body, on the disk when the request arrives', async () => {
    let seen: ReturnType<typeof toEntries>['entries'] = [];
    const at: Awaited<ReturnType<typeof home>> = await home((socket) => {
      seen = at.journal();
      socket.end(answer);
    });
    expect(await at.leadpipe(`${line} -o x.json`)).toMatchObject({ code: 0 });
    const [intent, ...rest] = seen;
    expect(intent).toMatchObject({
      type: 'intent',
      command: name,
      idempotency_key: 'test-1',
      body: at.requests[0]?.body,
      origin: at.url,
      output: expect.stringMatching(/^\/.*x\.json$/),
    });
    // The file that a kill would leave is known before it is there.
    expect(rest.map(({ type }) => type)).toEqual(['part', 'sent']);
  });

  it.each(printedFormats)('is shown again to the byte as %s, offline', async (format) => {
    const at = await home(answer);
    const { code, stdout } = await at.leadpipe(`${line} -f ${format}`);
    expect(code).toBe(0);
    const again = ending(0, '\nrequest req_test · operation op_test_');
    expect(await at.show(`-f ${format}`)).toEqual({ ...again, stdout });
    expect(at.requests).toHaveLength(1);
  });

  it('is stored despite another content type, and shown for free', async () => {
    const other = await home(answer);
    const { stdout } = await other.leadpipe(line);
    const bytes = Buffer.from(answer).toString('latin1');
    const renamed = bytes.replace(/^content-type: .*$/gim, 'Content-Type: text/plain');
    const at = await home(Buffer.from(renamed, 'latin1'));
    const refused = failing(8, 'with the content type text/plain', `for free: leadpipe history show op_`);
    expect(await at.leadpipe(line)).toMatchObject(refused);
    expect(await at.show()).toMatchObject({ code: 0, stdout });
    expect((await at.history())[0]).toMatchObject({ charged: 'yes', request_id: 'req_test' });
    expect(at.requests.filter(({ method }) => method === 'POST')).toHaveLength(asked);
  });

  it('is in the list, complete, with its IDs, and says its operation at the end', async () => {
    const at = await home(answer);
    const { stderr } = await at.leadpipe(line);
    const [record] = await at.history();
    expect(record).toMatchObject({
      state: 'complete',
      charged: 'yes',
      request_id: 'req_test',
      idempotency_key: 'test-1',
      leads,
    });
    expect(stderr).toContain(`operation ${record?.operation_id}`);
  });

  it('is stored although the reader has gone away and the output is full', async () => {
    const at = await home(answer);
    const full = await at.leadpipe(`${line} -o /dev/full -f jsonl`);
    expect(full).toMatchObject(ending(74, at.operation()));
    const other = await home(answer);
    expect((await at.show()).stdout).toBe((await other.leadpipe(line)).stdout);
  });

  it('keeps nothing with --no-history, and says so', async () => {
    const at = await home(answer);
    const result = await at.leadpipe(`${line} --no-history`);
    const says = "Only the cost is stored on this machine: the result can't be shown again or resumed.";
    expect(result).toMatchObject(ending(0, says));
    expect(result.stderr).not.toContain('operation op_');
    // Only what it can have cost stays, for the limit of the day, and when the missing price was mentioned.
    const files = readdirSync(at.state, { recursive: true, withFileTypes: true });
    const stored = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    const names = stored.map((path) => basename(path)).sort();
    expect(names).toEqual(['journal.jsonl', 'operations.jsonl', 'price-said']);
    const texts = stored.map((path) => readFileSync(path, 'utf8')).join('');
    expect(texts).toContain('"unrecorded":true');
    expect(texts).not.toMatch(/"body"|idempotency_key|test-1|req_test|key_fingerprint":"\w|test-key/);
    expect(await at.history()).toEqual([]);
    const quiet = (await at.leadpipe(`${line} --no-history -q`)).stderr;
    // Fields that ask for an email address are worth a warning.
    expect(quiet.split('\n').filter((line) => !line.startsWith('warning: a search finds'))).toEqual(['']);
  });

  it('a state directory that can not be written: 74 and no request, but for --no-history', async () => {
    const at = await home(answer);
    writeFileSync(at.state, 'a file');
    expect(await at.leadpipe(line)).toMatchObject(ending(74, '--no-history'));
    expect(at.requests).toEqual([]);
    expect(await at.leadpipe(`${line} --no-history`)).toMatchObject({ code: 0 });
  });

  it.each([
    ['failed', 'no', errorAnswer('402 Payment Required', 'insufficient_credits', 'no')],
    ['unknown', 'maybe', ''],
  ])('is %s (charged: %s) without a result', async (state, charged, fault) => {
    const at = await home(fault);
    await at.leadpipe(line);
    expect(await at.history()).toMatchObject([{ state, charged }]);
    expect(at.journal().at(-1)?.type).toBe(state === 'failed' ? 'terminal' : 'failed');
    expect(await at.show()).toMatchObject({ code: 6, stdout: '' });
  });
});

const created = ok('{"leads_search_id":"ls_1"}');
const masks = ['000', '022', '377', '777'];
describe.each([...paid, { name: 'task create', line: 'task create company x', answer: created }])(
  '$name',
  ({ line, answer }) => {
    it.each(masks)('keeps it to the user, under the umask %s, and never the API key', async (mask) => {
      const at = await home(answer);
      // A state folder that is to be made with the one that it is in.
      const state = join(at.cwd, 'a', 'b');
      const env = { ...at.env, LEADPIPE_STATE_DIR: state };
      const shell = `umask ${mask}; exec "$0" "$@"`;
      const child = spawn('sh', ['-c', shell, process.execPath, command, ...toWords(line)], {
        env,
        stdio: 'ignore',
      });
      expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
      for (const path of ['', ...readdirSync(state, { recursive: true, encoding: 'utf8' })]) {
        const stat = statSync(join(state, path));
        expect([path, (stat.mode & 0o777).toString(8)]).toEqual([path, stat.isDirectory() ? '700' : '600']);
        if (stat.isFile() && stat.size > 0)
          expect(readFileSync(join(state, path), 'utf8')).not.toContain(key);
      }
    });
  },
);

describe('a purchase that is killed', () => {
  it('between its answer and the print has it in history', async () => {
    const text = `{"success":true,"answer":{"Result":"${'x'.repeat(2_000_000)}","Citations":[]}}`;
    const at = await home(ok(text));
    // The pipe is not read: it is full after 64 KiB, so printing can't end.
    const child = at.start('research x');
    await new Promise((resolve) => child.stdout.once('readable', resolve));
    const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    child.stdout.destroy();
    expect(await at.history()).toMatchObject([{ state: 'complete', command: 'research' }]);
    expect((await at.show()).stdout).toBe(`${text}\n`);
  });

  it('in the middle of a stream has every lead that was printed', async () => {
    const frames = searchFrames([entities, ['{"name":"C"}']]).slice(0, 2);
    const at = await home((socket) => void socket.write(streamStart(frames)));
    const child = at.start('search company x -f jsonl');
    let printed = '';
    child.stdout.setEncoding('utf8');
    await new Promise<void>((resolve) =>
      child.stdout.on('data', (piece: string) => {
        printed += piece;
        if (printed.includes('"C"')) resolve();
      }),
    );
    expect(await at.history()).toMatchObject([{ state: 'running' }]);
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    expect((await at.show('-f jsonl')).stdout).toBe(printed);
  });

  it('a cut search keeps the received leads, and names the command that resumes it', async () => {
    const at = await home(streamStart(searchFrames([entities]).slice(0, 1)));
    expect((await at.leadpipe('search company x -f jsonl')).code).toBe(3);
    const kept = { state: 'partial', leads: 2, leads_search_id: 'ls_test', charged: 'yes' };
    expect(await at.history()).toMatchObject([kept]);
    const { stderr } = await at.show();
    expect(stderr).toContain('2 leads · partial\n');
    expect(stderr).toContain(`To resume it: leadpipe resume ${at.operation()}`);
  });
});

describe('a damaged journal', () => {
  it('is named by show and by the list, and hides nothing else; purchases do not look at it', async () => {
    const at = await home(ok(contactAnswer));
    await at.leadpipe('contact email x');
    const path = at.journalPath();
    writeFileSync(path, readFileSync(path, 'utf8').replace('"contact"', '"contacts"'));
    expect((await at.leadpipe('contact email x')).code).toBe(0);
    const { stdout, ...result } = await at.leadpipe('history list -f jsonl');
    expect(result).toEqual(ending(0, `line 1 of ${path} is damaged`));
    expect(stdout.match(/(?<="state":")\w+/g)).toEqual(['damaged', 'complete']);
    expect(await at.show()).toMatchObject(ending(78, path));
  });

  it('an incomplete last line is ignored', async () => {
    const at = await home(ok(contactAnswer));
    await at.leadpipe('contact email x');
    appendFileSync(at.journalPath(), '{"sha256":"0');
    expect(await at.history()).toMatchObject([{ state: 'complete' }]);
  });
});

describe('history show', () => {
  it.each(['op_nowhere', '../operations', '""'])('%s is not known: 6', async (operation) => {
    const at = await home(ok(contactAnswer));
    await at.leadpipe('contact email x');
    const says = 'To see the purchases of this machine: leadpipe history';
    expect(await at.leadpipe(`history show ${operation}`)).toMatchObject(ending(6, says));
  });

  it.each(['search company x -o out.csv', 'contact email x'])(
    'names no output and no cost where the key was used before: %s',
    async (line) => {
      const at = await home(errorAnswer('409 Conflict', 'request_already_exists', 'used'));
      expect(await at.leadpipe(`${line} --idempotency-key k-12345678`)).toMatchObject({ code: 8 });
      const { stderr } = await at.show();
      expect(stderr).toContain('has nothing to show (state: unknown)');
      expect(stderr).not.toMatch(/charged|out\.csv/);
    },
  );

  it('an operation stopped before it was recorded is not confused with another', async () => {
    const { state, leadpipe } = createMachine();
    mkdirSync(join(state, 'operations', 'op_1k82shlr40001p'), { recursive: true });
    for (const command of ['history show', 'resume']) {
      expect(await leadpipe(`${command} op_1k82shlr40001p`)).toMatchObject(ending(6, 'nothing was sent'));
    }
  });

  it('--answer prints the whole body, with members beside the items and unknown ones', async () => {
    const body =
      '{"success":true,"data":[{"id":12345678901234567890},{"id":2}],"metadata":{"type":"x_followers","target":"ada","instruction":null,"limit":100},"later":1.10}';
    const at = await home(ok(body));
    await at.leadpipe('extract x_followers ada');
    expect((await at.show()).stdout).toBe('{"id":12345678901234567890}\n{"id":2}\n');
    expect(await at.show('--answer')).toEqual({ ...ending(0, 'request req_test'), stdout: `${body}\n` });
    const csv = await at.show('--answer -f csv');
    expect(csv.stdout).toMatch(/^success,data,metadata,later\r\n/);
  });

  it('--answer prints the body of an answer without a result', async () => {
    const body = '{"success":false,"data":"nobody is there","metadata":{"limit":100}}';
    const at = await home(ok(body));
    expect((await at.leadpipe('extract x_followers ada')).code).not.toBe(0);
    expect(await at.show('--answer')).toMatchObject({ code: 0, stdout: `${body}\n` });
  });

  it('--answer prints the body of every row of a list, with its request ID', async () => {
    const body = '{"success":true,"data":[{"id":1}],"metadata":{"limit":100},"later":1.10}';
    const at = await home(ok(body));
    at.write('targets.txt', 'ada\nbob\n');
    expect(await at.leadpipe('extract x_followers --input targets.txt -f jsonl')).toMatchObject({ code: 0 });
    const row = `{"request_id":"req_test","answer":${body}}\n`;
    expect(await at.show('--answer')).toMatchObject({ code: 0, stdout: row.repeat(2) });
  });

  it('counts a duplicate row of the input once', async () => {
    const at = await home(ok(contactAnswer));
    at.write('people.txt', 'ada\nbob\nada\n');
    expect(await at.leadpipe('config set price.contact.email 2')).toMatchObject({ code: 0 });
    expect(await at.leadpipe('contact email --input people.txt')).toMatchObject({ code: 0 });
    expect(await at.history('list')).toMatchObject([{ leads: null, found: 2, credits_at_most: 4 }]);
  });

  it('--answer is refused for a search: its leads are all that is kept', async () => {
    const at = await home(wholeStream(searchFrames([entities])));
    await at.leadpipe('search company x -f jsonl');
    const says = "--answer can't be used with a search: only its leads are stored";
    expect(await at.show('--answer')).toMatchObject(failing(2, says));
  });

  it('shows the leads of a task, and of one that was only created the command that reads them', async () => {
    const at = await home(ok(contactAnswer));
    const bought = await at.run('task run company fintech --limit 3 --poll-interval 0.2 --local -f jsonl');
    expect(bought.code).toBe(0);
    const [record] = await at.history();
    expect(record).toMatchObject({ command: 'task run company', state: 'complete', leads: 3 });
    expect(await at.show('-f jsonl')).toEqual({ ...ending(0, '3 leads'), stdout: bought.stdout });
    const created = await at.run('task create company fintech --limit 3 --local');
    const id = JSON.parse(created.stdout).leads_search_id;
    expect(await at.run('history show')).toMatchObject(ending(6, `leadpipe task fetch ${id}`));
  });
});

describe('retention', () => {
  const now = new Date('2026-06-30T12:00:00Z');
  const unexpected = (error: Error): void => expect(error).toBeUndefined();
  const daysAgo = (days: number): string => new Date(now.getTime() - days * 86_400_000).toISOString();

  async function kept(state: string, days: number, isOpen = false): Promise<string> {
    const operation = `op_${String(days).replace('.', '_')}`;
    const journal = await createJournal(keepingIn(state), operation);
    const intent: Intent = {
      type: 'intent',
      version: 1,
      time: daysAgo(days),
      command: 'contact',
      idempotency_key: 'k',
      body: '{}',
      profile: null,
      origin: 'local',
      key_fingerprint: 'f',
      output: null,
      options: {},
      index: { like: '', key: 'k' },
    };
    await journal.append(intent, { type: 'answered', request_id: null });
    for (const name of ['received.jsonl', 'answer.garbled'])
      writeFileSync(join(state, 'operations', operation, name), '{}\n');
    if (isOpen) onTestFinished(() => journal.close());
    else await journal.close();
    return operation;
  }

  it('removes answers after 7 days, operations after 30, and never an active one', async () => {
    const state = join(temporaryFolder(), 'state');
    for (const days of [6.9, 7.1, 29.9, 30.1]) await kept(state, days);
    await kept(state, 31, true);
    const context = keepingIn(state, () => now);
    const pruned = await prune(context, await readNeeded(context), unexpected, async () => {});
    expect(pruned.map((one) => [one.operation_id, one.removed]).sort()).toEqual([
      ['op_29_9', 'answer'],
      ['op_30_1', 'operation'],
      ['op_7_1', 'answer'],
    ]);
    expect(readdirSync(join(state, 'operations')).sort()).toEqual(['op_29_9', 'op_31', 'op_6_9', 'op_7_1']);
    expect(readdirSync(join(state, 'operations/op_7_1'))).toEqual(['journal.jsonl']);
    expect(readdirSync(join(state, 'operations/op_6_9'))).toHaveLength(3);
    const shown = await runInProcess('history show op_7_1', { env: { LEADPIPE_STATE_DIR: state } });
    expect(shown).toMatchObject(ending(6, 'answers are stored for 7 days'));
  });

  it('leaves an operation that another process resumes at the same time', async () => {
    const state = join(temporaryFolder(), 'state');
    const context = keepingIn(state, () => now);
    const ids: string[] = [];
    for (let days = 60; days > 30; days--) ids.push(await kept(state, days));
    const pruning = prune(context, new Set(), unexpected, async () => {});
    const taken: string[] = [];
    for (const id of ids.reverse()) {
      const opened = await openJournal(context, id).catch(() => undefined);
      if (opened === undefined) continue;
      onTestFinished(() => opened.journal.close());
      taken.push(id);
    }
    const pruned = (await pruning).map((one) => one.operation_id);
    // Otherwise the two never met.
    expect([pruned.length > 0, taken.length > 0]).toEqual([true, true]);
    expect([...pruned, ...taken].sort()).toEqual(ids.sort());
    for (const id of taken) expect(readdirSync(join(state, 'operations', id))).toHaveLength(5);
  });

  it('keeps the order of the other operations', async () => {
    const at = createMachine();
    for (const days of [40, 2, 5, 1, 3]) await kept(at.state, days);
    const context = keepingIn(at.state, () => now);
    const names = async () => (await at.history()).map(({ operation_id }) => operation_id);
    const written = ['op_2', 'op_5', 'op_1', 'op_3'];
    expect(await names()).toEqual(['op_40', ...written]);
    await prune(context, new Set(), unexpected, async () => {});
    expect(await names()).toEqual(written);
    await kept(at.state, 4);
    // And so they are where the index has to be made again.
    rmSync(join(at.state, 'index'), { recursive: true });
    expect(await names()).toEqual([...written, 'op_4']);
  });

  it('by itself once a day', async () => {
    const state = join(temporaryFolder(), 'state');
    for (let days = 40; days > 9; days--) await kept(state, days);
    const hoursLater = (hours: number) => keepingIn(state, () => new Date(now.getTime() + hours * 3_600_000));
    await pruneIfDue(hoursLater(0));
    await pruneIfDue(hoursLater(23));
    expect(existsSync(join(state, 'operations/op_40'))).toBe(true);
    await pruneIfDue(hoursLater(25));
    expect(existsSync(join(state, 'operations/op_40'))).toBe(false);
  });

  it('not by a clock that is ahead once', async () => {
    const state = join(temporaryFolder(), 'state');
    for (const days of [3, 2, 1]) await kept(state, days);
    const ahead = keepingIn(state, () => new Date(now.getTime() + 40 * 86_400_000));
    await pruneIfDue(keepingIn(state, () => now));
    await pruneIfDue(ahead);
    expect(readdirSync(join(state, 'operations')).sort()).toEqual(['op_1', 'op_2', 'op_3']);
    expect(readdirSync(join(state, 'operations/op_3'))).toHaveLength(3);
  });

  it('history prune prints what it removed', async () => {
    const { state, leadpipe } = createMachine();
    await kept(state, 300);
    const { stdout, ...result } = await leadpipe('history prune');
    expect(JSON.parse(stdout)).toMatchObject({ operation_id: 'op_300', removed: 'operation' });
    expect(result).toEqual({ code: 0, stderr: 'Removed: 0 stored answers, 1 record of a purchase.\n' });
  });
});

it('a free read and an empty history need no home that can be written', async () => {
  const at = await home(ok('{"object":"credit_balance","available_credits":5,"updated_at":"x"}'));
  chmodSync(at.env.HOME ?? '', 0o500);
  expect((await at.leadpipe('balance')).code).toBe(0);
  const nothing = {
    code: 0,
    stderr: 'No purchases recorded on this machine yet. Those with --no-history are not listed.\n',
  };
  expect(await at.leadpipe('history')).toMatchObject(nothing);
  chmodSync(at.env.HOME ?? '', 0o700);
});
