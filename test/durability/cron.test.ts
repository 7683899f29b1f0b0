import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine } from '../helpers/machine.ts';
import { resultOfSignalled } from '../helpers/signalled.ts';
import { readOperations } from '../helpers/stored.ts';
import { runWith } from './faulty-run.ts';

/** Five mornings of an unattended cron job: complete, killed, full disk, service down, complete again. */

interface Job {
  readonly name: string;
  readonly args: readonly string[];
  readonly file: string;
  /** A fault of the second purchase, so that it can be killed in the middle. */
  readonly faults: readonly object[];
  /** Where its rows are while it runs. */
  readonly rows: string;
  readonly says: RegExp;
}

const limit = 20;
const wanted = ['company', 'fintech', '--limit', String(limit), '-q'];
const stall = [{ operation: 'search', skip: 1, count: 1, fault: 'stall', after_batches: 1 }];
const jobs: readonly Job[] = [
  {
    name: 'search -o',
    args: ['search', ...wanted, '-o', 'daily.csv'],
    file: 'daily.csv',
    faults: stall,
    rows: 'daily.csv.part',
    says: /Resuming op_\w+ \(the same search, unfinished since .*Buying up to 10 more, for at most 10 credits/,
  },
  {
    name: 'search --append --only-new',
    args: ['search', ...wanted, '--append', '--only-new', '-o', 'all.jsonl'],
    file: 'all.jsonl',
    faults: stall,
    rows: 'all.jsonl.part',
    says: /Resuming op_\w+ \(the same search, .*Buying up to 10 more/,
  },
  {
    name: 'task run -o',
    args: ['task', 'run', ...wanted, '--num', '10', '--poll-interval', '0.05', '-o', 'daily.jsonl'],
    file: 'daily.jsonl',
    // Its second page never comes.
    faults: [{ operation: 'fetch', skip: 3, count: 1, fault: 'stall' }],
    rows: 'daily.jsonl.part',
    says: /Resuming op_\w+ \(the same task, .*You are not charged again/,
  },
];

const namesIn = (text: string): string[] => text.match(/Kontora \d+(?=["\s,]*[",])/g) ?? [];

it.each(jobs)('$name', async ({ args, faults, file, rows, says }) => {
  const switches = { batch_pause_ms: 0, batch_size: 10 };
  const first = await startLedgerService(switches, faults);
  const { url, stateDir } = first;
  const machine = createMachine(url, ledgerKey);
  const { env } = machine;
  for (const [name, value] of [
    ['retry.attempts', '0'],
    ['poll.interval', '0.05'],
  ] as const) {
    await runInProcess(['config', 'set', name, value], { env });
  }
  const textOf = (): string => machine.read(file);
  expect(await machine.run(args)).toMatchObject({ code: 0 });
  const whole = textOf();

  // The first byte only tries whether there is room.
  const size = () => statSync(machine.pathOf(rows), { throwIfNoEntry: false })?.size ?? 0;
  await resultOfSignalled(machine.start(args), 'SIGKILL', () => size() > 1);
  // Rows of other days keep their bytes.
  expect(textOf()).toBe(whole);

  expect(await runWith({ mode: 'ENOSPC', at: 1 }, machine, args)).toMatchObject({ code: 74 });

  await first.close();
  const patience = args[0] === 'task' ? ['--wait-timeout', '1'] : [];
  expect(await machine.run([...args, ...patience])).toMatchObject({ code: 75 });
  expect(textOf()).toBe(whole);
  const service = await startLedgerService(switches, [], { port: Number(new URL(url).port), stateDir });

  const last = await machine.run(args.filter((word) => word !== '-q'));
  expect(last).toMatchObject({ code: 0, stderr: expect.stringMatching(says) });
  const names = namesIn(textOf());
  expect(new Set(names).size).toBe(names.length);
  if (args.includes('--append')) expect(names).toHaveLength(2 * limit);
  else expect(textOf()).toBe(whole);
  expect(machine.files()).toEqual([file]);

  // Every lead of every morning was paid for once.
  await service.quiet();
  expect(service.spent()).toBe(2 * limit);
  expect((await readOperations(machine.state)).operations.length).toBeGreaterThan(1);
  const left = await runInProcess(['resume'], { env });
  expect(left.stderr).toBe('There is nothing to resume.\n');
});
