import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { faultyWith } from '../durability/faulty-run.ts';
import { machineClock } from '../helpers/clock.ts';
import { ending } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { cutting } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { startRowService } from '../helpers/row-service.ts';
import { writeSettings } from '../helpers/settings.ts';
import { startTaskServer, taskId } from '../helpers/task-server.ts';

const plain = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '');
/** The output on a terminal with this number of columns. */
const shown = async (at: Machine, line: string, columns: number): Promise<string> =>
  plain((await at.leadpipe(line, { stdoutIsTerminal: true, columns })).stdout);

describe('history totals', () => {
  let service: LedgerService;
  let at: Machine;
  beforeAll(async () => {
    service = await startLedgerService({});
    at = createMachine(service.url, ledgerKey);
    await at.run('config set price.contact.email 5');
    for (const line of [
      'search company fintech --limit 7',
      'search company fintech --limit 3 --list berlin',
      'contact email "CTO of Nordlicht Pay" --max-credits 5',
      'research "fintech in Berlin"',
    ]) {
      expect((await at.run(`${line} -q`)).code).toBe(0);
    }
    // It costs nothing, and is not counted.
    const broke = { LEADPIPE_API_KEY: 'lp_local_broke' };
    expect((await at.run('contact email x -q', broke)).code).toBe(5);
  });

  it('by command, as an object each', async () => {
    const { stdout, ...end } = await at.leadpipe('history totals --by command');
    expect(end).toEqual({ code: 0, stderr: '' });
    const none = { leads: 0, found: 0, not_found: 0, unpriced: 0, unsettled: 0, balance_fell: null };
    expect(recordsIn(stdout)).toEqual([
      { command: 'search company', ...none, purchases: 2, leads: 10, credits_at_most: 10 },
      { command: 'contact email', ...none, purchases: 1, found: 1, credits_at_most: 5, balance_fell: 5 },
      { command: 'research', ...none, purchases: 1, found: 1, credits_at_most: null, unpriced: 1 },
    ]);
    expect(service.spent()).toBe(10 + 5 + 20);
  });

  it('adds up by day by default, with the same columns in CSV', async () => {
    const { stdout } = await at.run('history totals -f csv');
    const [header, ...rows] = stdout.trimEnd().split('\r\n');
    expect(header).toBe(
      'day,purchases,leads,found,not_found,credits_at_most,unpriced,unsettled,balance_fell',
    );
    expect(rows.every((row) => /^\d{4}-\d\d-\d\d,/.test(row))).toBe(true);
  });

  it('shows people the balance where it was asked for', async () => {
    expect(await shown(at, 'history', 140)).toContain('99999990 → 99999985');
    expect(await shown(at, 'history --command search', 120)).not.toContain('balance');
  });

  it('by profile, and by list: a plain search is on none', async () => {
    const ofAll = { profile: 'default', purchases: 4, credits_at_most: 15 };
    expect(await at.history('totals', '--by', 'profile')).toMatchObject([ofAll]);
    expect(await at.history('totals', '--by', 'list')).toMatchObject([
      { list: null, purchases: 3, credits_at_most: 12 },
      { list: 'berlin', purchases: 1, credits_at_most: 3 },
    ]);
  });

  it('has bars on a terminal, as long as the credits', async () => {
    const text = await shown(at, 'history totals --by command', 120);
    const rows = text.trimEnd().split('\n').slice(2);
    expect(rows.map((line) => line.replace(/[^█]/g, '').length)).toEqual([12, 6, 0]);
    expect(text).toMatch(/^research .* unknown/m);
  });

  it('compares purchases if no price is known', async () => {
    const bare = createMachine(service.url, ledgerKey);
    for (const _ of [1, 2]) await bare.run('research "fintech in Berlin"');
    await bare.run('contact email "CTO of Nordlicht Pay"');
    const text = await shown(bare, 'history totals --by command', 120);
    expect(text).toMatch(/^research +2 .* unknown +█{12}$/m);
    expect(text).toMatch(/^contact email +1 .* unknown +█{6}$/m);
    // One bar compares nothing.
    expect(await shown(bare, 'history totals', 120)).not.toContain('█');
  });

  it('says that there are no purchases, and lists the values of --by', async () => {
    const bare = createMachine();
    const nothing = {
      code: 0,
      stdout: '',
      stderr: 'No purchases recorded on this machine yet. Those with --no-history are not listed.\n',
    };
    expect(await bare.run('history totals')).toEqual(nothing);
    const wrong = await bare.run('history totals --by week');
    expect(wrong).toMatchObject(ending(2, 'day, month, command, list, profile'));
  });
});

