import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Intent, toEntries, toLine } from '../../src/operations/journal/entries.ts';
import { createJournal } from '../../src/operations/journal/journal.ts';
import { pruneIfDue } from '../../src/operations/journal/prune-if-due.ts';
import { prune } from '../../src/operations/journal/retention.ts';
import { printedFormats } from '../../src/output/writer.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { bareEnvironment, command, pointedAt, run, start, temporaryFolder } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';

/** What is kept of a purchase, when, and how it is shown again. */

let server: FaultServer | undefined;

const key = 'test-key-0123456789';
const ok = (body: string): string =>
  wholeAnswer('200 OK', 'application/json', body, ['X-Request-Id: req_test']);
const contactAnswer =
  '{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":{"content":"a@b.example","reference":null},"created_at":"2026-01-31T09:00:00Z","id":12345678901234567890}';
const entities = [
  '{"name":"A","follower_id":12345678901234567890,"links":{"website":"https://a.example"},"ratio":1.10,"enrich_fields":{"size":{"content":"a@b.example","reference":"r"}}}',
  '{"name":"=B()","description":"two\\nlines\u2028and more",\n "links":{ "x":\n1 }}',
];

interface Paid {
  readonly args: readonly string[];
  readonly answer: string;
}

const paid: readonly (readonly [name: string, Paid])[] = [
  ['contact', { args: ['contact', 'email', 'x'], answer: ok(contactAnswer) }],
  [
    'research',
    {
      args: ['research', 'x'],
      answer: ok('{"success":true,"answer":{"Result":"Yes.","Citations":["https://a.example"]}}'),
    },
  ],
  [
    'enrich',
    {
      args: ['enrich', 'x', '--field', 'city', '--field', 'staff:integer'],
      answer: ok('{"success":true,"answer":{"staff":12345678901234567890,"city":"Berlin"}}'),
    },
  ],
  [
    'extract',
    {
      args: ['extract', 'x_followers', 'ada'],
      answer: ok('{"success":true,"data":[{"id":12345678901234567890},{"login":"ada"}]}'),
    },
  ],
  [
    'search',
    {
      args: ['search', 'company', 'x', '--enrich-fields', 'size'],
      answer: streamOf(searchFrames([onLines(entities)])),
    },
  ],
];

interface Home {
  readonly env: Record<string, string>;
  readonly state: string;
  operations(): string[];
  files(operation?: string): string[];
  journal(operation?: string): ReturnType<typeof toEntries>;
}

async function home(answer: string | Parameters<typeof startFaultServer>[0]): Promise<Home> {
  server = await startFaultServer(typeof answer === 'string' ? (socket) => void socket.end(answer) : answer);
  const env = { ...bareEnvironment(), ...pointedAt(server.url, key) };
  const state = env.LEADPIPE_STATE_DIR as string;
  const root = join(state, 'operations');
  const operations = (): string[] => (existsSync(root) ? readdirSync(root).sort() : []);
  const folder = (operation = operations()[0] ?? ''): string => join(root, operation);
  return {
    env,
    state,
    operations,
    files: (operation) => readdirSync(folder(operation)).sort(),
    journal: (operation) => toEntries(readFileSync(join(folder(operation), 'journal.jsonl'), 'utf8'), ''),
  };
}

function streamOf(frames: readonly string[], end: string = lastChunk): string {
  return `${streamHead}${frames.map((frame) => chunk(frame).toString('utf8')).join('')}${end}`;
}

/** A line break in an event starts another line of data. */
function onLines(records: readonly string[]): string[] {
  return records.map((record) => record.replaceAll('\n', '\ndata: '));
}

/** Whatever is there would be sent to nobody. */
function offline({ env }: Home): Record<string, string> {
  const { LEADPIPE_API_KEY: _, LEADPIPE_BASE_URL: __, ...rest } = env;
  return rest;
}

async function list(at: Home): Promise<Record<string, unknown>[]> {
  const { code, records } = await historyOf(offline(at));
  expect(code).toBe(0);
  return records;
}

