import { beforeAll, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import { startCutting } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import { startTaskServer } from '../helpers/task-server.ts';

describe('history totals', () => {
  let service: LedgerService;
  let env: Record<string, string>;
  beforeAll(async () => {
    service = await startLedgerService({});
    env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(service.url, ledgerKey) };
    await run('config set price.contact.email 5', { env });
    const bought = [
      ['search', 'company', 'fintech', '--limit', '7'],
      ['search', 'company', 'fintech', '--limit', '3'],
      ['contact', 'email', 'CTO of Nordlicht Pay', '--max-credits', '5'],
      ['research', 'fintech in Berlin'],
    ];
    for (const args of bought) expect((await run([...args, '-q'], { env })).code).toBe(0);
    // It costs nothing, and is counted as that.
    expect(
      (await run('contact email x -q', { env: { ...env, LEADPIPE_API_KEY: 'lp_local_broke' } })).code,
    ).toBe(5);
  });

  it('by command, as an object each', async () => {
    const { code, stderr, records } = await historyOf(env, 'totals', '--by', 'command');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const none = { leads: 0, charged: 0, maybe_charged: 0, credits_at_most: 0, unpriced: 0, unsettled: 0 };
    expect(records).toEqual([
      { command: 'search company', ...none, purchases: 2, leads: 10, charged: 2, credits_at_most: 10 },
      { command: 'contact email', ...none, purchases: 2, charged: 1, credits_at_most: 5 },
      { command: 'research', ...none, purchases: 1, charged: 1, credits_at_most: null, unpriced: 1 },
    ]);
    expect(service.spent()).toBe(10 + 5 + 20);
  });

  it('by day unless it is said otherwise, with the same columns in CSV', async () => {
    const { stdout } = await run('history totals -f csv', { env });
    const [header, ...rows] = stdout.trimEnd().split('\r\n');
    expect(header).toBe('day,purchases,leads,charged,maybe_charged,credits_at_most,unpriced,unsettled');
    expect(rows.every((row) => /^\d{4}-\d\d-\d\d,/.test(row))).toBe(true);
  });

  it('by profile, and by list: what is no search is on none', async () => {
    const { records } = await historyOf(env, 'totals', '--by', 'profile');
    expect(records).toMatchObject([{ profile: 'default', purchases: 5, credits_at_most: 15 }]);
    expect((await historyOf(env, 'totals', '--by', 'list')).records).toMatchObject([
      { list: 'company', purchases: 2, credits_at_most: 10 },
      { list: null, purchases: 3, credits_at_most: 5 },
    ]);
  });

  it('has bars on a terminal, as long as the credits', async () => {
    const { stdout } = await runInProcess('history totals --by command', {
      env,
      stdoutIsTerminal: true,
      columns: 120,
    });
    const bars = stdout
      .trimEnd()
      .split('\n')
      .slice(2)
      .map((line) => line.replace(/[^█]/g, '').length);
    expect(bars).toEqual([12, 6, 0]);
    expect(stdout).toMatch(/^research .* unknown/m);
  });

  it('is of purchases where no price is known', async () => {
    const bare = { ...bareEnvironment(temporaryFolder()), ...pointedAt(service.url, ledgerKey) };
    for (let each = 0; each < 2; each++) await run('research "fintech in Berlin"', { env: bare });
    const { stdout } = await runInProcess('history totals', {
      env: bare,
      stdoutIsTerminal: true,
      columns: 120,
    });
    expect(stdout).toContain('█'.repeat(12));
  });

  it('says that there is nothing, and what it can add up by', async () => {
    const bare = bareEnvironment(temporaryFolder());
    expect(await run('history totals', { env: bare })).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No purchases recorded on this machine yet.\n',
    });
    expect(await run('history totals --by week', { env: bare })).toMatchObject(
      ending(2, 'day, command, list, profile'),
    );
  });
});

describe('what was bought with --local', () => {
  const env = bareEnvironment(temporaryFolder());
  const plain = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '');
  const shown = (args: readonly string[], columns: number) =>
    runInProcess(args, { env, stdoutIsTerminal: true, columns });
  beforeAll(async () => {
    await run('search company fintech --limit 3 --local -q', { env });
  });

  it('is free in the history of a terminal, at any width', async () => {
    const piped = await run('history', { env });
    expect(JSON.parse(piped.stdout)).toMatchObject({ service: 'local', charged: 'no', credits_at_most: 0 });
    const members = Object.keys(JSON.parse(piped.stdout));
    expect(members.at(-1)).toBe('stop_reason');
    const csv = await run('history -f csv', { env });
    expect(csv.stdout.split('\r\n')[0]).toBe(members.join(','));
    for (const columns of [60, 120]) {
      const { stdout } = await shown(['history'], columns);
      expect(plain(stdout)).toContain('free');
      expect(plain(stdout)).not.toContain('≤');
    }
    const narrow = plain((await shown(['history'], 79)).stdout);
    expect(narrow).toMatch(/^\d\d-\d\d \d\d:\d\d {2}search company: fint.* complete +free /m);
  });

  it('is in the totals only where it is asked for', async () => {
    const spent = await run('history totals', { env });
    expect([spent.code, spent.stdout]).toEqual([0, '']);
    expect(spent.stderr).toBe(
      '1 purchase with --local is left out, because --local costs nothing. To include them, add --local.\n',
    );
    const { stdout, stderr } = await run('history totals --local --by command', { env });
    expect(JSON.parse(stdout)).toMatchObject({ purchases: 1, leads: 3, credits_at_most: 0 });
    expect(stderr).toBe('');
  });

  it('shows people the balance where it was asked for', async () => {
    expect((await shown(['history'], 120)).stdout).not.toContain('balance');
    await run('search company fintech --limit 3 --local -q --max-credits 3', { env });
    expect((await shown(['history'], 120)).stdout).toContain('99997 → 99994');
  });
});

describe('after a search that was cut', () => {
  it('totals say how much of the credits is only a bound', async () => {
    const cutting = await startCutting();
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(cutting.url) };
    expect((await runInProcess('search company x --limit 9', { env })).code).toBe(3);
    await cutting.close();
    const { stderr, stdout } = await runInProcess('history totals -f jsonl', { env });
    expect(JSON.parse(stdout)).toMatchObject({ leads: 2, charged: 1, credits_at_most: 9, unsettled: 9 });
    expect(stderr).toContain('9 credits of this are only a bound');
  });

  it('and of a task that runs, it is not known yet what is charged', async () => {
    const tasks = await startTaskServer({ steps: [['running', 2]] });
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(tasks.url) };
    expect((await runInProcess('task create company x --limit 9', { env })).code).toBe(0);
    await tasks.close();
    const totals = await runInProcess('history totals -f jsonl', { env });
    expect(JSON.parse(totals.stdout)).toMatchObject({ charged: 0, credits_at_most: 9, unsettled: 9 });
    expect(JSON.parse((await runInProcess('history -f jsonl', { env })).stdout).charged).toBe(null);
    const { stdout } = await runInProcess('history', { env, stdoutIsTerminal: true, columns: 200 });
    expect(stdout).toContain('not known yet');
  });
});