describe('purchases with --local', () => {
  const at = createMachine();
  const search = 'search company fintech --limit 3 --local -q';
  beforeAll(async () => {
    await at.run(search);
  });

  it('are free in the history on a terminal, at any width', async () => {
    const [record = {}] = recordsIn((await at.run('history')).stdout);
    expect(record).toMatchObject({ service: 'local', charged: 'no', credits_at_most: 0 });
    const members = Object.keys(record);
    expect(members.at(-1)).toBe('not_found');
    expect((await at.run('history -f csv')).stdout.split('\r\n')[0]).toBe(members.join(','));
    for (const columns of [60, 120]) {
      const text = await shown(at, 'history', columns);
      expect(text).toContain('free');
      expect(text).not.toContain('≤');
    }
    expect(await shown(at, 'history', 79)).toMatch(
      /^\d\d-\d\d \d\d:\d\d {2}search company: +complete +\d+ +free /m,
    );
  });

  it('are in the totals only if requested', async () => {
    expect(await at.run('history totals')).toEqual({
      code: 0,
      stdout: '',
      stderr:
        '1 purchase with --local is left out, because --local costs nothing. To add up only it: leadpipe history totals --local\n',
    });
    const { stdout, stderr } = await at.run('history totals --local --by command');
    expect(JSON.parse(stdout)).toMatchObject({ purchases: 1, leads: 3, credits_at_most: 0 });
    expect(stderr).toBe('');
  });
});