/** What `history show` prints of the first purchase. */
function show(at: Home, ...args: string[]) {
  return runInProcess(['history', 'show', at.operations()[0] ?? '', ...args], { env: offline(at) });
}

describe.each(paid)('%s', (name, { args, answer }) => {
  it('has its intent, with the exact body, on the disk when the request arrives', async () => {
    let seen: ReturnType<typeof toEntries> = [];
    const at: Home = await home((socket) => {
      seen = at.journal();
      socket.end(answer);
    });
    expect(
      (await runInProcess([...args, '-o', join(temporaryFolder(), 'x.json')], { env: at.env })).code,
    ).toBe(0);
    const [intent, ...rest] = seen;
    expect(intent).toMatchObject({
      type: 'intent',
      command: name,
      idempotency_key: 'test-1',
      body: server?.requests[0]?.body,
      origin: server?.url,
      output: expect.stringMatching(/^\/.*x\.json$/),
    });
    // Of rows that come one after the other it is known where they begin.
    expect(rest.map(({ type }) => type)).toEqual(['opened', 'sent']);
  });

  it.each(printedFormats)('is shown again to the byte as %s, offline', async (format) => {
    const at = await home(answer);
    const first = await runInProcess([...args, '-f', format], { env: at.env });
    expect(first.code).toBe(0);
    const again = await show(at, '-f', format);
    expect(again.stdout).toBe(first.stdout);
    expect(again.stderr).toContain('\nrequest req_test · operation op_test_');
    expect(server?.requests).toHaveLength(1);
  });

  it('is in the list, complete, with its IDs, and says its operation at the end', async () => {
    const at = await home(answer);
    const { stderr } = await runInProcess(args, { env: at.env });
    const [record] = await list(at);
    expect(record).toMatchObject({
      state: 'complete',
      charged: 'yes',
      request_id: 'req_test',
      idempotency_key: 'test-1',
      leads: { search: 2, extract: 2 }[name] ?? null,
    });
    expect(stderr).toContain(`operation ${record?.operation_id}`);
  });

  it('is stored although the reader has gone away and the output is full', async () => {
    const at = await home(answer);
    const { code, stderr } = await runInProcess([...args, '-o', '/dev/full', '-f', 'jsonl'], { env: at.env });
    expect(code).toBe(74);
    const [operation = ''] = at.operations();
    expect(stderr).toContain(operation);
    const shown = await show(at);
    const other = await home(answer);
    expect(shown.stdout).toBe((await runInProcess(args, { env: other.env })).stdout);
  });

  it('keeps nothing with --no-history, and says so', async () => {
    const at = await home(answer);
    const { code, stderr } = await runInProcess([...args, '--no-history'], { env: at.env });
    expect(code).toBe(0);
    expect(stderr).toContain(
      "Nothing is stored on this machine: the result can't be shown again or resumed.",
    );
    expect(stderr).not.toContain('operation op_');
    expect(existsSync(at.state)).toBe(false);
    const quiet = (await runInProcess([...args, '--no-history', '-q'], { env: at.env })).stderr;
    // Fields that ask for an email address are worth a warning.
    expect(quiet.split('\n').filter((line) => !line.startsWith('warning: a search finds'))).toEqual(['']);
  });

  it('a state directory that can not be written: 74 and no request, but for --no-history', async () => {
    const at = await home(answer);
    writeFileSync(at.state, 'a file');
    const { code, stderr } = await runInProcess(args, { env: at.env });
    expect(code).toBe(74);
    expect(stderr).toContain('--no-history');
    expect(server?.requests).toEqual([]);
    expect((await runInProcess([...args, '--no-history'], { env: at.env })).code).toBe(0);
  });

  it.each(['000', '077', '777'])(
    'keeps it to the user, under the umask %s, and never the API key',
    async (mask) => {
      const at = await home(answer);
      const child = spawn('sh', ['-c', `umask ${mask}; exec "$0" "$@"`, process.execPath, command, ...args], {
        env: at.env,
        stdio: 'ignore',
      });
      expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
      for (const path of ['', ...readdirSync(at.state, { recursive: true, encoding: 'utf8' })]) {
        const { mode, ...stat } = statSync(join(at.state, path));
        const isFolder = (mode & 0o170000) === 0o040000;
        expect([path, (mode & 0o777).toString(8)]).toEqual([path, isFolder ? '700' : '600']);
        if (!isFolder && stat.size > 0) expect(readFileSync(join(at.state, path), 'utf8')).not.toContain(key);
      }
    },
  );

  it.each([
    ['failed', 'no', errorAnswer('402 Payment Required', 'insufficient_credits', 'no')],
    ['unknown', 'maybe', ''],
  ])('is %s (charged: %s) when it brought nothing', async (state, charged, fault) => {
    const at = await home(fault);
    await runInProcess(args, { env: at.env });
    expect(await list(at)).toMatchObject([{ state, charged }]);
    const last = at.journal().at(-1);
    expect(last?.type).toBe(state === 'failed' ? 'terminal' : 'failed');
    const { code, stdout } = await show(at);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
  });
});

