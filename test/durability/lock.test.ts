import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  isAlive,
  isLocked,
  LockLostError,
  lockFolder,
  withFolderLock,
  withLock,
} from '../../src/files/folder-lock.ts';
import { ownerOf } from '../../src/files/lock-owner.ts';
import { entry } from '../../src/operations/journal/entries.ts';
import { createJournal, openJournal } from '../../src/operations/journal/journal.ts';
import { bundle } from '../helpers/bundle.ts';
import { createLeapingClock, machineClock } from '../helpers/clock.ts';
import { intentOf } from '../helpers/journals.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn, readOperations } from '../helpers/stored.ts';

let worker = '';
let holder = '';
const hasNamespaces =
  spawnSync('unshare', ['-r', '--pid', '--fork', '--mount-proc', 'true'], { stdio: 'ignore' }).status === 0;
const races = 1000;
const processes = 4;

beforeAll(async () => {
  worker = await bundle(join(import.meta.dirname, 'lock-worker.ts'));
  holder = await bundle(join(import.meta.dirname, 'holding-worker.ts'));
});

const intent = intentOf();
/** Where this process's number is valid, as its locks say it. */
const [, , here = ''] = ownerOf(process.pid).split('.');

/** The name of a process in a lock. */
function toOwner(pid: number, start = '', place = here): string {
  return `${pid}.${start}.${place}.${randomUUID()}`;
}

/** An operation whose owner died in the middle of a line. */
async function createAbandoned(stateDir: string, operationId: string): Promise<string> {
  const journal = await createJournal(keepingIn(stateDir), operationId);
  await journal.append(intent);
  await journal.close();
  const at = join(stateDir, 'operations', operationId);
  mkdirSync(join(at, 'lock'));
  writeFileSync(join(at, 'lock', toOwner(999999999, '1')), '');
  appendFileSync(join(at, 'journal.jsonl'), '{"sha256":"');
  return at;
}

it('processes that race for one operation hold it one at a time, even after a dead owner, and lose no line', async () => {
  const stateDir = temporaryFolder();
  const ids = Array.from({ length: races / processes }, (_, index) => `op_${index}`);
  for (const id of ids) await createAbandoned(stateDir, id);
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, [worker, stateDir], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const lines = children.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
  let refusals = 0;
  for (const id of ids) {
    for (const child of children) child.stdin.write(`${id}\n`);
    for (const line of lines) refusals += JSON.parse((await line.next()).value ?? '{}').refusals;
  }
  const ended = children.map((child: ChildProcess) => once(child, 'exit'));
  for (const child of children) child.stdin.end();
  expect((await Promise.all(ended)).map(([code]) => code)).toEqual(Array(processes).fill(0));

  const { operations } = await readOperations(stateDir);
  expect(operations).toHaveLength(ids.length);
  for (const { entries } of operations) {
    expect(entries.map((entry) => (entry.type === 'page' ? entry.next : entry.type))).toEqual([
      'intent',
      1,
      2,
      3,
      4,
    ]);
  }
  for (const id of ids) expect(readdirSync(join(stateDir, 'operations', id))).toEqual(['journal.jsonl']);
  // Otherwise nothing was raced for.
  expect(refusals).toBeGreaterThan(races / 10);
}, 120_000);

describe('the lock of an operation', () => {
  it('is refused at once, and given when it is released: a process never says that it shall be stopped', async () => {
    const at = temporaryFolder();
    const lock = await lockFolder(at, process.pid, 'this operation');
    await expect(lockFolder(at, process.pid, 'this operation')).rejects.toMatchObject({
      outcome: 'temporary',
      message: 'this process is working on this operation',
      details: { type: 'operation_locked', charged: 'no', hint: 'Wait until it has finished.' },
    });
    await lock.release();
    await (await lockFolder(at, process.pid, 'this operation')).release();
    expect(readdirSync(at)).toEqual([]);
  });

  it('of a process that was killed, or of an earlier one with its pid, is taken over', async () => {
    for (const owner of [toOwner(999999999, '1'), toOwner(process.pid, '1')]) {
      if (owner.startsWith(`${process.pid}`) && process.platform !== 'linux') continue;
      const at = temporaryFolder();
      mkdirSync(join(at, 'lock'));
      mkdirSync(join(at, `lock-${owner}`));
      writeFileSync(join(at, 'lock', owner), '');
      const lock = await lockFolder(at, process.pid, 'this operation');
      expect(readdirSync(at)).toEqual(['lock']);
      await lock.release();
    }
  });

  it.each([
    ['this process', toOwner(process.pid), true],
    ['no process', toOwner(999999999), false],
    [
      'a pid that was given to another process since',
      toOwner(process.pid, '1'),
      process.platform !== 'linux',
    ],
    ['nonsense', 'nonsense', false],
  ])('%s', async (_, owner, alive) => {
    expect(isAlive(owner, temporaryFolder())).toBe(alive);
  });
});