describe('purchases whose records were removed', () => {
  const dayMs = 86_400_000;
  const daysAgo = (days: number) => ({
    context: { clock: { ...machineClock, now: () => new Date(Date.now() - days * dayMs) } },
  });
  const totals = async (there: Machine, line = '--by command') => {
    const { stdout } = await there.leadpipe(`history totals ${line} -f jsonl`);
    return recordsIn(stdout);
  };

  it('count for 400 days, by month, list and profile too; the request itself is removed', async () => {
    const service = await startRowService({});
    const there = createMachine(service.url);
    writeSettings(there.env, { 'price.contact.email': 2 });
    there.write('rows.csv', 'objective\nsecret a\nsecret b\n');
    for (const [days, line] of [
      [70, 'contact email "secret c"'],
      [40, 'contact email --input rows.csv -o out.csv'],
      [40, 'search company fintech --limit 2 --local'],
      [2, 'contact email "secret d"'],
    ] as const) {
      expect(await there.leadpipe(line, daysAgo(days))).toMatchObject({ code: 0 });
    }
    const by = [
      '--by command',
      '--by month',
      '--by list',
      '--by profile',
      '--since 50d',
      '--since today',
      '--local',
    ];
    const all = () => Promise.all(by.map((line) => totals(there, line)));
    const before = await all();
    expect(before[0]).toMatchObject([
      { command: 'contact email', purchases: 3, leads: 0, found: 4, credits_at_most: 8 },
    ]);
    const months = before[1]?.map(({ month }) => month);
    expect(months).toEqual([
      ...new Set([70, 40, 2].map((days) => daysAgo(days).context.clock.now().toJSON().slice(0, 7))),
    ]);
    expect(before[4]).toMatchObject([
      { purchases: 1, credits_at_most: 4 },
      { purchases: 1, credits_at_most: 2 },
    ]);
    expect((await there.leadpipe('history prune')).code).toBe(0);
    expect(await there.history()).toHaveLength(1);
    expect(await all()).toEqual(before);
    const past = join(there.state, 'past', 'purchases.jsonl');
    expect(readFileSync(past, 'utf8')).not.toMatch(/secret|rows\.csv|fintech/);
    expect(statSync(past).mode & 0o777).toBe(0o600);

    // The index is made again from the journals, and has nothing to do with these.
    writeFileSync(join(there.state, 'index', 'operations.jsonl'), 'damaged');
    expect(await all()).toEqual(before);

    // A line that can't be read hides no other.
    const [first = '', ...others] = readFileSync(past, 'utf8').split('\n');
    writeFileSync(past, [first.replace('contact', 'research'), ...others].join('\n'));
    const damaged = await there.leadpipe('history totals --by command');
    expect(JSON.parse(damaged.stdout)).toMatchObject({ purchases: 2, credits_at_most: 6 });
    expect(damaged.stderr).toContain(`1 line of ${past} can't be read, and is not counted`);

    // What is older than 400 days is forgotten: here the list of 40 days ago, 361 days later.
    expect((await there.leadpipe('history prune', daysAgo(-361))).code).toBe(0);
    expect(await totals(there)).toMatchObject([{ purchases: 1, credits_at_most: 2 }]);
    expect(await there.leadpipe('history totals --since 1h')).toMatchObject(
      ending(0, 'No purchases since then.'),
    );
  });

  it('are kept when the same number of others is removed at the same time', async () => {
    const service = await startRowService({});
    const there = createMachine(service.url);
    expect(await there.leadpipe('contact email a', daysAgo(410))).toMatchObject({ code: 0 });
    expect(await there.leadpipe('history prune', daysAgo(370))).toMatchObject({ code: 0 });
    expect(await there.leadpipe('contact phone b', daysAgo(40))).toMatchObject({ code: 0 });
    expect(await there.leadpipe('history prune')).toMatchObject({ code: 0 });
    expect(await there.history()).toEqual([]);
    expect(await totals(there)).toMatchObject([{ command: 'contact phone', purchases: 1 }]);
  });

  it('count once, also if a run was killed before it removed their records', async () => {
    const service = await startRowService({});
    const there = createMachine(service.url);
    const [operations, saved] = ['operations', 'saved'].map((name) => join(there.state, name)) as [
      string,
      string,
    ];
    expect(await there.leadpipe('contact email a', daysAgo(40))).toMatchObject({ code: 0 });
    cpSync(operations, saved, { recursive: true });
    for (const records of [0, 1, 0]) {
      if (records === 1) cpSync(saved, operations, { recursive: true });
      else expect(await there.leadpipe('history prune')).toMatchObject({ code: 0 });
      expect(await there.history()).toHaveLength(records);
      expect(await totals(there)).toMatchObject([{ command: 'contact email', purchases: 1 }]);
    }
  });

  it('are not removed because the clock was ahead once', async () => {
    const service = await startRowService({});
    const there = createMachine(service.url);
    for (const [days, line] of [
      [80, 'contact email a'],
      [70, 'contact email b'],
      [0, 'history prune'],
      [-500, 'contact phone c'],
    ] as const) {
      expect(await there.leadpipe(line, daysAgo(days))).toMatchObject({ code: 0 });
    }
    expect(await totals(there)).toMatchObject([
      { command: 'contact email', purchases: 2 },
      { command: 'contact phone', purchases: 1 },
    ]);
  });

  it('keep their records if their costs can not be stored', async () => {
    const service = await startRowService({});
    const there = createMachine(service.url);
    expect((await there.leadpipe('contact email a', daysAgo(40))).code).toBe(0);
    writeFileSync(join(there.state, 'past'), '');
    expect((await there.leadpipe('history prune')).code).toBe(74);
    expect(await there.history()).toHaveLength(1);
  });
});

