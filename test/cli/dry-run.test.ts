import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bodies, at as cutAt, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import type { FakeOptions } from '../helpers/fake-context.ts';
import { errorAnswer } from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { createGate, type RowServiceOptions, startRowService } from '../helpers/row-service.ts';
import { resultOf, until } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';
import { startTaskServer } from '../helpers/task-server.ts';

/** --dry-run says what the same command would send and cost now, also where it would resume an earlier run. It changes nothing. */

interface Dry {
  readonly worst_case: number | null;
  readonly resumes?: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stderr: string;
}

/** Everything on the disk of a machine. */
function disk({ state }: Pick<Machine, 'state'>): Record<string, string> {
  const home = dirname(state);
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const found = statSync(join(home, name));
      const content = found.isFile() ? readFileSync(join(home, name), 'base64') : '';
      return [name, `${found.mtimeMs} ${content}`];
    }),
  );
}

async function dryRun(at: Machine, line: string, options?: FakeOptions): Promise<Dry> {
  const before = disk(at);
  const { code, stdout, stderr } = await at.leadpipe(`${line} --dry-run`, options);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  expect(disk(at)).toEqual(before);
  return { ...JSON.parse(stdout), stderr };
}

const people = (count: number): string => Array.from({ length: count }, (_, at) => `p${at}\n`).join('');
const price = 2;
const prices = Object.fromEntries(
  ['contact.email', 'research', 'enrich', 'extract'].map((name) => [`price.${name}`, price]),
);

async function listMachine(options: RowServiceOptions = {}) {
  const service = await startRowService(options);
  const at = createMachine(service.url);
  writeSettings(at.env, prices);
  at.write('list.txt', people(10));
  return { service, at };
}

type ListMachine = Awaited<ReturnType<typeof listMachine>>;

/** A list of ten rows that was killed when four of them were answered. */
async function killedList(line: string): Promise<ListMachine> {
  const { gate, open } = createGate('p4');
  const machine = await listMachine({ gate });
  const child = machine.at.start(`${line} --concurrency 1`);
  await until(() => machine.service.requests() === 5);
  child.kill('SIGKILL');
  await resultOf(child);
  open();
  await until(() => machine.service.charged.size === 5);
  // What the killed run had sent was charged; here it was never received.
  for (const [key, body] of machine.service.charged)
    if (body.includes('p4')) machine.service.charged.delete(key);
  return machine;
}

/** A dry run of a list, then the list itself: the service charges the shown cost, for the shown rows. */
async function compared({ at, service }: ListMachine, line: string, options?: FakeOptions): Promise<Dry> {
  const dry = await dryRun(at, line, options);
  const before = service.charged.size;
  expect([0, 3]).toContain((await at.leadpipe(`${line} --concurrency 1`, options)).code);
  const sent = [...service.charged.values()].slice(before).map((body) => JSON.parse(body));
  expect(price * sent.length).toBe(dry.worst_case);
  // Rows that may have been sent before are read first, and so not always sent first.
  expect(sent.length === 0 ? [null] : sent).toContainEqual(dry.body);
  return dry;
}