it.runIf(process.platform === 'linux')(
  'a lock of a process that has ended is free, also while its parent has not asked how it ended',
  async () => {
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = await once(createInterface(parent.stdout), 'line');
    const pid = Number(line);
    const owner = ownerOf(pid);
    expect(isAlive(owner, temporaryFolder())).toBe(true);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
    expect(isAlive(owner, temporaryFolder())).toBe(false);
    parent.kill('SIGKILL');
  },
);

describe('a lock that another machine or container has', () => {
  const foreign = () => toOwner(1, '1', '0123456789ab');

  /** A folder locked by a process of another place, whose last heartbeat was this number of seconds ago. */
  function createHeld(secondsAgo: number, owner = foreign()) {
    const at = temporaryFolder();
    const path = join(at, 'lock', owner);
    mkdirSync(join(at, 'lock'));
    writeFileSync(path, 'other-host\n');
    backdate(path, secondsAgo);
    return { at, path, beat: () => backdate(path, 0) };
  }

  function backdate(path: string, secondsAgo: number): void {
    const time = new Date(Date.now() - 1000 * secondsAgo);
    utimesSync(path, time, time);
  }

  const take = (at: string) => lockFolder(at, process.pid, 'leads.csv');
  /** The same on a clock that leaps; `second` is told each second of the time in which an owner is watched. */
  const watch = (at: string, second: (nth: number) => void = () => {}) => {
    const clock = createLeapingClock();
    const after = (ms: number, callback: () => void) => {
      const cancel = clock.after(ms, callback);
      if (ms === 1000) second(clock.waits.filter((one) => one === ms).length);
      return cancel;
    };
    return lockFolder(at, process.pid, 'leads.csv', { clock: { ...clock, after }, random: () => 1 });
  };
  const refusal = {
    outcome: 'temporary',
    message: 'another machine or container (other-host) is working on leads.csv',
    details: { hint: expect.not.stringContaining('kill') },
  };

  it('is recognised as dead by its heartbeat: none for 40 s, and none while it is watched', async () => {
    // A clock that was set back leaves a heartbeat in the future, one that was set ahead an old heartbeat.
    const [living, dead, ahead, jumped] = [30, 60, -3600, 3600].map((ago) => createHeld(ago));
    expect(isLocked(living?.at ?? '')).toBe(true);
    expect(isLocked(dead?.at ?? '')).toBe(false);
    await expect(take(living?.at ?? '')).rejects.toMatchObject(refusal);
    const beat = (second: number) => (second === 12 ? jumped?.beat() : undefined);
    await expect(watch(jumped?.at ?? '', beat)).rejects.toMatchObject(refusal);
    for (const held of [dead, ahead]) {
      let seconds = 0;
      const lock = await watch(held?.at ?? '', () => seconds++);
      // Longer than an owner may need for its next heartbeat.
      expect(seconds).toBe(12);
      lock.confirm();
      expect(existsSync(held?.path ?? '')).toBe(false);
      lock.release();
      expect(readdirSync(held?.at ?? '')).toEqual([]);
    }
  });

  it('of a process that died while preparing is removed after an hour', async () => {
    for (const [seconds, left] of [
      [1800, 1],
      [7200, 0],
    ] as const) {
      const at = temporaryFolder();
      const owner = foreign();
      mkdirSync(join(at, `lock-${owner}`));
      writeFileSync(join(at, `lock-${owner}`, owner), '');
      backdate(join(at, `lock-${owner}`, owner), seconds);
      (await take(at)).release();
      expect(readdirSync(at)).toHaveLength(left);
    }
  });

  it('is lost by a process that was stopped too long, which then writes nothing more', async () => {
    const stateDir = temporaryFolder();
    const journal = await createJournal(keepingIn(stateDir), 'op_1');
    await journal.append(intent);
    const at = join(stateDir, 'operations', 'op_1');
    for (const name of readdirSync(join(at, 'lock'))) unlinkSync(join(at, 'lock', name));
    const theirs = foreign();
    writeFileSync(join(at, 'lock', theirs), 'other-host');
    await expect(journal.append(entry.balance(1))).rejects.toMatchObject({
      outcome: 'temporary',
      message: expect.stringContaining('another machine or container (other-host) took over this operation'),
    });
    expect(() => journal.note(entry.printed(1))).toThrow('took over');
    await expect(journal.end(entry.balance(1))).rejects.toBeInstanceOf(LockLostError);
    expect(() => journal.confirm()).toThrow(LockLostError);
    await journal.close();
    expect(readdirSync(join(at, 'lock'))).toEqual([theirs]);
    expect((await readOperations(stateDir)).operations[0]?.entries).toEqual([{ ...intent, number: 1 }]);
  });

  it.runIf(hasNamespaces)(
    'is known by its namespace, though the number of its process means another one here',
    async () => {
      const at = temporaryFolder();
      const holder = await hold(at, ['unshare', '-r', '--pid', '--fork', '--mount-proc', '--kill-child']);
      const [owner = ''] = readdirSync(join(at, 'lock'));
      // Its number there; here it is that of another process, or of none.
      expect(Number(owner.split('.')[0])).toBeLessThan(10);
      const other = expect.stringContaining('another machine or container (');
      await expect(take(at)).rejects.toMatchObject({ outcome: 'temporary', message: other });
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      await expect(take(at)).rejects.toMatchObject({ message: other });
      backdate(join(at, 'lock', owner), 41);
      (await watch(at)).release();
    },
  );

  it.runIf(hasNamespaces)('is one of the same namespace, if that has no /proc of its own', async () => {
    const at = temporaryFolder();
    const line =
      'tail -f /dev/null | "$0" "$1" "$2" & until [ -e "$2/lock/"* ]; do sleep 0.05; done; exec "$0" "$1" "$2"';
    const all = ['-r', '--pid', '--fork', '--kill-child', 'sh', '-c', line, process.execPath, holder, at];
    // Numbers there are not those in /proc: nothing is known of the process that holds it.
    const { status, stderr } = spawnSync('unshare', all, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('another machine or container ('),
    });
  });
});

