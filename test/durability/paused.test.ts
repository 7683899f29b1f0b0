import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countRows, openStoredRows, type RowEnd, toRowId } from '../../src/operations/journal/stored-rows.ts';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  lastChunk,
  searchFrames,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { noLock } from '../helpers/journals.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { resultOf, temporaryFolder, until } from '../helpers/run.ts';
import { rowsTo, startTaskServer } from '../helpers/task-server.ts';
import { faultyWith } from './faulty-run.ts';

/*
 * A process is paused (`docker pause`, a laptop that sleeps), another machine takes it for dead and takes over, and it wakes up. A process of
 * this machine is never taken for dead, so the test takes its locks away, as the other machine does after its silence.
 */

const isStopped = ({ pid }: ChildProcessWithoutNullStreams): boolean =>
  /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));

/** Pauses a run, and returns how to wake it up. */
function pause(machine: Machine, child: ChildProcessWithoutNullStreams): () => void {
  child.kill('SIGSTOP');
  // It runs on for a moment.
  while (!isStopped(child));
  return takenForDead(machine, child);
}

/** Takes the locks of a paused run away, and returns how to wake it up. */
function takenForDead({ cwd, state }: Machine, child: ChildProcessWithoutNullStreams): () => void {
  const operations = join(state, 'operations');
  const locks = readdirSync(operations).map((id) => join(operations, id, 'lock'));
  for (const name of readdirSync(cwd)) if (name.endsWith('.lock')) locks.push(join(cwd, name));
  for (const lock of locks) rmSync(lock, { recursive: true });
  return () => void child.kill('SIGCONT');
}

/** Everything that the operations of a machine have stored. */
function storedBy({ state }: Machine): Record<string, string> {
  const operations = join(state, 'operations');
  const names = readdirSync(operations, { recursive: true }) as string[];
  return Object.fromEntries(
    names
      .filter((name) => /jsonl$/.test(name))
      .map((name) => [name, readFileSync(join(operations, name), 'utf8')]),
  );
}

const tookOver = (by: ChildProcessWithoutNullStreams) =>
  `this process was stopped for so long that process ${by.pid} took over`;

