import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createClock, every, wait } from '../clock.ts';
import type { Context, LockContext } from '../context.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { isFromHere, isGone, isOwner, ownerOf } from './lock-owner.ts';
import { noFollow, readFlags } from './own-file.ts';
import { makePrivateFolder } from './private-folder.ts';
import { reasonOf } from './write-failure.ts';

/**
 * A lock that this process holds. It can be lost unnoticed: while the process is stopped (a sleeping machine, `docker pause`), another machine may
 * assume that this process is dead. So code that depends on a lock confirms it before each write or request.
 */
export interface HeldLock {
  /** Throws LockLostError if another process has taken over, LocalIoError if the lock can't be read. */
  confirm(): void;
}

/** The exclusive right to change a folder or a file. It ends when the process dies. */
export interface FolderLock extends HeldLock {
  release(): void;
}

/** Another process has taken over while this one was stopped: this one must not write or send anything more. */
export class LockLostError extends LeadpipeError {}

/** Lock timeout of a short change, in milliseconds. */
const lockTimeoutMs = 30_000;
/** Heartbeat interval of an owner, in milliseconds. */
const heartbeatMs = 10_000;
/** An owner without a heartbeat for this many milliseconds is dead. */
const silenceMs = 40_000;
/** A clock that jumps makes a living owner seem silent, so it is watched for this many seconds. */
const watchedSeconds = 12;
/** Age at which unused claims of other machines are removed, in milliseconds. */
const staleClaimMs = 3_600_000;

/** Owner names of this process: messages call them `this process`, and never say to kill it. */
const claimed = new Set<string>();

/** The last change, by PID and folder. A process queues its own changes, so that it never polls for its own lock. */
const queues = new Map<string, Promise<unknown>>();

/**
 * Runs a short change with the lock of a private folder, which is created if it is missing. Waits up to half a minute while a living process holds
 * the lock. Throws what `lockFolder`, the file system and `work` throw.
 */
export async function withFolderLock<T>(
  folder: string,
  context: LockContext,
  what: string,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const queue = `${context.pid} ${folder}`;
  const before = queues.get(queue);
  const change = async (): Promise<T> => {
    await before?.catch(() => undefined);
    await makePrivateFolder(folder);
    return await withLock(join(folder, 'lock'), context, what, work);
  };
  const changed = change();
  queues.set(queue, changed);
  try {
    return await changed;
  } finally {
    if (queues.get(queue) === changed) queues.delete(queue);
  }
}

/**
 * Runs `work` with the lock at this path, which exists only while it is held. In a folder that several users share, the lock of a dead owner can be
 * removed by everyone who may write there. Throws as `withFolderLock`.
 */
export async function withLock<T>(
  path: string,
  context: LockContext,
  what: string,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const lock = await lockAt(path, context.pid, what, context);
  try {
    return await work(lock);
  } finally {
    lock.release();
  }
}

/** Takes the lock of a folder. Throws `temporary`, which names the holder. `what` is what the lock protects, for messages. */
export async function lockFolder(
  folder: string,
  pid: number,
  what: string,
  waiting?: Pick<Context, 'clock' | 'random'>,
): Promise<FolderLock> {
  return await lockAt(join(folder, 'lock'), pid, what, waiting);
}

async function lockAt(
  path: string,
  pid: number,
  what: string,
  waiting?: Pick<Context, 'clock' | 'random'>,
): Promise<FolderLock> {
  const claim = claimLock(path, pid);
  const clock = waiting?.clock ?? createClock();
  const deadline = clock.monotonic() + lockTimeoutMs;
  /** An owner that was watched, and had no heartbeat. */
  let silent: string | undefined;
  try {
    for (;;) {
      const other = claim.take((owner) => owner === silent || isGone(owner));
      if (other === undefined)
        return { confirm: () => confirmHeld(path, claim, what), release: claim.release };
      if (isSilent(path, other) && (await staysSilent(path, other, clock))) silent = other;
      else if (waiting === undefined || clock.monotonic() > deadline) throw takenError(path, other, what);
      else await wait(clock, 5 + 20 * waiting.random());
    }
  } catch (error) {
    claim.release();
    throw error;
  }
}

/**
 * Mutual exclusion between processes that survives kill -9. Node does not offer it.
 *
 * The lock is a folder with one file in it, named after its owner. It is taken by renaming a prepared folder onto its
 * path. The system refuses this unless the path is free or an empty folder, so exactly one process wins. The file of a
 * dead owner is removed by its unique name, so that the file of a living one can't be removed by mistake.
 */
