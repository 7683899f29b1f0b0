import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';

/**
 * Mutual exclusion between processes that survives kill -9. Node has no flock, and the lock of node-sqlite3-wasm
 * is an anonymous folder which a killed process leaves behind for ever.
 *
 * The lock is the folder `lock`, holding one file named after its owner. It is taken by renaming a prepared
 * folder onto it, which the system refuses unless it is absent or empty. A dead owner's file is unlinked by its
 * own, never repeated name: two processes that find the same dead owner can't remove each other's lock.
 */
export interface ProcessLock {
  /** Names this holder to other processes; see `isAlive`. */
  readonly owner: string;
  hold<Result>(action: () => Result): Result;
  close(): void;
}

export interface LockOptions {
  readonly folder: string;
  readonly pid: number;
  readonly monotonic: () => number;
  /** How long to wait for another process, in milliseconds. */
  readonly patience?: number;
}

/** Thrown when another process held the lock for longer than the patience. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

export function createLock({ folder, pid, monotonic, patience = 10_000 }: LockOptions): ProcessLock {
  const owner = `${pid}.${startOf(pid) ?? ''}.${randomUUID()}`;
  const held = join(folder, 'lock');
  const ready = join(folder, `lock-${owner}`);
  clearDeadOwners(folder);
  mkdirSync(ready, { mode: 0o700 });
  writeFileSync(join(ready, owner), '', { mode: 0o600 });

  return {
    owner,
    hold(action) {
      take();
      try {
        return action();
      } finally {
        renameSync(held, ready);
      }
    },
    close: () => rmSync(ready, { recursive: true, force: true }),
  };

  function take(): void {
    const deadline = monotonic() + patience;
    while (!moved(ready, held)) {
      const others = entriesOf(held);
      const dead = others.filter((other) => !isAlive(other));
      for (const other of dead) ignoreMissing(() => unlinkSync(join(held, other)));
      if (dead.length > 0 || others.length === 0) {
        // Windows does not rename onto an empty folder. It is left alone when someone has moved in.
        ignoreMissing(() => rmdirSync(held));
      }
      if (monotonic() > deadline)
        throw new LockTimeout(`process ${others[0]?.split('.')[0]} has held ${held} for too long`);
      pause(2);
    }
  }
}

/** Whether the process that made an owner's name is still there. A later process with the same pid is not it. */
export function isAlive(owner: string): boolean {
  const [pidText, start] = owner.split('.');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    getPriority(pid);
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ESRCH') return false;
  }
  const startNow = startOf(pid);
  return startNow === undefined || start === undefined || start === '' || start === startNow;
}

/** When a process began, where the system tells it (Linux); a zombie is as good as gone. */
function startOf(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}

function clearDeadOwners(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = name.startsWith('lock-') ? name.slice('lock-'.length) : undefined;
    if (owner !== undefined && !isAlive(owner)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'EPERM' || code === 'EACCES') return false;
    throw error;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function ignoreMissing(action: () => void): void {
  try {
    action();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Transactions are synchronous, and so is waiting for one. */
function pause(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms);
}