describe('a list that was killed', () => {
  it.each(['contact email', 'research', 'enrich --field city', 'extract x_followers --limit 1'])(
    '%s: the rest, and which operation is resumed',
    async (command) => {
      const line = `${command} --input list.txt -o out.jsonl`;
      const machine = await killedList(line);
      const [{ operation_id } = {}] = await machine.at.history();
      const dry = await compared(machine, line);
      expect(dry).toMatchObject({ worst_case: 6 * price, resumes: operation_id });
      expect(dry.stderr).toSay(
        `Without --dry-run, this command resumes ${operation_id}, started `,
        'Only the rest is bought.\n6 rows would be sent; the first request is above; 4 were sent before, and are not sent again. Nothing was sent.',
      );
      expect((await machine.at.history()).map((one) => one.operation_id)).toEqual([operation_id]);
    },
  );

  const list = 'contact email --input list.txt -o out.jsonl';
  it.each([
    ['its first rows', `${list} --first 6`, 2, true],
    ['rows of which some are new', 'contact email --input more.txt -o out.jsonl', 8, true],
    ['rows that are answered', 'contact email --input less.txt -o out.jsonl', 0, true],
    ['rows from standard input', 'contact email --input - -o out.jsonl', 6, true],
    ['into another file', 'contact email --input list.txt -o other.jsonl', 10, false],
    ['without a file', 'contact email --input list.txt', 10, false],
  ])('%s', async (_, line, rows, isResumed) => {
    const machine = await killedList(list);
    const { at } = machine;
    at.write('more.txt', people(12));
    at.write('less.txt', people(3));
    const { worst_case, resumes } = await compared(machine, line, { stdin: people(10) });
    expect({ worst_case, isResumed: resumes !== undefined }).toEqual({ worst_case: rows * price, isResumed });
  });

  it('whose price is not known, and the day has a limit: says which setting is missing, and ends as buying would', async () => {
    const { at, service } = await killedList(list);
    writeSettings(at.env, { max_credits_per_day: 100 });
    const { code, stdout, stderr } = await at.leadpipe(`${list} --dry-run`);
    expect({ code, shown: JSON.parse(stdout) }).toMatchObject({
      code: 5,
      shown: { worst_case: null, needs_setting: 'price.contact.email' },
    });
    expect(stderr).toSay('the setting price.contact.email is not set');
    const before = service.charged.size;
    expect(await at.leadpipe(list)).toMatchObject(
      ending(5, /^error: .*the setting price.contact.email is not set/),
    );
    expect(service.charged.size).toBe(before);
  });

  it('is found without the index, which is not rebuilt', async () => {
    const machine = await killedList(list);
    rmSync(join(machine.at.state, 'index'), { recursive: true });
    expect(await compared(machine, list)).toMatchObject({ worst_case: 6 * price });
  });

  it('has its limit checked as buying would: that of the whole list', async () => {
    const { at } = await killedList(list);
    const dry = (limit: number) => at.leadpipe(`${list} --dry-run --max-credits ${limit}`);
    expect(await dry(10 * price - 1)).toMatchObject(
      ending(5, /the limit is \d+ credits, \d+ are used, and the rest can cost /),
    );
    expect((await dry(12 * price)).code).toBe(0);
  });

  it.each([
    [10 * price, 0],
    [10 * price - 1, 5],
  ])(
    'counts for the day with what it has sent, as it does when it is resumed: limit %i, exit %i',
    async (limit, code) => {
      const { at } = await killedList(list);
      writeSettings(at.env, { ...prices, max_credits_per_day: limit });
      expect((await at.leadpipe(`${list} --dry-run`)).code).toBe(code);
      expect((await at.leadpipe(list)).code).toBe(code);
    },
  );
});

describe('rows that have an answer', () => {
  it('of a named run, whatever the output and the rows', async () => {
    const machine = await listMachine();
    machine.at.write('some.txt', people(4));
    const run = 'contact email --run october';
    expect((await machine.at.leadpipe(`${run} --input some.txt -o some.csv`)).code).toBe(0);
    const rest = await compared(machine, `${run} --input list.txt -o all.csv`);
    expect(rest).toMatchObject({ worst_case: 6 * price });
    expect(rest).not.toHaveProperty('resumes');
    // What is not sent costs nothing, whatever its price.
    writeSettings(machine.at.env, {});
    const none = await compared(machine, `${run} --input list.txt`);
    expect(none).toMatchObject({ worst_case: 0, body: null });
    expect(none).not.toHaveProperty('needs_setting');
    expect(none.stderr).toBe(
      'No row would be sent, so this costs nothing; 10 were sent before, and are not sent again. Nothing was sent.\n',
    );
  });

  it('are left as they are by --only-missing', async () => {
    const refused = new Set(['p1', 'p2']);
    const machine = await listMachine({ refused });
    expect((await machine.at.leadpipe('contact email --input list.txt -o list.csv')).code).toBe(3);
    refused.clear();
    const dry = await compared(machine, 'contact email --input list.csv --only-missing -o whole.csv');
    expect(dry).toMatchObject({ worst_case: 2 * price });
    expect(dry.stderr).toSay('2 rows would be sent', '8 rows left as they are');
  });

  it('may have lost it: --retry-unknown buys them again', async () => {
    const lost = new Set(['p1', 'p2']);
    const machine = await listMachine({ lost });
    const list = 'contact email --input list.txt -o out.jsonl';
    expect((await machine.at.leadpipe(list)).code).toBe(3);
    lost.clear();
    expect(await compared(machine, list)).toMatchObject({ worst_case: 0 });
    expect(await compared(machine, `${list} --retry-unknown`)).toMatchObject({ worst_case: 2 * price });
  });
});