export function claimLock(path: string, pid: number) {
  const owner = ownerOf(pid);
  claimed.add(owner);
  const ready = beside(path, owner);
  clearDeadClaims(path);
  mkdirSync(ready);
  let file: number;
  try {
    withFallback(() => shareAs(dirname(path), ready), undefined);
    file = openSync(join(ready, owner), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow);
    writeSync(file, hostname(), 0);
  } catch (error) {
    rmSync(ready, { recursive: true, force: true });
    throw error;
  }
  // Written through the open file: in a shared folder, others can replace the name. If it fails, the next heartbeat may succeed.
  const stop = every(heartbeatMs, () => void withFallback(() => writeSync(file, hostname(), 0), undefined));
  return {
    /** Names this process to others; see `isAlive`. */
    owner,
    /** Whether this open file is the owner's file. */
    isOwn: (other: number): boolean => isSameOpen(file, other),
    /** Takes the lock and returns undefined, or returns the name of the owner that has it. */
    take(isDead = (other: string) => isGone(other) || isSilent(path, other)): string | undefined {
      const move = (): true => {
        renameSync(ready, path);
        return true;
      };
      while (!withFallback<boolean>(move, false, ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EPERM', 'EACCES'])) {
        for (const other of ownersAt(path)) {
          if (!isDead(other)) return other;
          rmSync(join(path, other), { force: true });
        }
        // Windows does not rename onto an empty folder. It stays if another process has just taken it.
        removeEmpty(path);
      }
      return undefined;
    },
    /** For the owner: gives the lock back. It can be taken again. */
    giveBack: () => renameSync(path, ready),
    /** Ends the claim, and the lock if it has it. */
    release() {
      claimed.delete(owner);
      stop();
      withFallback(() => closeSync(file), undefined);
      const remove = (at: string): true => {
        rmSync(join(at, owner), { force: true });
        removeEmpty(at);
        return true;
      };
      // Tried twice, since a disk can fail once. If it fails again, the lock is free when this process has ended.
      for (const at of [ready, path])
        withFallback(() => remove(at), false) || withFallback(() => remove(at), false);
    },
  };
}

/** A path next to the lock. Its name is cut, since the name of the output may be nearly too long. */
function beside(path: string, what: string): string {
  return join(dirname(path), `${basename(path).slice(-30).toWellFormed()}-${what}`);
}

/** The error that names the living process which has the lock of a folder; undefined where none has it. */
export function lockedError(folder: string, what: string): LeadpipeError | undefined {
  const path = join(folder, 'lock');
  const owner = withFallback(() => entriesOf(path), []).find((one) => isAlive(one, folder));
  return owner === undefined ? undefined : takenError(path, owner, what);
}

/** Throws LocalIoError if something other than a lock is at this path. */
export function checkLockPath(path: string): void {
  ownersAt(path);
}

/** Whether a living process has the lock of a folder. */
export function isLocked(folder: string): boolean {
  return withFallback(() => entriesOf(join(folder, 'lock')).some((owner) => isAlive(owner, folder)), false);
}

/** Whether this owner of a folder's lock still runs. A later process with the same PID does not count. */
export function isAlive(owner: string, folder: string): boolean {
  return !isGone(owner) && !isSilent(join(folder, 'lock'), owner);
}

/**
 * Throws LockLostError if the lock was lost. The file is opened, since a network file system may cache a deleted one, and compared, since another
 * user may have replaced it.
 */
function confirmHeld(path: string, { isOwn, owner }: ReturnType<typeof claimLock>, what: string): void {
  try {
    const file = openSync(join(path, owner), readFlags);
    try {
      if (isOwn(file)) return;
    } finally {
      closeSync(file);
    }
    throw lostError(path, what);
  } catch (error) {
    if (error instanceof LockLostError) throw error;
    if (!['ENOENT', 'ENOTDIR', 'ESTALE', 'ELOOP', 'ENXIO'].includes(codeOf(error) ?? '')) {
      throw new LocalIoError(`can't read the lock of ${what}: ${reasonOf(error)}`, { cause: error });
    }
    if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) {
      throw new LocalIoError(`the folder of ${what} was removed`, { cause: error });
    }
    throw lostError(path, what);
  }
}

function lostError(path: string, what: string): LockLostError {
  const other = withFallback(() => entriesOf(path), []).find(isOwner);
  const by = other === undefined ? 'another run' : nameOf(path, other);
  return new LockLostError('temporary', `this process was stopped for so long that ${by} took over ${what}`, {
    type: 'operation_locked',
    hint: 'This run has stopped and changed nothing since then. The other run continues the work.',
  });
}

function isSameOpen(one: number, other: number): boolean {
  const [a, b] = [fstatSync(one), fstatSync(other)];
  return a.ino === b.ino && a.dev === b.dev;
}

/** Gives a new folder the mode of its parent, so that everyone who may write there can remove a dead owner. */
function shareAs(parent: string, folder: string): void {
  const file = openSync(folder, constants.O_RDONLY | noFollow);
  try {
    fchmodSync(file, statSync(parent).mode & 0o1777);
  } finally {
    closeSync(file);
  }
}

