import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { every, wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { isFromHere, isGone, ownerOf } from './lock-owner.ts';
import { makeOne, makePrivateFolder } from './private-folder.ts';
import { realPathOf, statOrNothing } from './target.ts';
import { writeFailure } from './write-failure.ts';

/** The right to change what is in a folder. A process that dies loses it. */
export interface FolderLock {
  /** False where another machine took over, because this process was stopped for too long: it must not write any more. */
  isHeld(): boolean;
  release(): void;
}

/** How long a short change waits for others, in milliseconds. */
const patienceMs = 30_000;
/** Between two signs of life of an owner, in milliseconds. */
const beatMs = 10_000;
/** An owner without a sign of life for so many milliseconds is dead. */
const silenceMs = 40_000;
/** A clock that jumps makes a living owner seem silent, so it is watched for so many seconds. */
const watchedSeconds = 12;
/** What another machine prepared and did not use is removed after so many milliseconds. */
const forgottenMs = 3_600_000;

/**
 * Makes a short change while no other process changes this private folder, which is made if need be. Waits up to half a minute for a living
 * process that has the lock. Throws what `lockFolder`, the file system and `work` throw.
 */
export async function withFolderLock<T>(
  folder: string,
  context: Pick<Context, 'pid' | 'clock' | 'random'>,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  await makePrivateFolder(folder);
  const lock = await lockFolder(folder, context.pid, what, context);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/** Takes the lock of a folder, or throws `temporary`, which names the process that has it. `what` is what that process works on. */
export async function lockFolder(
  folder: string,
  pid: number,
  what: string,
  waiting?: Pick<Context, 'clock' | 'random'>,
): Promise<FolderLock> {
  const claim = claimLock(folder, pid);
  const deadline = (waiting?.clock.monotonic() ?? 0) + patienceMs;
  try {
    for (let other = await takeFrom(claim, folder); other !== undefined; ) {
      if (waiting === undefined || waiting.clock.monotonic() > deadline) throw isTaken(folder, other, what);
      await wait(waiting.clock, 5 + 20 * waiting.random());
      other = await takeFrom(claim, folder);
    }
  } catch (error) {
    // Leave nothing of the claim behind.
    claim.close();
    throw error;
  }
  const held = join(folder, 'lock', claim.owner);
  return { isHeld: () => existsSync(held), release: claim.close };
}

/** Takes the lock, even from an owner that is dead or silent. Returns the owner that has it, if that one is alive. */
async function takeFrom(claim: ReturnType<typeof claimLock>, folder: string): Promise<string | undefined> {
  const other = claim.take(isGone);
  if (other === undefined || !isSilent(folder, other)) return other;
  const silent = (await staysSilent(folder, other)) ? other : undefined;
  return claim.take((owner) => owner === silent || isGone(owner));
}

/**
 * As `lockFolder`, for a folder that only exists for its lock, and is removed with it. `make` makes the folder if it is not there. Throws
 * what the file system throws.
 */
export async function lockPlace(
  folder: string,
  pid: number,
  what: string,
  make: (folder: string) => Promise<void> = makePrivateFolder,
): Promise<FolderLock> {
  for (let attempts = 1; ; attempts++) {
    try {
      await make(folder);
      const lock = await lockFolder(folder, pid, what);
      return {
        isHeld: lock.isHeld,
        release() {
          lock.release();
          ignoreMissing(() => rmdirSync(folder));
        },
      };
    } catch (error) {
      // Another process may just have removed the folder.
      if (codeOf(error) !== 'ENOENT' || attempts === 20) throw error;
    }
  }
}

/**
 * Runs `work` while no other run, in any container, writes to the file: whatever stands beside it belongs to a run that is over. The lock
 * stands beside the file. Runs may share what is not a regular file (a FIFO, /dev/null). Throws `temporary`, which names the process, where
 * another run has the file, LocalIoError, and what `work` throws.
 */
export async function withOutputLock<T>(
  { pid }: Pick<Context, 'pid'>,
  file: string,
  work: (lock: FolderLock | undefined) => Promise<T>,
): Promise<T> {
  const found = await statOrNothing(file);
  if (found !== undefined && !found.isFile()) return await work(undefined);
  const folder = `${await realPathOf(file)}.lock`;
  // Other users of the group may see who has it.
  const lock = await lockPlace(folder, pid, file, makeOne).catch((error: unknown) => {
    throw error instanceof LeadpipeError ? error : writeFailure(file, error);
  });
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}

/**
 * Mutual exclusion between processes that survives kill -9, which Node has nothing for.
 *
 * The lock is the folder `lock` with one file in it, named after its owner. It is taken by renaming a prepared folder
 * onto it, which the system refuses unless it is absent or empty; so of any number of processes one wins. A dead
 * owner's file is removed by its own, never repeated name: nobody who saw the dead one can remove a living one's.
 */
export function claimLock(folder: string, pid: number) {
  const owner = ownerOf(pid);
  const held = join(folder, 'lock');
  const ready = join(folder, `lock-${owner}`);
  clearDeadClaims(folder);
  mkdirSync(ready);
  writeFileSync(join(ready, owner), hostname());
  const stop = every(beatMs, () => {
    // Whichever of the two is there. If this fails, the next sign of life may succeed.
    for (const at of [held, ready]) {
      orElse(() => writeFileSync(join(at, owner), hostname(), { flag: 'r+' }), undefined);
    }
  });
  return {
    /** Names this process to others; see `isAlive`. */
    owner,
    /** Takes the lock and returns undefined, or returns the name of the owner that has it. */
    take(isDead = (other: string) => !isAlive(other, folder)): string | undefined {
      const move = (): true => {
        renameSync(ready, held);
        return true;
      };
      while (!orElse<boolean>(move, false, ['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'])) {
        for (const other of entriesOf(held)) {
          if (!isDead(other)) return other;
          rmSync(join(held, other), { force: true });
        }
        // Windows does not rename onto an empty folder. It stays if another process has just taken it.
        ignoreMissing(() => rmdirSync(held));
      }
      return undefined;
    },
    /** For the owner: gives the lock back. It can be taken again. */
    giveBack: () => renameSync(held, ready),
    /** Ends the claim, and the lock if it has it. */
    close() {
      stop();
      rmSync(ready, { recursive: true, force: true });
      rmSync(join(held, owner), { force: true });
      ignoreMissing(() => rmdirSync(held));
    },
  };
}

/** Whether a living process has the lock. */
export function isLocked(folder: string): boolean {
  return orElse(() => entriesOf(join(folder, 'lock')).some((owner) => isAlive(owner, folder)), false);
}

/** Whether the process with this name in a lock still runs. A later process with the same number is another one. */
export function isAlive(owner: string, folder: string): boolean {
  return !isGone(owner) && !isSilent(folder, owner);
}

/** The error of a lock that was taken over. */
export function lockLost(what: string): LeadpipeError {
  return new LeadpipeError(
    'temporary',
    `this process was stopped for so long that another machine or container has taken over ${what}`,
    { type: 'operation_locked' },
  );
}

function isTaken(folder: string, owner: string, what: string): LeadpipeError {
  const [pid] = owner.split('.');
  const by = isFromHere(owner) ? `process ${pid}` : `another machine or container (${hostOf(folder, owner)})`;
  return new LeadpipeError('temporary', `${by} is working on ${what}`, {
    type: 'operation_locked',
    charged: 'no',
    hint: isFromHere(owner)
      ? `Wait until it has finished, or stop it: kill ${pid}`
      : 'Wait until it has finished. If it has died, try again in a minute.',
  });
}

function hostOf(folder: string, owner: string): string {
  const name = orElse(() => readFileSync(join(folder, 'lock', owner), 'utf8'), '');
  return name.replace(/[^\w.-]/g, '') || 'unknown';
}

/** Whether an owner from another place has given no sign of life for a while. */
function isSilent(folder: string, owner: string, ms = silenceMs): boolean {
  if (isFromHere(owner)) return false;
  const beat = beatOf(folder, owner);
  if (beat === undefined) return true;
  const now = timeOf(folder);
  // A time in the future says the same: the clock was set back.
  return now !== undefined && Math.abs(now - beat) > ms;
}

async function staysSilent(folder: string, owner: string): Promise<boolean> {
  const before = beatOf(folder, owner);
  if (before === undefined) return false;
  for (let second = 0; second < watchedSeconds; second++) {
    await pause(1000);
    if (beatOf(folder, owner) !== before) return false;
  }
  return true;
}

/** The time of an owner's last sign of life, in milliseconds. */
function beatOf(folder: string, owner: string): number | undefined {
  const files = ['lock', `lock-${owner}`].map((at) => join(folder, at, owner));
  return files.map((file) => orElse(() => statSync(file).mtimeMs, undefined)).find(Boolean);
}

/** The time by the file system's clock, in milliseconds: other machines may have another time than this one. */
function timeOf(folder: string): number | undefined {
  const path = join(folder, `lock-now-${randomUUID()}`);
  const time = orElse(() => {
    writeFileSync(path, '');
    return statSync(path).mtimeMs;
  }, undefined);
  rmSync(path, { force: true });
  return time;
}

function clearDeadClaims(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = name.startsWith('lock-') ? name.slice('lock-'.length) : undefined;
    if (owner === undefined || owner.startsWith('now-')) continue;
    if (isGone(owner) || isSilent(folder, owner, forgottenMs)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}

/** Throws where the folder can't be read: if it seemed empty, a process would wait for it without end. */
function entriesOf(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], ['ENOENT', 'ENOTDIR']);
}

function ignoreMissing(action: () => void): void {
  orElse(action, undefined, ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
}

/** Returns `other` if `action` fails: with one of these codes, or with any. */
function orElse<T>(action: () => T, other: T, codes?: readonly string[]): T {
  try {
    return action();
  } catch (error) {
    if (codes === undefined || codes.includes(codeOf(error) ?? '')) return other;
    throw error;
  }
}
