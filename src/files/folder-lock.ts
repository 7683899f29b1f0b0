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

/** The right to change what is in a folder; a process that dies loses it. */
export interface FolderLock {
  /** False where another machine took this process for dead, since it was stopped for too long: it must not write any more. */
  isHeld(): boolean;
  release(): void;
}

/** How long a short change may be kept waiting by others, in milliseconds. */
const patienceMs = 30_000;
/** Between two signs of life of an owner, in milliseconds. */
const beatMs = 10_000;
/** After which an owner without a sign of life is dead. */
const silenceMs = 40_000;
/** Clocks jump, and make a living one seem silent: for so many seconds it is watched. */
const watchedSeconds = 12;
/** After which what another machine has prepared, and not used, is cleared away, in milliseconds. */
const forgottenMs = 3_600_000;

/**
 * Does a change that takes moments as the only process in a private folder, which is made if need be: a living process that
 * has the lock is waited for, up to half a minute. Throws what `lockFolder`, the file system and `work` throw.
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

/** Takes the lock of a folder, or throws `temporary`, naming the process that has it; `what` says what that process works on. */
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
    // Nothing of the claim stays.
    claim.close();
    throw error;
  }
  const held = join(folder, 'lock', claim.owner);
  return { isHeld: () => existsSync(held), release: claim.close };
}

/** Takes the lock, also of an owner that is dead or stays silent; returns a living owner that has it. */
async function takeFrom(claim: ReturnType<typeof claimLock>, folder: string): Promise<string | undefined> {
  const other = claim.take(isGone);
  if (other === undefined || !isSilent(folder, other)) return other;
  const silent = (await staysSilent(folder, other)) ? other : undefined;
  return claim.take((owner) => owner === silent || isGone(owner));
}

/**
 * As `lockFolder`, of a folder that is there for its lock alone, and goes with it. `make` makes it, or leaves the one that is
 * there. Throws what the file system throws.
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
      // Another process may have cleared the folder away just then.
      if (codeOf(error) !== 'ENOENT' || attempts === 20) throw error;
    }
  }
}

/**
 * Runs `work` as the one run that writes a file, in whichever container: whatever stands beside it is then of a run that is over.
 * The lock stands beside the file. What is no regular file (a FIFO, /dev/null) many may write at once. Throws `temporary`,
 * naming the process, where another run has it, LocalIoError, and what `work` throws.
 */
export async function withOutputLock<T>(
  { pid }: Pick<Context, 'pid'>,
  file: string,
  work: (lock: FolderLock | undefined) => Promise<T>,
): Promise<T> {
  const found = await statOrNothing(file);
  if (found !== undefined && !found.isFile()) return await work(undefined);
  const folder = `${await realPathOf(file)}.lock`;
  // Others of the group may see who has it.
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
    // If it has the file still; the next sign of life may succeed where this one does not.
    for (const at of [held, ready]) {
      orElse(() => writeFileSync(join(at, owner), hostname(), { flag: 'r+' }), undefined);
    }
  });
  return {
    /** Names this process to others; see `isAlive`. */
    owner,
    /** Takes the lock and returns undefined, or returns the owner's name that has it. */
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
        // Windows does not rename onto an empty folder. It is left alone when someone has moved in.
        ignoreMissing(() => rmdirSync(held));
      }
      return undefined;
    },
    /** To be called by whoever has taken it. It can be taken again. */
    giveBack: () => renameSync(held, ready),
    /** Ends the claim; the lock too, if it has it. */
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

/** Whether the process that made an owner's name is still there. A later process with the same pid is not it. */
export function isAlive(owner: string, folder: string): boolean {
  return !isGone(owner) && !isSilent(folder, owner);
}

/** The error of a lock that is not held any more. */
export function lockLost(what: string): LeadpipeError {
  return new LeadpipeError(
    'temporary',
    `this process was stopped for so long that another machine or container has taken over ${what}`,
    { type: 'operation_locked', retryable: true },
  );
}

function isTaken(folder: string, owner: string, what: string): LeadpipeError {
  const [pid] = owner.split('.');
  const by = isFromHere(owner) ? `process ${pid}` : `another machine or container (${hostOf(folder, owner)})`;
  return new LeadpipeError('temporary', `${by} is working on ${what}`, {
    type: 'operation_locked',
    charged: 'no',
    retryable: true,
    hint: isFromHere(owner)
      ? `Wait until it has finished, or stop it: kill ${pid}`
      : 'Wait until it has finished. If it has died, try again in a minute.',
  });
}

function hostOf(folder: string, owner: string): string {
  const name = orElse(() => readFileSync(join(folder, 'lock', owner), 'utf8'), '');
  return name.replace(/[^\w.-]/g, '') || 'unknown';
}

/** Whether an owner of another place has given no sign of life for a while. */
function isSilent(folder: string, owner: string, ms = silenceMs): boolean {
  if (isFromHere(owner)) return false;
  const beat = beatOf(folder, owner);
  if (beat === undefined) return true;
  const now = timeOf(folder);
  // One in the future says as little: the clock was set back.
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

/** When an owner gave its last sign of life, in milliseconds. */
function beatOf(folder: string, owner: string): number | undefined {
  const files = ['lock', `lock-${owner}`].map((at) => join(folder, at, owner));
  return files.map((file) => orElse(() => statSync(file).mtimeMs, undefined)).find(Boolean);
}

/** What time it is for the file system, in milliseconds: that of another machine may not be ours. */
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

/** Throws where the folder can't be read: taken for an empty one, it would be waited for without end. */
function entriesOf(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], ['ENOENT', 'ENOTDIR']);
}

function ignoreMissing(action: () => void): void {
  orElse(action, undefined, ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
}

/** What stands for the result of what fails, with one of these codes or with any. */
function orElse<T>(action: () => T, other: T, codes?: readonly string[]): T {
  try {
    return action();
  } catch (error) {
    if (codes === undefined || codes.includes(codeOf(error) ?? '')) return other;
    throw error;
  }
}
