import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { creditBalance, taskStatus } from '../helpers/bodies.ts';
import { ending } from '../helpers/ending.ts';
import { errorAnswer, jsonAnswer, searchFrames, streamStart, wholeStream } from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { namesIn } from '../helpers/printed.ts';
import { createGate, type RowServiceOptions, startRowService } from '../helpers/row-service.ts';
import { resultOf, temporaryFolder, until } from '../helpers/run.ts';
import { partsOf } from '../helpers/run-parts.ts';
import { toFailure, writeSettings } from '../helpers/settings.ts';
import { page } from '../helpers/task-server.ts';
import { startCountingService } from '../soak/counting-service.ts';
import { faultyWith } from './faulty-run.ts';

/* What a purchase has cost at most is the same everywhere, and counts for the day on which it was sent. */

const preload = (name: string): string => `--import ${join(import.meta.dirname, name)}`;
const dayMs = 86_400_000;

/** The environment of a machine whose clock is so far ahead of this one's. */
const ahead = (ms: number) => ({
  TZ: 'UTC',
  NODE_OPTIONS: preload('../soak/clock-preload.mjs'),
  CLOCK_AHEAD_MS: String(ms),
});

/** What `balance` says on a terminal that the day has used. */
async function usedToday(machine: Machine): Promise<number> {
  const { stderr } = await machine.leadpipe('balance', { stderrIsTerminal: true });
  return Number(/Used today: at most (\d+) credits?\./.exec(stderr)?.[1]);
}

describe('the limit of a day', () => {
  const rows = (name: string, count: number): string =>
    Array.from({ length: count }, (_, at) => `${name} ${at + 1}\n`).join('');

  // Its rows are reserved 25 at a time.
  it.each([
    [7, 30],
    [27, 60],
  ])('holds on both days for a list from standard input: row %i is sent at midnight', async (sent, most) => {
    const { gate, open } = createGate(`"who ${sent}"`);
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    writeSettings(machine.env, { 'price.contact.email': 1, max_credits_per_day: most });
    const beforeMidnight = dayMs - (Date.now() % dayMs) - 600_000;
    const midnight = join(temporaryFolder(), 'midnight');
    const line = 'contact email --input - --concurrency 1 -q -o out.jsonl';
    const clock = { ...ahead(beforeMidnight), CLOCK_JUMP_AT: midnight, CLOCK_JUMP_MS: '1200000' };
    const ended = resultOf(machine.start(line, clock, rows('who', 200)));
    await until(() => service.requests() === sent);
    writeFileSync(midnight, '');
    open();
    expect(await ended).toMatchObject({ code: 5 });
    expect(service.charged.size).toBeLessThanOrEqual(sent + most);
    expect(service.charged.size).toBeGreaterThan(most);
    await machine.run(
      'contact email --input - -q -o other.jsonl',
      ahead(beforeMidnight + 1_200_000),
      rows('other', 200),
    );
    expect(service.charged.size).toBe(sent + most);
  });

  it('counts rows that were refused before midnight once', async () => {
    let isBusy = true;
    const { gate, open } = createGate('"who 30"');
    const service = await startRowService({ gate, isBusy: () => isBusy });
    const machine = createMachine(service.url);
    writeSettings(machine.env, { 'price.contact.email': 1, max_credits_per_day: 44 });
    machine.write('list.txt', rows('who', 40));
    machine.write('other.txt', rows('other', 13));
    const beforeMidnight = dayMs - (Date.now() % dayMs) - 600_000;
    const midnight = join(temporaryFolder(), 'midnight');
    const clock = { ...ahead(beforeMidnight), CLOCK_JUMP_AT: midnight, CLOCK_JUMP_MS: '1200000' };
    const ended = resultOf(
      machine.start('contact email --input list.txt --concurrency 1 -q -o out.jsonl', clock),
    );
    await until(() => (service.refusals.get(429) ?? 0) >= 15);
    writeFileSync(midnight, '');
    isBusy = false;
    await until(() => service.charged.size === 29);
    // Nearly all of the 40 rows are sent today.
    const line = 'contact email --input other.txt -q -o other.jsonl --dry-run';
    expect((await machine.run(line, ahead(beforeMidnight + 1_200_000))).code).toBe(5);
    open();
    expect(await ended).toMatchObject({ code: 0 });
  });

  it('counts rows that were written down yesterday on the day on which they are sent', async () => {
    const { gate } = createGate();
    let isHeld = true;
    const service = await startRowService({ gate: (body) => (isHeld ? gate(body) : undefined) });
    const machine = createMachine(service.url);
    writeSettings(machine.env, { 'price.contact.email': 1, max_credits_per_day: 40 });
    machine.write('list.txt', rows('who', 40));
    const line = 'contact email --input list.txt --concurrency 40 -q -o out.jsonl';
    const child = machine.start(line, ahead(0));
    const ended = resultOf(child);
    await until(() => service.requests() === 40);
    child.kill('SIGKILL');
    await ended;
    isHeld = false;
    // Nothing of it was carried out: all of it is sent today.
    expect((await machine.run(line, ahead(dayMs))).code).toBe(0);
    expect(service.charged.size).toBe(40);
    machine.write('other.txt', rows('other', 40));
    const other = await machine.run('contact email --input other.txt -q -o other.jsonl', ahead(dayMs));
    expect({ ...other, charged: service.charged.size }).toMatchObject({ ...ending(5, '40'), charged: 40 });
  });
});

