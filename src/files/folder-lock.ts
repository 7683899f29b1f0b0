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
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { makePrivateFolder } from './private-folder.ts';

/** The right to change what is in a folder; a process that dies loses it. */
export interface FolderLock {
  release(): void;
}

/** What a process asks for the lock with, as often as it needs it. */
export interface LockClaim {
  /** Names this process to others; see `isAlive`. */
  readonly owner: string;
  /** Takes the lock and returns undefined, or returns the owner's name that has it. */
  take(): string | undefined;
  /** To be called by whoever has taken it. It can be taken again. */
  giveBack(): void;
  /** Ends the claim of one who has given the lock back, or never had it. */
  close(): void;
}

/** How long a short change may be kept waiting by others, in milliseconds. */
const patienceMs = 30_000;

/**
 * As `lockFolder`, but waits for a living process to finish, for a change that takes moments. Throws `temporary` when
 * that takes longer than half a minute.
 */
export async function awaitLock(
  folder: string,
  { pid, clock, random }: Pick<Context, 'pid' | 'clock' | 'random'>,
  what: string,
): Promise<FolderLock> {
  const deadline = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return await lockFolder(folder, pid, what);
    } catch (error) {
      const taken = error instanceof LeadpipeError && error.outcome === 'temporary';
      if (!taken || clock.monotonic() > deadline) throw error;
    }
    await wait(clock, 5 + 20 * random());
  }
}

/** Takes the lock of a folder, or throws `temporary` at once, naming the process that has it; `what` says what that process works on. */
export async function lockFolder(folder: string, pid: number, what: string): Promise<FolderLock> {
  const claim = claimLock(folder, pid);
  const other = claim.take();
  if (other !== undefined) {
    claim.close();
    throw isTaken(other, what);
  }
  return {
    release() {
      const held = join(folder, 'lock');
      ignoreMissing(() => unlinkSync(join(held, claim.owner)));
      ignoreMissing(() => rmdirSync(held));
    },
  };
}

/**
 * As `lockFolder`, of a folder that is there for its lock alone, and goes with it. Undefined where it can't be made: then
 * nothing is known of other processes.
 */
export async function lockPlace(folder: string, pid: number, what: string): Promise<FolderLock | undefined> {
  for (let attempts = 0; attempts < 20; attempts++) {
    try {
      await makePrivateFolder(folder);
      const { release } = await lockFolder(folder, pid, what);
      return {
        release() {
          release();
          ignoreMissing(() => rmdirSync(folder));
        },
      };
    } catch (error) {
      if (error instanceof LeadpipeError) throw error;
      // Another process has cleared the folder away just then.
      if (codeOf(error) !== 'ENOENT') return undefined;
    }
  }
  return undefined;
}

/**
 * Mutual exclusion between processes that survives kill -9, which Node has nothing for.
 *
 * The lock is the folder `lock` with one file in it, named after its owner. It is taken by renaming a prepared folder
 * onto it, which the system refuses unless it is absent or empty; so of any number of processes one wins. A dead
 * owner's file is removed by its own, never repeated name: nobody who saw the dead one can remove a living one's.
 */
export function claimLock(folder: string, pid: number): LockClaim {
  const owner = `${pid}.${startOf(pid) ?? ''}.${randomUUID()}`;
  const held = join(folder, 'lock');
  const ready = join(folder, `lock-${owner}`);
  clearDeadOwners(folder);
  mkdirSync(ready, { mode: 0o700 });
  writeFileSync(join(ready, owner), '', { mode: 0o600 });
  return {
    owner,
    take() {
      while (!moved(ready, held)) {
        for (const other of entriesOf(held)) {
          if (isAlive(other)) return other;
          ignoreMissing(() => unlinkSync(join(held, other)));
        }
        // Windows does not rename onto an empty folder. It is left alone when someone has moved in.
        ignoreMissing(() => rmdirSync(held));
      }
      return undefined;
    },
    giveBack: () => renameSync(held, ready),
    close: () => rmSync(ready, { recursive: true, force: true }),
  };
}

/** Whether a living process has the lock. */
export function isLocked(folder: string): boolean {
  try {
    return entriesOf(join(folder, 'lock')).some(isAlive);
  } catch {
    return false;
  }
}

function isTaken(owner: string, what: string): LeadpipeError {
  const pid = owner.split('.')[0];
  return new LeadpipeError('temporary', `process ${pid} is working on ${what}`, {
    type: 'operation_locked',
    charged: 'no',
    retryable: true,
    hint: `Wait until it has finished, or stop it: kill ${pid}`,
  });
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
    // The second field is the name, in brackets, and may hold spaces and brackets.
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
    if (name.startsWith('lock-') && !isAlive(name.slice('lock-'.length))) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

function moved(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return [];
    // Taken for an empty one, it would be waited for without end.
    throw error;
  }
}

function ignoreMissing(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
  }
}