describe('a search that was left', () => {
  it.each(['', '--only-new'])('shows the request for the rest %s', async (more) => {
    const line = `search company x --limit 9 -o leads.jsonl ${more}`;
    expect((await cutAt.leadpipe(line)).code).toBe(3);
    const dry = await dryRun(cutAt, line);
    expect((await cutAt.leadpipe(line)).code).toBe(0);
    expect(dry).toMatchObject({
      worst_case: 7,
      body: bodies().at(-1),
      resumes: expect.stringMatching(/^op_/),
    });
    expect(dry.body).toMatchObject({ limit: 7, dedup_service_leads: ['ls_test'] });
  });

  it.each([
    ['of which nothing is left to ask for', '--limit 2 -o leads.jsonl', 0],
    ['into another file', '--limit 9 -o other.jsonl', 9],
    ['of which nothing is kept', '--limit 9 -o leads.jsonl --no-history', 9],
    ['that was found by another key', '--limit 9 -o leads.jsonl --profile other', 9],
  ])('costs what the same command would: one %s', async (_, more, worst) => {
    script.cuts = 1;
    expect((await cutAt.leadpipe('search company x --limit 9 -o leads.jsonl')).code).toBe(3);
    const env = more.includes('--profile') ? { LEADPIPE_API_KEY: 'another-key-0123456789' } : {};
    const line = `search company x ${more.replace('--profile other', '')}`;
    const dry = await dryRun(cutAt, line, { env });
    const before = bodies().length;
    expect((await cutAt.leadpipe(line, { env })).code).toBe(0);
    expect(dry).toMatchObject({ worst_case: worst, body: bodies()[before] ?? null });
    expect('resumes' in dry).toBe(worst === 0);
    if (worst === 0) expect(dry.stderr).toSay('Nothing is left to buy.');
  });

  it('is refused without a number for --limit, which is for the whole search', async () => {
    const line = 'search company x --limit 9 -o leads.jsonl';
    expect((await cutAt.leadpipe(line)).code).toBe(3);
    writeSettings(cutAt.env, { max_credits_per_day: 12 });
    const { code, stderr } = await cutAt.leadpipe(line);
    expect({ code, stderr }).toMatchObject(ending(5, 'this can cost 7 credits, but only 3 are left'));
    expect(stderr).not.toContain('--limit');
    const other = await cutAt.leadpipe('search company y --limit 9 -o other.jsonl');
    expect(other.stderr).toSay('ask for fewer with --limit 3');
  });

  it('before any lead came: all of it', async () => {
    const at = await machineWith((socket) => void socket.destroy());
    const line = 'search company x --limit 9 -o leads.jsonl';
    await at.leadpipe(line);
    const dry = await dryRun(at, line);
    await at.leadpipe(line);
    expect(dry).toMatchObject({ worst_case: 9, body: JSON.parse(at.requests.at(-1)?.body ?? '') });
    expect(dry).not.toHaveProperty('resumes');
  });

  it('and killed: the service charges no more than was said', async () => {
    const stall = { operation: 'search', fault: 'stall', after_batches: 1 };
    const ledger = await startLedgerService({}, [stall]);
    const at = createMachine(ledger.url, ledgerKey);
    const line = 'search company fintech --limit 25 -o leads.jsonl';
    const child = at.start(line);
    await until(() => at.files().includes('leads.jsonl.part') && at.read('leads.jsonl.part').includes('}\n'));
    child.kill('SIGKILL');
    await resultOf(child);
    await ledger.quiet();
    const before = ledger.spent();
    const dry = await dryRun(at, line);
    expect((await at.run(line)).code).toBe(0);
    expect({ before, charged: ledger.spent() - before }).toEqual({ before: 10, charged: dry.worst_case });
  });
});

it('of --local costs nothing, and says that something is left to buy', async () => {
  const at = createMachine();
  at.write('list.txt', people(4));
  const line = 'contact email --input list.txt --local -o out.csv';
  expect((await at.leadpipe(`${line} --first 3`)).code).toBe(0);
  const { stderr } = await at.leadpipe(`${line} --dry-run`);
  expect(stderr).toSay('Only the rest is bought.');
  expect(stderr).toSay('1 row would be sent');
});