it('--dry-run asks the balance for what the run asks: not for rows that were sent yesterday', async () => {
  const { gate } = createGate();
  const service = await startRowService({ gate, credits: 3 });
  const machine = createMachine(service.url);
  machine.write('list.txt', 'a\nb\nc\nd\n');
  const line = 'contact email --input list.txt -q -o out.jsonl';
  // The balance is not read before the first run: it covers three of the four rows.
  writeSettings(machine.env, { 'price.contact.email': 1 });
  const child = machine.start(line, ahead(0));
  await until(() => service.requests() === 4);
  child.kill('SIGKILL');
  await resultOf(child);
  const tomorrow = await machine.run(`${line} --max-credits 10 --dry-run`, ahead(dayMs));
  expect(tomorrow).toMatchObject({ code: 0 });
});

describe('an answer that is lost, whose repetition is refused,', () => {
  const kinds: [line: string, cost: number][] = [
    ['contact email Ada', 3],
    ['research Ada', 3],
    ['enrich Ada --field city', 3],
    ['search company x --limit 3', 3],
    ['task run company x --limit 3 -o a.jsonl', 3],
  ];
  const statuses: [status: string, type: string, code: number][] = [
    ['402 Payment Required', 'insufficient_credits', 5],
    ['422 Unprocessable Entity', 'invalid_request_error', 2],
  ];
  const price = { 'price.contact.email': 3, 'price.research': 3, 'price.enrich': 3, 'price.task': 1 };

  /** The first paid request is carried out, and its answer is lost; all others are refused. */
  async function refusing(status: string, type: string) {
    let isLost = false;
    const machine = await machineWith((socket, { method }) => {
      if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(0)));
      if (isLost) return void socket.write(errorAnswer(status, type, 'refused'));
      isLost = true;
      socket.destroy();
    });
    writeSettings(machine.env, { ...price, max_credits_per_day: 50 });
    return machine;
  }

  it.each(kinds.flatMap(([line, cost]) => statuses.map((status) => [line, ...status, cost] as const)))(
    'may be charged, and counts: %s, %s',
    async (line, status, type, code, cost) => {
      const machine = await refusing(status, type);
      const failure = toFailure(await machine.run(`${line} --json-errors --summary summary.json`));
      expect(failure).toMatchObject({ code, error: { exit: code, charged: 'maybe' } });
      expect(JSON.parse(machine.read('summary.json'))).toMatchObject({
        charged: 'maybe',
        credits_at_most: cost,
      });
      expect(await machine.history()).toMatchObject([{ charged: 'maybe', credits_at_most: cost }]);
      expect(await usedToday(machine)).toBe(cost);
    },
  );

  it.each(statuses)('may be charged, and counts: a row of a list, %s', async (status, type, code) => {
    const machine = await refusing(status, type);
    machine.write('list.txt', 'Ada\n');
    const line = 'contact email --input list.txt -o out.jsonl --errors errors.csv --summary summary.json';
    expect((await machine.run(line)).code).toBe(code === 5 ? 5 : 3);
    // A list that has no credits stops, and asks for that row again.
    if (code !== 5) expect(machine.read('errors.csv')).toMatch(/,maybe\r\n$/);
    expect(JSON.parse(machine.read('summary.json'))).toMatchObject({ charged: 'maybe', credits_at_most: 3 });
    expect(await machine.history()).toMatchObject([{ charged: 'maybe', credits_at_most: 3 }]);
    expect(await usedToday(machine)).toBe(3);
  });

  const task = 'task run company x --limit 3 --num 3 --poll-interval 0.02 -o a.jsonl';
  const leads = ['{"name":"A"}', '{"name":"B"}', '{"name":"C"}'];

  /** A service with tasks, one for each key. */
  async function creating(createdBy: (nth: number) => 'lost' | 'held' | string | undefined) {
    const keys = new Set<string>();
    let creations = 0;
    const machine = await machineWith((socket, { method, path, headers }) => {
      const at = ['done', leads.length] as const;
      if (path.includes('/status')) return void socket.write(jsonAnswer(taskStatus(...at)));
      if (method === 'GET' && path.includes('balance'))
        return void socket.write(jsonAnswer(creditBalance(0)));
      if (method === 'GET') return void socket.write(page(leads, 0, 3, at, { leads_search_id: 'ls_task' }));
      const does = createdBy(creations++);
      if (does === undefined || does === 'lost' || does === 'held')
        keys.add(headers['idempotency-key'] ?? '');
      if (does === 'lost') return void socket.destroy();
      if (does !== 'held') socket.write(does ?? jsonAnswer({ leads_search_id: 'ls_task' }));
    });
    return { ...machine, keys };
  }

  it.each(statuses)(
    'is a task that the same command resumes with its key: %s',
    async (status, type, code) => {
      const machine = await creating((nth) =>
        nth === 0 ? 'lost' : nth === 1 ? errorAnswer(status, type, 'refused') : undefined,
      );
      expect(await machine.run(task)).toMatchObject({ code });
      expect(await machine.run(task)).toMatchObject({ code: 0 });
      expect([machine.keys.size, await namesIn(machine.pathOf('a.jsonl'))]).toEqual([1, ['A', 'B', 'C']]);
    },
  );

  it('is a task that is created again with its key, though the clock was set back since', async () => {
    const machine = await creating((nth) => (nth === 0 ? 'held' : undefined));
    const child = machine.start(task);
    const ended = resultOf(child);
    await until(() => machine.keys.size === 1);
    child.kill('SIGKILL');
    await ended;
    const { code, stderr } = await machine.run(task, ahead(-5000));
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('24 hours') });
    expect([machine.keys.size, await namesIn(machine.pathOf('a.jsonl'))]).toEqual([1, ['A', 'B', 'C']]);
  });
});