describe.runIf(process.platform === 'linux')('a run that wakes up without its lock', () => {
  it.each(['jsonl', 'json'])(
    'a list into %s: two at once, and each row is bought and written once',
    async (format) => {
      const { gate, open } = createGate('"who 11"');
      const service = await startRowService({ latencyMs: 10, gate });
      const machine = createMachine(service.url);
      machine.write(
        'in.csv',
        `objective\n${Array.from({ length: 40 }, (_, at) => `who ${at + 1}\n`).join('')}`,
      );
      const begin = () => machine.start(`contact email --input in.csv -o out.${format} --concurrency 1`);
      const first = begin();
      const firstEnd = resultOf(first);
      await until(() => service.requests() === 11);
      await until(() => machine.read(`out.${format}.part`).includes('"who 10"'));
      const wake = pause(machine, first);
      const second = begin();
      const secondEnd = resultOf(second);
      await until(() => service.requests() === 12);
      open();
      // The other run has gone on, and is still at work.
      await until(() => service.charged.size >= 14);
      wake();
      expect(await firstEnd).toMatchObject(ending(75, tookOver(second)));
      // The pending answer went to the run that had lost its lock.
      expect((await secondEnd).code).toBe(3);
      const text = machine.read(`out.${format}`);
      const rows: { objective: string }[] = JSON.parse(
        format === 'json' ? text : `[${text.trimEnd().replaceAll('\n', ',')}]`,
      );
      expect(rows.map(({ objective }) => objective)).toEqual(
        Array.from({ length: 40 }, (_, at) => `who ${at + 1}`),
      );
      expect({ charged: service.charged.size, requests: service.requests() }).toEqual({
        charged: 40,
        requests: 41,
      });
      expect(machine.files()).toEqual(['in.csv', `out.${format}`]);
    },
  );

  it('a look-up: its answer is neither stored nor printed', async () => {
    const { gate, open } = createGate();
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    const first = machine.start('contact email who');
    const firstEnd = resultOf(first);
    await until(() => service.requests() === 1);
    const wake = pause(machine, first);
    const before = storedBy(machine);
    open();
    wake();
    expect(await firstEnd).toMatchObject({ ...ending(75, 'another run took over'), stdout: '' });
    expect(storedBy(machine)).toEqual(before);
  });

  it('a search into a pipe: what arrives afterwards is not printed', async () => {
    const [early = '', ...late] = searchFrames([['{"name":"A"}'], ['{"name":"X"}']]);
    let stream: Socket | undefined;
    const machine = await machineWith((socket) => {
      stream = socket;
      socket.write(streamStart(early));
    });
    const first = machine.start('search company any --limit 2');
    const firstEnd = resultOf(first);
    await until(() => stream !== undefined && JSON.stringify(storedBy(machine)).includes('\\"A'));
    const wake = pause(machine, first);
    stream?.end(Buffer.concat([chunk(late.join('')), Buffer.from(lastChunk)]));
    wake();
    const { stdout, ...end } = await firstEnd;
    expect(end).toMatchObject(ending(75, 'another run took over'));
    expect(stdout).not.toContain('X');
  });

  it('a list: answers that have not come yet are the other’s, and are not waited for', async () => {
    const { gate, open } = createGate('who 1');
    const service = await startRowService({
      gate: (body) => gate(body) ?? (body.includes('who 2') ? new Promise(() => {}) : undefined),
    });
    const machine = createMachine(service.url);
    machine.write('in.csv', 'objective\nwho 1\nwho 2\n');
    const first = machine.start('contact email --input in.csv -o out.csv --concurrency 2');
    const firstEnd = resultOf(first);
    await until(() => service.requests() === 2);
    const wake = pause(machine, first);
    open();
    wake();
    expect(await firstEnd).toMatchObject(ending(75, 'another run took over'));
  });

  // What it writes then goes into a file of its own, which the other run has removed. The first write tries whether there is room.
  it.each([
    [4, 'rows are there'],
    [2, 'it is the first'],
  ])('a list that was paused between its look at the lock and its write number %i: %s', async (at) => {
    const service = await startRowService({});
    const machine = createMachine(service.url);
    const names = Array.from({ length: 8 }, (_, row) => `who ${row + 1}`);
    machine.write('in.csv', `objective\n${names.map((name) => `${name}\n`).join('')}`);
    const line = 'contact email --input in.csv -o out.csv --concurrency 1';
    const first = machine.start(line, faultyWith({ mode: 'stop', at, on: 'out.csv.part' }));
    const firstEnd = resultOf(first);
    await until(() => isStopped(first));
    const wake = takenForDead(machine, first);
    // The row that was sent last may be answered by 409.
    expect([0, 3]).toContain((await machine.run(line)).code);
    const whole = machine.read('out.csv');
    wake();
    expect(await firstEnd).toMatchObject(ending(75, 'another run took over'));
    expect(machine.read('out.csv')).toBe(whole);
    expect(whole.match(/^who \d+/gm)).toEqual(names);
    expect(machine.files()).toEqual(['in.csv', 'out.csv']);
  });

  it('a task that was paused there: the rows before it are kept, once', async () => {
    const steps = [10, 20, 30].map((ready) => [ready === 30 ? 'done' : 'running', ready] as const);
    const task = await startTaskServer({ steps });
    const line = 'task run company x --poll-interval 0.1 -o leads.jsonl';
    const first = task.start(line, faultyWith({ mode: 'stop', at: 4, on: 'leads.jsonl.part' }));
    const firstEnd = resultOf(first);
    await until(() => isStopped(first));
    const wake = takenForDead(task, first);
    expect((await task.run(line)).code).toBe(0);
    wake();
    expect(await firstEnd).toMatchObject(ending(75, 'another run took over'));
    expect(task.read('leads.jsonl')).toBe(rowsTo(30));
    expect(task.files()).toEqual(['leads.jsonl']);
  });

  it('a list of another file is not the one that stopped before its beginning was written', async () => {
    const service = await startRowService({});
    const machine = createMachine(service.url);
    machine.write('a.txt', 'who 1\n');
    machine.write('b.txt', 'who 2\n');
    const line = (input: string) => `contact email --input ${input} -o out.csv`;
    // The index has its line already.
    const after = join(machine.state, 'index', 'operations.jsonl');
    const first = machine.start(
      line('a.txt'),
      faultyWith({ mode: 'stop', at: 1, on: 'journal.jsonl', after }),
    );
    const firstEnd = resultOf(first);
    await until(() => isStopped(first));
    expect(await machine.run(line('b.txt'))).toMatchObject({ code: 0 });
    first.kill('SIGCONT');
    expect(await firstEnd).toMatchObject({ code: 0 });
    expect(machine.read('out.csv')).toMatch(/^who 1,/m);
  });

  it('a search: what arrives afterwards is neither stored nor written', async () => {
    let stream: Socket | undefined;
    const [early = '', late = '', ...end] = searchFrames([['{"name":"A"}'], ['{"name":"X"}']]);
    const machine = await machineWith((socket, { method }) => {
      if (method === 'GET') return void socket.write(wholeAnswer('404 Not Found', 'application/json', '{}'));
      if (stream !== undefined)
        return void socket.end(wholeStream(searchFrames([['{"name":"B"}']], 'limit', 'ls_rest')));
      stream = socket;
      socket.write(streamStart(early));
    });
    const begin = () => machine.start('search company any --limit 2 -o leads.jsonl');
    const first = begin();
    const firstEnd = resultOf(first);
    await until(() => machine.files().includes('leads.jsonl.part'));
    await until(() => machine.read('leads.jsonl.part').includes('"A"'));
    const wake = pause(machine, first);
    expect((await resultOf(begin())).code).toBe(0);
    const before = storedBy(machine);
    stream?.end(Buffer.concat([chunk(late + end.join('')), Buffer.from(lastChunk)]));
    wake();
    const { code, stderr } = await firstEnd;
    expect(code).toBe(75);
    expect(stderr).toContain('this process was stopped for so long that another run took over');
    // Its file is gone, and what is stored is the other run's.
    expect(stderr).not.toContain('leads.jsonl');
    expect(storedBy(machine)).toEqual(before);
    expect(machine.read('leads.jsonl')).toBe('{"name":"A"}\n{"name":"B"}\n');
    expect(machine.files()).toEqual(['leads.jsonl']);
  });

  it.each([
    [4, 'it writes the rows behind those of the file'],
    [5, 'it replaces the file'],
  ])(
    'a search --append that was paused at change %i of its files, where %s: each row is once',
    async (at) => {
      const batches = [['{"name":"A"}'], ['{"name":"B"}']];
      const machine = await machineWith((socket) => void socket.end(wholeStream(searchFrames(batches))));
      machine.write('leads.jsonl', '{"name":"old"}\n');
      const line = 'search company any --limit 2 -o leads.jsonl --append';
      const first = machine.start(line, faultyWith({ mode: 'stop', at, on: 'leads.jsonl.part' }));
      const firstEnd = resultOf(first);
      await until(() => isStopped(first));
      const wake = takenForDead(machine, first);
      expect((await machine.run(line)).code).toBe(0);
      wake();
      expect(await firstEnd).toMatchObject(ending(75, 'another run took over'));
      expect(machine.read('leads.jsonl')).toBe('{"name":"old"}\n{"name":"A"}\n{"name":"B"}\n');
      expect(machine.files()).toEqual(['leads.jsonl']);
      expect(machine.requests).toHaveLength(1);
    },
  );

  it('a task: nothing more is asked for', async () => {
    const task = await startTaskServer({ steps: [['running', 20]] });
    const first = task.start('task run company x --poll-interval 0.1 -o leads.jsonl');
    const firstEnd = resultOf(first);
    await until(() => task.count('status') > 2);
    const wake = pause(task, first);
    const before = [storedBy(task), task.requests.length];
    wake();
    expect(await firstEnd).toMatchObject(ending(75, 'another run took over'));
    expect([storedBy(task), task.requests.length]).toEqual(before);
    expect(task.read('leads.jsonl.part')).toBe(rowsTo(20));
  });
});

it('a row keeps its answer, even if another process writes about that row later', async () => {
  const folder = temporaryFolder();
  const [first, second] = [await openStoredRows(folder, noLock), await openStoredRows(folder, noLock)];
  const [row, digest] = [{ number: 1, line: 2 }, toRowId('{}')];
  const refused = { outcome: 'unknown', message: '409', requestId: undefined, charged: 'maybe' } as const;
  const answered: RowEnd = { state: 'answered', answer: '{"content":"a@example.com"}', requestId: 'req_1' };
  await first.intend(digest, row, 'key', '{}');
  await first.settle(digest, 1, answered);
  for (const state of ['unknown', 'failed'] as const) await second.settle(digest, 1, { state, ...refused });
  await Promise.all([first.close(), second.close()]);
  const stored = await openStoredRows(folder, noLock);
  expect(stored.stateOf(digest)).toBe('answered');
  expect(await stored.endOf(digest)).toEqual(answered);
  await stored.close();
  expect(await countRows(folder)).toMatchObject({ answered: 1 });
});