describe('a purchase that is killed', () => {
  it('between its answer and the print has it in history', async () => {
    const text = `{"success":true,"answer":{"Result":"${'x'.repeat(2_000_000)}","Citations":[]}}`;
    const at = await home(ok(text));
    // Nobody reads: the pipe is full after 64 KiB, and the print can't end.
    const child = start(['research', 'x'], { env: at.env });
    const [first] = await once(child.stdout, 'readable', () => child.stdout.read(1));
    expect(first).toBeDefined();
    const ended = new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
    child.kill('SIGKILL');
    expect(await ended).toBe('SIGKILL');
    child.stdout.destroy();
    expect(await list(at)).toMatchObject([{ state: 'complete', command: 'research' }]);
    const shown = await show(at);
    expect(shown.stdout).toBe(`${text}\n`);
  });

  it('in the middle of a stream has every lead that was printed', async () => {
    const frames = searchFrames([onLines(entities), ['{"name":"C"}']]);
    const at = await home((socket) => void socket.write(streamOf(frames.slice(0, 2), '')));
    const child = start(['search', 'company', 'x', '-f', 'jsonl'], { env: at.env });
    let printed = '';
    child.stdout.setEncoding('utf8');
    await new Promise<void>((resolve) =>
      child.stdout.on('data', (piece: string) => {
        printed += piece;
        if (printed.includes('"C"')) resolve();
      }),
    );
    expect(await list(at)).toMatchObject([{ state: 'running' }]);
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    const shown = await show(at, '-f', 'jsonl');
    expect(shown.stdout).toBe(printed);
  });

  it('a cut search keeps what arrived, and names the command that goes on', async () => {
    const frames = searchFrames([onLines(entities)]);
    const at = await home(streamOf(frames.slice(0, 1), ''));
    expect((await runInProcess(['search', 'company', 'x', '-f', 'jsonl'], { env: at.env })).code).toBe(3);
    expect(await list(at)).toMatchObject([
      { state: 'partial', leads: 2, leads_search_id: 'ls_test', charged: 'yes' },
    ]);
    const [operation = ''] = at.operations();
    const shown = await show(at);
    expect(shown.stderr).toContain('2 leads · partial\n');
    expect(shown.stderr).toContain(`To buy the rest: leadpipe search --continue ${operation}`);
  });
});

describe('a damaged journal', () => {
  it('is named by show and by the list, and hides nothing else; purchases do not look at it', async () => {
    const at = await home(ok(contactAnswer));
    await runInProcess(['contact', 'email', 'x'], { env: at.env });
    const [operation = ''] = at.operations();
    const path = join(at.state, 'operations', operation, 'journal.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"contact"', '"contacts"'));
    expect((await runInProcess(['contact', 'email', 'x'], { env: at.env })).code).toBe(0);
    const { code, records, stderr } = await historyOf(offline(at));
    expect({ code, states: records.map(({ state }) => state) }).toEqual({
      code: 0,
      states: ['damaged', 'complete'],
    });
    expect(stderr).toContain(`line 1 of ${path} is damaged`);
    const shown = await show(at);
    expect(shown.code).toBe(78);
    expect(shown.stderr).toContain(path);
  });

  it('a torn last line is none', async () => {
    const at = await home(ok(contactAnswer));
    await runInProcess(['contact', 'email', 'x'], { env: at.env });
    appendFileSync(join(at.state, 'operations', at.operations()[0] ?? '', 'journal.jsonl'), '{"sha256":"0');
    expect(await list(at)).toMatchObject([{ state: 'complete' }]);
  });
});