it('the rest of a cut search has each lead once, though the service does not leave out what is known, and says how many came again', async () => {
  const service = await startCountingService(false);
  const machine = createMachine(service.url);
  const line = 'search company ours --limit 20 -o a.jsonl';
  service.scripts.set('ours', { cut: 6 });
  expect((await machine.run(line)).code).toBe(3);
  service.scripts.set('ours', { isForgetful: true });
  const { code, stderr } = await machine.run(line);
  const names = await namesIn(machine.pathOf('a.jsonl'));
  // It asked for 14 more, and 6 of them were there already.
  expect(names.sort()).toEqual(Array.from({ length: 14 }, (_, at) => `ours/${at}`).sort());
  expect([0, 3]).toContain(code);
  expect(stderr).toMatch(/\b6 \w+/);
});

it('a search that ended with fewer leads than its limit has cost the same wherever it is told', async () => {
  const leads = Array.from({ length: 14 }, (_, at) => `{"name":"lead ${at}"}`);
  const found = wholeStream(searchFrames([leads], 'source_finished'));
  const machine = await machineWith((socket, { method }) => {
    if (method === 'GET') socket.write(jsonAnswer(creditBalance(986)));
    else socket.end(found);
  });
  writeSettings(machine.env, { max_credits_per_day: 100 });
  const { stderr } = await machine.run('search company x --limit 40 -o a.csv --summary summary.json');
  const [{ credits_at_most: inHistory } = {}] = await machine.history();
  const [{ credits_at_most: inTotals } = {}] = await machine.history('totals');
  expect({
    closing: Number(/at most (\d+) credits/.exec(stderr)?.[1]),
    summary: JSON.parse(machine.read('summary.json')).credits_at_most,
    inHistory,
    inTotals,
    day: await usedToday(machine),
  }).toEqual({ closing: 14, summary: 14, inHistory: 14, inTotals: 14, day: 14 });
  expect((await machine.leadpipe('search company y --limit 86 --dry-run')).code).toBe(0);
  expect((await machine.leadpipe('search company y --limit 87 --dry-run')).code).toBe(5);
});