describe('a task that was left', () => {
  const line = 'task run company x --limit 45 --poll-interval 0.01 -o leads.csv';

  it('is continued for free, so no request is shown', async () => {
    const steps: [string, number][] = [['running', 20]];
    const task = await startTaskServer({ steps });
    expect((await task.leadpipe(`${line} --wait-timeout 0.3`)).code).toBe(75);
    const dry = await dryRun(task, line);
    expect(dry).toMatchObject({ worst_case: 0, body: null, resumes: expect.stringMatching(/^op_/) });
    expect(dry.stderr).toSay('Nothing is left to buy.');
    steps.push(['done', 45]);
    expect((await task.leadpipe(line)).code).toBe(0);
    expect(task.count('create')).toBe(1);
  });

  it('before its ID came: the same request again, with its key', async () => {
    let isDown = true;
    const task = await startTaskServer({
      steps: [['done', 45]],
      fault: (operation) =>
        operation === 'create' && isDown ? errorAnswer('500 X', 'internal_error', 'no') : undefined,
    });
    // What is sent again is counted for its day already.
    writeSettings(task.env, { max_credits_per_day: 45 });
    await task.leadpipe(line);
    isDown = false;
    const dry = await dryRun(task, line);
    expect((await task.leadpipe(line)).code).toBe(0);
    const sent = task.requests.filter(({ method }) => method === 'POST').at(-1);
    expect(dry).toMatchObject({
      worst_case: 45,
      body: JSON.parse(sent?.body ?? ''),
      headers: { 'Idempotency-Key': sent?.headers['idempotency-key'] },
    });
    expect(dry.stderr).toSay('The same request is sent again, so you are not charged twice.');
  });
});

it('an answer that was lost: the same request with the key that was given, and its operation', async () => {
  const at = await machineWith((socket) => void socket.destroy());
  const line = 'contact email x --idempotency-key mine';
  expect((await at.leadpipe(line)).code).toBe(8);
  const [{ operation_id } = {}] = await at.history();
  expect(await dryRun(at, line)).toMatchObject({
    resumes: operation_id,
    headers: { 'Idempotency-Key': 'mine' },
  });
  expect(await dryRun(at, 'contact email x')).not.toHaveProperty('resumes');
});

it('reports problems further down in a list, as buying does', async () => {
  const { at } = await listMachine();
  at.write('list.csv', `objective\n${people(150)}objective\nlast\n`);
  const says = 'repeats its header in 1 row';
  const { stderr } = await dryRun(at, 'contact email --input list.csv');
  expect(stderr).toSay('151 rows would be sent', says);
  expect(await at.leadpipe('contact email --input list.csv')).toMatchObject(ending(0, says));
});

it('answers while another process is working on the operation, and says so', async () => {
  const { gate, open } = createGate('p4');
  const machine = await listMachine({ gate });
  const line = 'contact email --input list.txt -o out.jsonl';
  const child = machine.at.start(`${line} --concurrency 1`);
  await until(() => machine.service.requests() === 5);
  const { code, stdout, stderr } = await machine.at.leadpipe(`${line} --dry-run`);
  expect({ code, worst: JSON.parse(stdout).worst_case }).toEqual({ code: 0, worst: 6 * price });
  expect(stderr).toSay(
    'Another process is running it. Until that ends, this command stops with exit code 75.',
  );
  expect((await machine.at.leadpipe(line)).code).toBe(75);
  open();
  expect((await resultOf(child)).code).toBe(0);
});

it.each([
  [
    '',
    true,
    /^Without --dry-run, this command resumes op_\S+, started .{16}\. Only the rest is bought\. This can cost at most 7 credits\. Nothing was bought\.\n$/,
  ],
  [
    '',
    false,
    /^Without --dry-run, this command resumes op_\S+, started .{16}\. Only the rest is bought\.\n$/,
  ],
  ['-q', false, /^$/],
])(
  'says what is resumed in one paragraph, and not with -q (%s, terminal: %s)',
  async (more, stderrIsTerminal, says) => {
    const line = 'search company x --limit 9 -o leads.jsonl';
    expect((await cutAt.leadpipe(line)).code).toBe(3);
    const { stderr } = await dryRun(cutAt, `${line} ${more}`, { stderrIsTerminal, columns: 1000 });
    expect(stderr).toMatch(says);
  },
);
