import { beforeAll, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { cutting } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { startTaskServer } from '../helpers/task-server.ts';

const plain = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '');
/** What a terminal of so many columns shows. */
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
      'search company fintech --limit 3',
      'contact email "CTO of Nordlicht Pay" --max-credits 5',
      'research "fintech in Berlin"',
    ]) {
      expect((await at.run(`${line} -q`)).code).toBe(0);
    }
    // It costs nothing, and is counted as that.
    const broke = { LEADPIPE_API_KEY: 'lp_local_broke' };
    expect((await at.run('contact email x -q', broke)).code).toBe(5);
  });

  it('by command, as an object each', async () => {
    const { stdout, ...end } = await at.leadpipe('history totals --by command');
    expect(end).toEqual({ code: 0, stderr: '' });
    const none = { leads: 0, charged: 0, maybe_charged: 0, credits_at_most: 0, unpriced: 0, unsettled: 0 };
    expect(recordsIn(stdout)).toEqual([
      { command: 'search company', ...none, purchases: 2, leads: 10, charged: 2, credits_at_most: 10 },
      { command: 'contact email', ...none, purchases: 2, charged: 1, credits_at_most: 5 },
      { command: 'research', ...none, purchases: 1, charged: 1, credits_at_most: null, unpriced: 1 },
    ]);
    expect(service.spent()).toBe(10 + 5 + 20);
  });

  it('by day unless it is said otherwise, with the same columns in CSV', async () => {
    const { stdout } = await at.run('history totals -f csv');
    const [header, ...rows] = stdout.trimEnd().split('\r\n');
    expect(header).toBe('day,purchases,leads,charged,maybe_charged,credits_at_most,unpriced,unsettled');
    expect(rows.every((row) => /^\d{4}-\d\d-\d\d,/.test(row))).toBe(true);
  });

  it('by profile, and by list: what is no search is on none', async () => {
    const ofAll = { profile: 'default', purchases: 5, credits_at_most: 15 };
    expect(await at.history('totals', '--by', 'profile')).toMatchObject([ofAll]);
    expect(await at.history('totals', '--by', 'list')).toMatchObject([
      { list: 'company', purchases: 2, credits_at_most: 10 },
      { list: null, purchases: 3, credits_at_most: 5 },
    ]);
  });

  it('has bars on a terminal, as long as the credits', async () => {
    const text = await shown(at, 'history totals --by command', 120);
    const rows = text.trimEnd().split('\n').slice(2);
    expect(rows.map((line) => line.replace(/[^█]/g, '').length)).toEqual([12, 6, 0]);
    expect(text).toMatch(/^research .* unknown/m);
  });

  it('is of purchases where no price is known', async () => {
    const bare = createMachine(service.url, ledgerKey);
    for (const _ of [1, 2]) await bare.run('research "fintech in Berlin"');
    expect(await shown(bare, 'history totals', 120)).toContain('█'.repeat(12));
  });

  it('says that there is nothing, and what it can add up by', async () => {
    const bare = createMachine();
    const nothing = { code: 0, stdout: '', stderr: 'No purchases recorded on this machine yet.\n' };
    expect(await bare.run('history totals')).toEqual(nothing);
    const wrong = await bare.run('history totals --by week');
    expect(wrong).toMatchObject(ending(2, 'day, command, list, profile'));
  });
});

describe('what was bought with --local', () => {
  const at = createMachine();
  const search = 'search company fintech --limit 3 --local -q';
  beforeAll(async () => {
    await at.run(search);
  });

  it('is free in the history of a terminal, at any width', async () => {
    const [record = {}] = recordsIn((await at.run('history')).stdout);
    expect(record).toMatchObject({ service: 'local', charged: 'no', credits_at_most: 0 });
    const members = Object.keys(record);
    expect(members.at(-1)).toBe('stop_reason');
    expect((await at.run('history -f csv')).stdout.split('\r\n')[0]).toBe(members.join(','));
    for (const columns of [60, 120]) {
      const text = await shown(at, 'history', columns);
      expect(text).toContain('free');
      expect(text).not.toContain('≤');
    }
    expect(await shown(at, 'history', 79)).toMatch(
      /^\d\d-\d\d \d\d:\d\d {2}search: fintech.* complete +\d+ +free /m,
    );
  });

  it('is in the totals only where it is asked for', async () => {
    expect(await at.run('history totals')).toEqual({
      code: 0,
      stdout: '',
      stderr:
        '1 purchase with --local is left out, because --local costs nothing. To include them, add --local.\n',
    });
    const { stdout, stderr } = await at.run('history totals --local --by command');
    expect(JSON.parse(stdout)).toMatchObject({ purchases: 1, leads: 3, credits_at_most: 0 });
    expect(stderr).toBe('');
  });

  it('shows people the balance where it was asked for', async () => {
    expect(await shown(at, 'history', 120)).not.toContain('balance');
    await at.run(`${search} --max-credits 3`);
    expect(await shown(at, 'history', 120)).toContain('99997 → 99994');
  });
});

describe('what is not settled', () => {
  it('of a search that was cut: totals say how many of the credits may be less', async () => {
    const at = await machineWith(cutting);
    expect((await at.leadpipe('search company x --limit 9')).code).toBe(3);
    const { stderr, stdout } = await at.leadpipe('history totals');
    expect(JSON.parse(stdout)).toMatchObject({ leads: 2, charged: 1, credits_at_most: 9, unsettled: 9 });
    expect(stderr).toContain('9 of these credits are for unfinished purchases and may be less.');
  });

  it('of a task that runs: it is not known yet what is charged', async () => {
    const at = await startTaskServer({ steps: [['running', 2]] });
    expect((await at.leadpipe('task create company x --limit 9')).code).toBe(0);
    const totals = { charged: 0, credits_at_most: 9, unsettled: 9 };
    expect(await at.history('totals')).toMatchObject([totals]);
    expect(await at.history()).toMatchObject([{ charged: null }]);
    expect(await shown(at, 'history', 200)).toContain('not known yet');
  });
});