/** For a lock that is free, or never given: nothing is waited for on this clock. */
const patient = {
  pid: process.pid,
  random: () => 0,
  clock: { ...machineClock, after: () => expect.fail('nothing is waited for') },
};

describe.skipIf(process.platform === 'win32')('what is in the place of a lock', () => {
  it.each([
    ['a folder', (at: string) => writeFileSync(join(made(at), '2026.01.31.csv'), 'of the user')],
    ['a file', (at: string) => writeFileSync(at, 'of the user')],
    ['a link', (at: string) => symlinkSync(made(`${at}-target`), at)],
    ['a FIFO', (at: string) => execFileSync('mkfifo', [at])],
  ])('%s of the user is left alone, and the run is refused at once', async (_, make) => {
    const folder = temporaryFolder();
    const path = join(folder, 'leads.csv.lock');
    make(path);
    const before = readdirSync(folder, { recursive: true });
    const work = async () => expect.unreachable();
    await expect(withLock(path, patient, 'leads.csv', work)).rejects.toMatchObject({
      outcome: 'local_io',
      message: expect.stringContaining(`leadpipe needs the name ${path} for a lock, but it is a`),
      details: { charged: 'no' },
    });
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });

  it.each([
    ['a FIFO', (at: string) => execFileSync('mkfifo', [at]), 'unknown'],
    ['a link', (at: string) => symlinkSync(ownName(at), at), 'unknown'],
    [
      'a file with a long text of others',
      (at: string) => writeFileSync(at, '\u001b[31m\nhost\u202e'),
      '31mhost',
    ],
  ])('%s that seems to be its owner is neither waited for nor trusted', async (_, make, host) => {
    const at = temporaryFolder();
    made(join(at, 'lock'));
    make(join(at, 'lock', toOwner(1, '1', '0123456789ab')));
    await expect(lockFolder(at, process.pid, 'this')).rejects.toMatchObject({
      outcome: 'temporary',
      message: `another machine or container (${host}) is working on this`,
    });
  });
});

