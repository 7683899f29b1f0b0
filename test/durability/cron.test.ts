import { statSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine } from '../helpers/machine.ts';
import { readOperations } from '../helpers/stored.ts';
import { runWith } from './faulty-run.ts';

/** Five mornings of a cron job that nobody looks after: whole, killed, no room on the disk, service away, whole again. */

let close: (() => Promise<unknown>) | undefined;
afterEach(() => close?.());

/** A way to the service that can be gone for a while, and is then at the same address. */
async function openGate(to: string): Promise<{ url: string; shut(): Promise<void>; open(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let server: Server;
  const listen = (port: number) =>
    new Promise<number>((resolve) => {
      server = createServer((socket) => {
        const onward = connect(Number(new URL(to).port), '127.0.0.1');
        for (const one of [socket, onward]) {
          sockets.add(one);
          one.on('error', () => {}).on('close', () => [socket, onward].map((both) => both.destroy()));
        }
        socket.pipe(onward).pipe(socket);
      }).listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    shut: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
    open: async () => void (await listen(port)),
  };
}

interface Job {
  readonly name: string;
  readonly args: readonly string[];
  readonly file: string;
  /** What happens to the second purchase, so that there is a middle to be killed in. */
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

it.each(jobs)(
  '$name',
  async ({ args, faults, file, rows, says }) => {
    const service: LedgerService = await startLedgerService({ batch_pause_ms: 0, batch_size: 10 }, faults);
    const gate = await openGate(service.url);
    close = async () => {
      await gate.shut();
    };
    const machine = createMachine(gate.url, ledgerKey);
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

    const killed = machine.start(args);
    const size = () => statSync(machine.pathOf(rows), { throwIfNoEntry: false })?.size ?? 0;
    await expect.poll(size, { timeout: 15_000, interval: 10 }).toBeGreaterThan(0);
    killed.kill('SIGKILL');
    await new Promise((resolve) => killed.once('close', resolve));
    // Rows of other days keep their bytes.
    expect(textOf()).toBe(whole);

    const full = await runWith({ mode: 'ENOSPC', at: 1 }, machine, args);
    expect(full).toMatchObject({ code: 74 });

    await gate.shut();
    const away = await machine.run([...args, ...(args[0] === 'task' ? ['--wait-timeout', '1'] : [])]);
    expect(away).toMatchObject({ code: 75 });
    expect(textOf()).toBe(whole);
    await gate.open();

    const last = await machine.run(args.filter((word) => word !== '-q'));
    expect(last).toMatchObject({ code: 0, stderr: expect.stringMatching(says) });
    const names = namesIn(textOf());
    expect({ twice: names.length - new Set(names).size }).toEqual({ twice: 0 });
    if (args.includes('--append')) expect(names).toHaveLength(2 * limit);
    else expect(textOf()).toBe(whole);
    expect(machine.files()).toEqual([file]);

    // Every lead of every morning was paid for once.
    await service.quiet();
    expect(service.spent()).toBe(2 * limit);
    const { operations } = await readOperations(machine.state);
    const left = await runInProcess(['history', 'resume'], { env });
    expect({ left: left.stderr, operations: operations.length > 1 }).toEqual({
      left: 'There is nothing to resume.\n',
      operations: true,
    });
  },
  60_000,
);