describe('history show', () => {
  it.each(['op_nowhere', '../operations', ''])('%j is not known: 6', async (operation) => {
    const at = await home(ok(contactAnswer));
    await runInProcess(['contact', 'email', 'x'], { env: at.env });
    const { code, stderr } = await runInProcess(['history', 'show', operation], { env: offline(at) });
    expect(code).toBe(6);
    expect(stderr).toContain('To see the purchases of this machine: leadpipe history');
  });

  it('one that was stopped before it was recorded is not taken for another', async () => {
    const env = bareEnvironment();
    mkdirSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations', 'op_1k82shlr40001p'), { recursive: true });
    for (const word of ['show', 'resume']) {
      const { code, stderr } = await runInProcess(['history', word, 'op_1k82shlr40001p'], { env });
      expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining('nothing was sent') });
    }
  });

  it('--answer prints the whole body: what stands beside the items, and what no version knows', async () => {
    const body =
      '{"success":true,"data":[{"id":12345678901234567890},{"id":2}],"metadata":{"type":"x_followers","target":"ada","instruction":null,"limit":100},"later":1.10}';
    const at = await home(ok(body));
    await runInProcess(['extract', 'x_followers', 'ada'], { env: at.env });
    expect((await show(at)).stdout).toBe('{"id":12345678901234567890}\n{"id":2}\n');
    expect(await show(at, '--answer')).toMatchObject({
      code: 0,
      stdout: `${body}\n`,
      stderr: expect.stringContaining('request req_test'),
    });
    expect((await show(at, '--answer', '-f', 'csv')).stdout.split('\n')[0]).toBe(
      'success,data,metadata,later\r',
    );
  });

  it('--answer prints the body of an answer without a result', async () => {
    const body = '{"success":false,"data":"nobody is there","metadata":{"limit":100}}';
    const at = await home(ok(body));
    expect((await runInProcess(['extract', 'x_followers', 'ada'], { env: at.env })).code).not.toBe(0);
    expect(await show(at, '--answer')).toMatchObject({ code: 0, stdout: `${body}\n` });
  });

  it('--answer prints the body of every row of a list, with its request ID', async () => {
    const body = '{"success":true,"data":[{"id":1}],"metadata":{"limit":100},"later":1.10}';
    const at = await home(ok(body));
    const input = join(temporaryFolder(), 'targets.txt');
    writeFileSync(input, 'ada\nbob\n');
    const args = ['extract', 'x_followers', '--input', input, '-f', 'jsonl'];
    expect(await runInProcess(args, { env: at.env })).toMatchObject({ code: 0 });
    const shown = await show(at, '--answer');
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stdout).toBe(`{"request_id":"req_test","answer":${body}}\n`.repeat(2));
  });

  it('counts a row of a list once, also where an earlier version did not, that stood in the input twice', async () => {
    const at = await home(ok(contactAnswer));
    const input = join(temporaryFolder(), 'people.txt');
    writeFileSync(input, 'ada\nbob\nada\n');
    const args = ['contact', 'email', '--input', input];
    expect(await runInProcess(['config', 'set', 'price.contact.email', '2'], at)).toMatchObject({ code: 0 });
    expect(await runInProcess(args, { env: at.env })).toMatchObject({ code: 0 });
    const journal = join(at.state, 'operations', at.operations()[0] ?? '', 'journal.jsonl');
    const entries = toEntries(readFileSync(journal, 'utf8'), journal);
    const older = entries.map((entry) => {
      const { sent_rows: _, ...rest } = { sent_rows: 0, ...entry };
      return toLine(rest as (typeof entries)[number]);
    });
    for (const lines of [entries.map(toLine), older]) {
      writeFileSync(journal, lines.join(''));
      const { stdout } = await runInProcess(['history', 'list', '-f', 'jsonl'], { env: at.env });
      expect(JSON.parse(stdout)).toMatchObject({ leads: 3, credits_at_most: 4 });
    }
  });

  it('--answer is refused for a search: its leads are all that is kept', async () => {
    const at = await home(streamOf(searchFrames([onLines(entities)]), lastChunk));
    await runInProcess(['search', 'company', 'x', '-f', 'jsonl'], { env: at.env });
    const { code, stdout, stderr } = await show(at, '--answer');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("--answer can't be used with a search: its leads are what is kept of it");
  });

  it('names the command that reads the leads of a task again', async () => {
    const at = await home(ok(contactAnswer));
    const bought = ['task', 'run', 'company', 'fintech', '--limit', '3', '--poll-interval', '0.2', '--local'];
    expect((await run(bought, { env: at.env })).code).toBe(0);
    const [record] = await list(at);
    expect(record).toMatchObject({ command: 'task run company', state: 'complete', leads: 3 });
    const { code, stderr } = await show(at);
    expect(code).toBe(6);
    expect(stderr).toContain(`leadpipe task fetch ${record?.leads_search_id}`);
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
      time: daysAgo(days),
      command: 'contact',
      idempotency_key: 'k',
      body: '{}',
      profile: null,
      origin: 'local',
      key_fingerprint: 'f',
      output: null,
      options: {},
    };
    await journal.append(intent, { type: 'answered', request_id: null });
    writeFileSync(join(state, 'operations', operation, 'answer.json'), '{}');
    writeFileSync(join(state, 'operations', operation, 'leads.jsonl'), '{}\n');
    if (isOpen) onTestFinished(() => journal.close());
    else await journal.close();
    return operation;
  }

  it('answers 7 days, operations 30, and never one that is at work', async () => {
    const state = join(temporaryFolder(), 'state');
    for (const days of [6.9, 7.1, 29.9, 30.1]) await kept(state, days);
    await kept(state, 31, true);
    const context = keepingIn(state, () => now);
    const pruned = await prune(context, unexpected);
    expect(pruned.map((one) => [one.operation_id, one.removed]).sort()).toEqual([
      ['op_29_9', 'answer'],
      ['op_30_1', 'operation'],
      ['op_7_1', 'answer'],
    ]);
    expect(readdirSync(join(state, 'operations')).sort()).toEqual(['op_29_9', 'op_31', 'op_6_9', 'op_7_1']);
    expect(readdirSync(join(state, 'operations/op_7_1'))).toEqual(['journal.jsonl']);
    expect(readdirSync(join(state, 'operations/op_6_9'))).toHaveLength(3);
    const { code, stderr } = await runInProcess(['history', 'show', 'op_7_1'], {
      env: { LEADPIPE_STATE_DIR: state },
    });
    expect(code).toBe(6);
    expect(stderr).toContain('answers are stored for 7 days');
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
    const env = bareEnvironment();
    await kept(env.LEADPIPE_STATE_DIR as string, 300);
    const { code, stdout, stderr } = await runInProcess(['history', 'prune'], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ operation_id: 'op_300', removed: 'operation' });
    expect(stderr).toBe('Removed: 0 stored answers, 1 record of a purchase.\n');
  });
});

describe('a home that can not be written', () => {
  it('a free read and an empty history need none', async () => {
    const at = await home(ok('{"object":"credit_balance","available_credits":5,"updated_at":"x"}'));
    mkdirSync(at.env.HOME as string, { recursive: true });
    chmodSync(at.env.HOME as string, 0o500);
    expect((await runInProcess(['balance'], { env: at.env })).code).toBe(0);
    const { code, stderr } = await runInProcess(['history'], { env: at.env });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'No purchases recorded on this machine yet.\n',
    });
    chmodSync(at.env.HOME as string, 0o700);
  });
});

async function once<T>(
  stream: NodeJS.EventEmitter,
  event: string,
  take: () => T | null,
): Promise<[T | undefined]> {
  for (;;) {
    const taken = take();
    if (taken !== null) return [taken];
    await new Promise((resolve) => stream.once(event, resolve));
  }
}