function occupiedError(path: string, entry?: string): LocalIoError {
  const what = entry === undefined ? 'is a file' : `is a folder with other files in it (${entry})`;
  return new LocalIoError(`leadpipe needs the name ${path} for a lock, but it ${what}`, {
    charged: 'no',
    hint: `Rename it. leadpipe did not change it.`,
  });
}

function takenError(path: string, owner: string, what: string): LeadpipeError {
  const [pid] = owner.split('.');
  const hint = !isFromHere(owner)
    ? 'Wait until it has finished. If it has died, try again in a minute.'
    : claimed.has(owner)
      ? 'Wait until it has finished.'
      : `Wait until it has finished, or stop it: kill ${pid}`;
  const details = { type: 'operation_locked', charged: 'no', hint } as const;
  const name = claimed.has(owner) ? 'this process' : nameOf(path, owner);
  return new LeadpipeError('temporary', `${name} is working on ${what}`, details);
}

/** The owner of a lock, for messages. */
function nameOf(path: string, owner: string): string {
  if (isFromHere(owner)) return `process ${owner.split('.')[0]}`;
  const host = withFallback(() => readSmall(join(path, owner)), '').replace(/[^\w.-]/g, '');
  return `another machine or container (${host || 'unknown'})`;
}

function readSmall(path: string): string {
  const file = openSync(path, readFlags);
  try {
    return fstatSync(file).isFile() ? readFileSync(file, 'utf8').slice(0, 300) : '';
  } finally {
    closeSync(file);
  }
}

/** Whether an owner from another place has had no heartbeat for a while. */
function isSilent(path: string, owner: string, ms = silenceMs): boolean {
  if (isFromHere(owner)) return false;
  const beat = heartbeatTimeOf(path, owner);
  if (beat === undefined) return true;
  const now = timeAt(path);
  // A time far in the future counts as silence too: the clock was set back.
  return now !== undefined && Math.abs(now - beat) > ms;
}

/** Watches an owner for a heartbeat. True if there is none, or if its file disappears. */
async function staysSilent(path: string, owner: string, clock: Pick<Context['clock'], 'after'>) {
  const before = heartbeatTimeOf(path, owner);
  for (let second = 0; before !== undefined && second < watchedSeconds; second++) {
    await wait(clock, 1000);
    const now = heartbeatTimeOf(path, owner);
    if (now !== before) return now === undefined;
  }
  return true;
}

/** The time of an owner's last heartbeat, in milliseconds. */
function heartbeatTimeOf(path: string, owner: string): number | undefined {
  const files = [path, beside(path, owner)].map((at) => join(at, owner));
  return files.map((file) => withFallback(() => lstatSync(file).mtimeMs, undefined)).find(Boolean);
}

/** The time by the file system's clock, in milliseconds: other machines may have another time than this one. */
function timeAt(path: string): number | undefined {
  const file = beside(path, `now-${randomUUID()}`);
  const time = withFallback(() => {
    writeFileSync(file, '', { flag: 'wx' });
    return lstatSync(file).mtimeMs;
  }, undefined);
  rmSync(file, { force: true });
  return time;
}

/** Removes the claims of processes that died before they got the lock. Other files with similar names stay. */
function clearDeadClaims(path: string): void {
  const [folder, begin] = [dirname(path), basename(beside(path, ''))];
  for (const name of withFallback(() => readdirSync(folder), [])) {
    const owner = name.slice(begin.length);
    if (!name.startsWith(begin) || !isOwner(owner)) continue;
    if (!isGone(owner) && !isSilent(path, owner, staleClaimMs)) continue;
    withFallback(() => rmSync(join(folder, name, owner), { force: true }), undefined);
    withFallback(() => rmdirSync(join(folder, name)), undefined);
  }
}

/** The owners in the folder of a lock, living or dead. Throws LocalIoError if something else is at this path. */
function ownersAt(path: string): string[] {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false) throw occupiedError(path);
  const owners = entriesOf(path);
  const other = owners.find((name) => !isOwner(name));
  if (other !== undefined) throw occupiedError(path, other);
  return owners;
}

/** Throws where the folder can't be read: if it seemed empty, a process would wait for it without end. */
function entriesOf(folder: string): string[] {
  return withFallback(() => readdirSync(folder), [], ['ENOENT', 'ENOTDIR']);
}

/** Removes a folder if it exists and is empty. */
function removeEmpty(folder: string): void {
  withFallback(() => rmdirSync(folder), undefined, ['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST']);
}

/** Returns `other` if `action` fails with one of these codes (with any error if none are given). */
function withFallback<T>(action: () => T, other: T, codes?: readonly string[]): T {
  try {
    return action();
  } catch (error) {
    if (codes === undefined || codes.includes(codeOf(error) ?? '')) return other;
    throw error;
  }
}