describe('what it has cost at most is the same in closing line, history, totals, balance, limit of the day and summary:', () => {
  /** The runs, on a machine with these prices; what the service has charged since; and how often a closing line says the cost. */
  interface Story {
    readonly at: Machine;
    readonly lines: readonly string[];
    readonly codes: readonly number[];
    readonly cost: number;
    /** The credits that the service has charged; undefined where it keeps no books. */
    readonly charged?: () => number;
  }
  const settings = { 'price.contact.email': 5, max_credits_per_day: 1000 };
  const list = 'contact email --input rows.txt -o out.csv';

  async function ledger(line: string, cost: number): Promise<Story> {
    const service = await startLedgerService({});
    const at = createMachine(service.url, ledgerKey);
    return { at, lines: [line], codes: [0], cost, charged: service.spent };
  }

  async function rows(
    options: RowServiceOptions,
    lines: readonly string[],
    codes: readonly number[],
    cost: number,
  ) {
    const service = await startRowService(options);
    const at = createMachine(service.url);
    at.write('rows.txt', 'Ada\nBo\nCy\n');
    return { at, lines, codes, cost, charged: () => 5 * service.charged.size };
  }

  /** Answers purchases with each of these in turn. */
  async function answered(
    line: readonly string[],
    codes: readonly number[],
    cost: number,
    ...answers: (string | Buffer)[]
  ) {
    const at = await machineWith((socket, { method }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(0)));
      else socket.end(answers.shift() ?? '');
    });
    return { at, lines: line, codes, cost };
  }

  const stories: Readonly<Record<string, () => Promise<Story>>> = {
    'a plain search': () => ledger('search company fintech --limit 100 -o a.csv', 40),
    'a search that was cut and resumed': () =>
      answered(
        ['search company x --limit 9 -o a.csv', 'resume'],
        [3, 0],
        9 + 1,
        streamStart(searchFrames([['{"name":"A"}', '{"name":"B"}']]).slice(0, 1)),
        wholeStream(searchFrames([['{"name":"C"}']], 'source_finished')),
      ),
    'an answer that was lost': () => answered(['contact email a'], [8], 5, ''),
    'a refusal': () =>
      answered(['contact email a'], [5], 0, errorAnswer('402 X', 'insufficient_credits', 'refused')),
    'a list with a row that was refused': () => rows({ refused: new Set(['Bo']) }, [list], [3], 10),
    'a list that was resumed under a limit': () =>
      rows({}, [`${list} --max-credits 15 --first 1`, 'resume'], [0, 0], 15),
    'a task': () => ledger('task run company fintech --limit 100 --poll-interval 0.02 -o a.csv', 40),
    'a search of the local service': () => ledger('search company fintech --limit 3 --local', 0),
  };

  it.each(Object.entries(stories))('%s', async (_, begin) => {
    const { at, charged, codes, cost, lines } = await begin();
    writeSettings(at.env, settings);
    const ends: { code: number | null; stderr: string }[] = [];
    for (const line of lines) ends.push(await at.run(`${line} --summary summary.json`));
    expect(ends.map(({ code }) => code)).toEqual(codes);
    const last = ends.at(-1)?.stderr ?? '';
    const closing = /· cost (?:at most (\d+) credits?|nothing)/.exec(last);
    const sum = (records: readonly Record<string, unknown>[]) =>
      records.reduce((all, one) => all + Number(one.credits_at_most), 0);
    const local = lines[0]?.includes('--local') ? ['--local'] : [];
    expect({
      // An error says what it may have cost, and no sum.
      closing: closing === null ? cost : Number(closing[1] ?? 0),
      history: sum(await at.history()),
      totals: sum(await at.history('totals', ...local)),
      summary: JSON.parse(at.read('summary.json')).credits_at_most,
      day: await usedToday(at),
      charged: charged?.() ?? cost,
    }).toEqual({ closing: cost, history: cost, totals: cost, summary: cost, day: cost, charged: cost });
    expect(closing === null).toBe(codes.at(-1) === 8 || codes.at(-1) === 5);
    // Why it ended is the service's word, of tasks too.
    if (lines[0]?.includes('--limit 100'))
      expect(await at.history()).toMatchObject([{ stop_reason: 'source_finished' }]);
  });
});