it('on a terminal, purchases without a list have a label', async () => {
  const service = await startRowService({});
  const there = createMachine(service.url);
  expect((await there.leadpipe('contact email a')).code).toBe(0);
  for (const columns of [50, 120])
    expect(await shown(there, 'history totals --by list', columns)).toContain('no list');
});

describe('unsettled credits', () => {
  it('of a cut search: totals say how many credits may be less', async () => {
    const at = await machineWith(cutting);
    expect((await at.leadpipe('search company x --limit 9')).code).toBe(3);
    const { stderr, stdout } = await at.leadpipe('history totals');
    expect(JSON.parse(stdout)).toMatchObject({ leads: 2, credits_at_most: 9, unsettled: 9 });
    expect(stderr).toContain('9 of these credits are for unfinished purchases and may be less.');
  });

  // The service settles a task when it ends: in error, too, and whoever reads it.
  it.each([
    ['error', 'task run company x --limit 50 -o a.jsonl --poll-interval 0.01 --summary s.json', '', 3],
    ['done', 'task create company x --limit 50', `task wait ${taskId} --poll-interval 0.01 -o a.jsonl`, 0],
    ['error', 'task create company x --limit 50', `task wait ${taskId} --poll-interval 0.01 -o a.jsonl`, 3],
  ])('of a task that has ended (%s; %s; %s)', async (state, buy, wait, code) => {
    const at = await startTaskServer({ steps: [[state, 4]] });
    writeSettings(at.env, { max_credits_per_day: 60 });
    expect((await at.leadpipe(buy)).code).toBe(wait === '' ? code : 0);
    if (wait !== '') {
      expect(await at.history()).toMatchObject([{ credits_at_most: 50 }]);
      expect((await at.leadpipe(wait)).code).toBe(code);
      expect((await at.leadpipe(wait)).code).toBe(code);
    } else {
      expect(JSON.parse(at.read('s.json'))).toMatchObject({ credits_at_most: 4, leads_search_id: taskId });
    }
    expect(await at.history()).toMatchObject([{ credits_at_most: 4, charged: 'yes', leads: 4 }]);
    const total = { purchases: 1, leads: 4, credits_at_most: 4, unsettled: 0 };
    expect(await at.history('totals')).toMatchObject([total]);
    // The day's limit counts what it has cost, also when the index is made anew.
    for (const _ of [1, 2]) {
      expect((await at.leadpipe('search company y --limit 57 --dry-run')).stderr).toContain('56 are left');
      rmSync(join(at.state, 'index'), { recursive: true, force: true });
    }
  });

  it.each([6, 7])('of a task whose reading was killed at its end (%i), and resumed', async (nth) => {
    const at = await startTaskServer({ steps: [['done', 4]] });
    await at.leadpipe('task create company x --limit 50');
    // The output is in place; before what it has cost, or its last entry, is written down.
    const dying = faultyWith({ mode: 'kill', on: 'journal.jsonl', at: nth });
    await at.run(`task wait ${taskId} --poll-interval 0.01 -o a.jsonl`, dying);
    expect(at.read('a.jsonl').trim().split('\n')).toHaveLength(4);
    expect(await at.run('resume --yes')).toMatchObject({ code: 0 });
    expect(await at.history('totals')).toMatchObject([{ credits_at_most: 4, unsettled: 0 }]);
  });

  it('of a task that runs: it is not known yet what is charged', async () => {
    const at = await startTaskServer({ steps: [['running', 2]] });
    expect((await at.leadpipe('task create company x --limit 9')).code).toBe(0);
    const totals = { credits_at_most: 9, unsettled: 9 };
    expect(await at.history('totals')).toMatchObject([totals]);
    expect(await at.history()).toMatchObject([{ charged: null }]);
    expect(await shown(at, 'history', 200)).toContain('not known yet');
  });
});