describe('a lock that others exchange', () => {
  /** More than the time between two heartbeats. */
  const beat = () => vi.advanceTimersByTime(10_000);
  let at: string;
  let lock: Awaited<ReturnType<typeof lockFolder>>;
  let file: string;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    at = temporaryFolder();
    lock = await lockFolder(at, process.pid, 'this operation');
    const [owner = ''] = readdirSync(join(at, 'lock'));
    file = join(at, 'lock', owner);
  });
  afterEach(() => {
    lock.release();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('has a heartbeat every ten seconds while it is held', () => {
    const text = readFileSync(file, 'utf8');
    for (let beats = 0; beats < 3; beats++) {
      utimesSync(file, 1, 1);
      vi.advanceTimersByTime(9999);
      expect(statSync(file).mtimeMs).toBe(1000);
      vi.advanceTimersByTime(1);
      expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(60_000);
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
    lock.confirm();
  });

  /** Puts another folder with another owner's file in its place, and leaves the one that it had made. */
  function exchange(make: (file: string) => void): string {
    const moved = join(at, 'moved');
    renameSync(join(at, 'lock'), moved);
    mkdirSync(join(at, 'lock'));
    make(file);
    return join(moved, file.slice(join(at, 'lock').length));
  }

  const lostTo = (who: string) => `this process was stopped for so long that ${who} took over this operation`;

  it.skipIf(process.platform === 'win32').each<[what: string, make: (file: string, target: string) => void]>([
    ['a link to a file of the user', (there, target) => symlinkSync(target, there)],
    ['another file of the same name', (there) => writeFileSync(there, 'of another')],
    ['a FIFO', (there) => execFileSync('mkfifo', [there])],
    ['nothing', () => {}],
  ])('is lost to %s, and writes nothing there', (_, make) => {
    const target = join(at, 'of the user');
    writeFileSync(target, 'of the user');
    utimesSync(target, 1, 1);
    const own = exchange((there) => make(there, target));
    utimesSync(own, 1, 1);
    beat();
    expect([readFileSync(target, 'utf8'), statSync(target).mtimeMs]).toEqual(['of the user', 1000]);
    // It goes to what was opened.
    expect(statSync(own).mtimeMs).toBeGreaterThan(1000);
    expect(() => lock.confirm()).toThrow(LockLostError);
    lock.release();
    beat();
    expect([readFileSync(target, 'utf8'), statSync(target).mtimeMs]).toEqual(['of the user', 1000]);
  });

  it('is lost to the one that has it then, who is named', () => {
    const theirs = join(at, 'lock', toOwner(1, '1', '0123456789ab'));
    exchange(() => writeFileSync(theirs, 'other-host'));
    expect(() => lock.confirm()).toThrow(lostTo('another machine or container (other-host)'));
    lock.release();
    expect(existsSync(theirs)).toBe(true);
  });

  it('is not lost to anyone where its folder is gone', () => {
    rmSync(at, { recursive: true });
    expect(() => lock.confirm()).toThrow('the folder of this operation was removed');
    expect(() => lock.confirm()).not.toThrow(LockLostError);
    beat();
    expect(existsSync(at)).toBe(false);
  });
});

describe('a short change', () => {
  it('waits for others of the same process without polling, with 200 at once', async () => {
    const folder = join(temporaryFolder(), 'list');
    const file = join(folder, 'count');
    const order: number[] = [];
    const change = (nth: number) =>
      withFolderLock(folder, patient, 'the list', async (lock) => {
        const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
        await new Promise((resolve) => setImmediate(resolve));
        lock.confirm();
        writeFileSync(file, String(before + 1));
        order.push(nth);
        // A failed change does not affect the others.
        if (nth % 50 === 7) throw new Error(`change ${nth}`);
        return nth;
      });
    const numbers = Array.from({ length: 200 }, (_, nth) => nth);
    const changes = await Promise.allSettled(numbers.map(change));
    expect([readFileSync(file, 'utf8'), order]).toEqual(['200', numbers]);
    for (const [nth, { status }] of changes.entries())
      expect({ nth, status }).toEqual({ nth, status: nth % 50 === 7 ? 'rejected' : 'fulfilled' });
    expect(readdirSync(folder)).toEqual(['count']);
    // The private folder was made by it.
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('waits half a minute for a living process', async () => {
    const at = temporaryFolder();
    const child = await hold(at, []);
    const clock = createLeapingClock();
    const changed = withFolderLock(at, { pid: process.pid, clock, random: () => 0.5 }, 'the list', async () =>
      expect.unreachable(),
    );
    await expect(changed).rejects.toMatchObject({
      outcome: 'temporary',
      message: `process ${child.pid} is working on the list`,
    });
    expect(new Set(clock.waits)).toEqual(new Set([15]));
    expect(clock.monotonic()).toBeGreaterThan(30_000);
    expect(clock.monotonic()).toBeLessThan(30_050);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});

/** A file of the user, beside the lock. */
function ownName(at: string): string {
  const path = join(dirname(dirname(at)), 'name');
  writeFileSync(path, 'of-the-user');
  return path;
}

function made(folder: string): string {
  mkdirSync(folder);
  return folder;
}

it('a lock fits beside an output whose name is nearly too long', async () => {
  const folder = temporaryFolder();
  const name = `${'😀'.repeat(60)}.csv.lock`;
  await withLock(join(folder, name), patient, 'leads.csv', async (lock) => {
    expect(readdirSync(folder)).toEqual([name]);
    lock.confirm();
  });
  expect(readdirSync(folder)).toEqual([]);
});

it.skipIf(process.platform === 'win32')(
  'a lock of this machine stays with a process that is stopped, and goes with it',
  async () => {
    const at = temporaryFolder();
    const holder = await hold(at, []);
    holder.kill('SIGSTOP');
    const [owner = ''] = readdirSync(join(at, 'lock'));
    utimesSync(join(at, 'lock', owner), 0, 0);
    const message = `process ${holder.pid} is working on this`;
    const details = { hint: `Wait until it has finished, or stop it: kill ${holder.pid}` };
    await expect(lockFolder(at, process.pid, 'this')).rejects.toMatchObject({ message, details });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    (await lockFolder(at, process.pid, 'this')).release();
  },
);

/** A process that has the lock of a folder. */
async function hold(folder: string, before: readonly string[]): Promise<ChildProcess> {
  const [file = '', ...args] = [...before, process.execPath, holder, folder];
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

describe('a journal that is opened again', () => {
  it('continues after the last whole line', async () => {
    const stateDir = temporaryFolder();
    await createAbandoned(stateDir, 'op_1');
    const { journal, entries } = await openJournal(keepingIn(stateDir), 'op_1');
    const numbered = JSON.parse(JSON.stringify({ ...intent, number: 1 }));
    expect(entries).toEqual([numbered]);
    await journal.append(entry.balance(7));
    await expect(openJournal(keepingIn(stateDir), 'op_1')).rejects.toMatchObject({ outcome: 'temporary' });
    await journal.close();
    const [stored] = (await readOperations(stateDir)).operations;
    expect(stored?.entries).toEqual([numbered, entry.balance(7)]);
  });

  it.each(['op_none', '../op_1', ''])('is none: %j', async (operationId) => {
    const stateDir = temporaryFolder();
    await createAbandoned(stateDir, 'op_1');
    await expect(openJournal(keepingIn(stateDir), operationId)).rejects.toMatchObject({
      outcome: 'not_found',
    });
  });
});