describe('where the disk of the state is full, leads that have arrived', () => {
  const line = 'search company ours --limit 15 -o a.jsonl';
  it.each([
    // When 9 leads have come: their search is cut, the disk of the output is full too, or it goes on.
    ['before they come, and the search is cut', 'before', 'cut'],
    ['when they are there, and the search is cut', 'behind', 'cut'],
    ['before they come, and that of the output later', 'before', 'full'],
    ['when they are there, and that of the output too', 'behind', 'full'],
    ['before they come, and nothing else happens', 'before', 'whole'],
    ['when they are there, and nothing else happens', 'behind', 'whole'],
  ])('are not lost, and no more is promised than is true: %s', async (_, when, then) => {
    const service = await startCountingService(false);
    const machine = createMachine(service.url);
    service.scripts.set('ours', { ...(then === 'cut' ? { cut: 9 } : { paused: 9 }) });
    const [state, output] = [join(temporaryFolder(), 'state'), join(temporaryFolder(), 'output')];
    const inParts = (): string[] =>
      [...partsOf(machine, 'a.jsonl').values()].flatMap((text) => text.match(/ours\/\d+/g) ?? []);
    if (when === 'before') service.onPurchase = () => writeFileSync(state, '');
    let [isOver, seen] = [false, 0];
    service.onPause = async () => {
      await until(() => {
        seen = inParts().length;
        return seen === 9 || isOver;
      });
      writeFileSync(state, '');
      if (then === 'full') writeFileSync(output, '');
    };
    const disks = [
      { of: machine.state, after: state },
      { of: machine.cwd, after: output },
    ];
    const { code, stderr } = await machine.run(line, faultyWith({ mode: 'full', disks }));
    isOver = true;
    service.onPurchase = () => {};
    service.scripts.clear();
    const first = await namesIn(machine.pathOf('a.jsonl'));
    if (code === 0) return expect([then, first.length]).toEqual(['whole', 15]);
    expect([3, 74]).toContain(code);
    const { stdout } = await machine.run('history show -f jsonl');
    const kept = new Set([...first, ...inParts(), ...(stdout.match(/ours\/\d+/g) ?? [])]);
    expect(kept.size).toBeGreaterThanOrEqual(Math.max(1, seen));
    const before = service.purchases.length;
    expect((await machine.run(line)).code).toBe(0);
    const names = await namesIn(machine.pathOf('a.jsonl'));
    expect([new Set(names).size, names.length]).toEqual([15, 15]);
    const bought = service.purchases.slice(before).flatMap((one) => one.leads).length;
    // What was kept is not bought again, or it was said that it is.
    const isSaid =
      /again/.test(stderr) && !/(?:buy the rest:|not (?:be )?(?:bought|charged) again)/.test(stderr);
    expect({ stderr, bought }).toEqual({ stderr, bought: isSaid ? bought : 15 - kept.size });
  });
});
