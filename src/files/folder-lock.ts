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
import type { Context } from '../context.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { isFromHere, isGone, isOwner, ownerOf } from './lock-owner.ts';
import { noFollow, toRead } from './own-file.ts';
import { makePrivateFolder } from './private-folder.ts';
import { reasonOf } from './write-failure.ts';

/**
 * The proof, for the code that writes or sends, that no other process may do so. A process can lose its lock without noticing: while it is stopped
 * (a sleeping machine, `docker pause`), another machine may take it for dead. So everything that depends on a lock looks at it first.
 */
export interface HeldLock {
  /** Throws LockLostError where another process has taken over, LocalIoError where that can't be found out. */
  confirm(): void;
}

/** The right to change what is in a folder, or a file. A process that dies loses it. */
export interface FolderLock extends HeldLock {
  release(): void;
}

/** Another process has taken over while this one was stopped: this one must not write or send anything more. */
export class LockLostError extends LeadpipeError {}

/** How long a short change waits for others, in milliseconds. */
const patienceMs = 30_000;
/** Between two heartbeats of an owner, in milliseconds. */
const heartbeatMs = 10_000;
/** An owner without a heartbeat for this many milliseconds is dead. */
const silenceMs = 40_000;
/** A clock that jumps makes a living owner seem silent, so it is watched for this many seconds. */
const watchedSeconds = 12;
/** What another machine prepared and did not use is removed after this many milliseconds. */
const forgottenMs = 3_600_000;

/** The owners that are this process: to itself, it is never named as one to wait for or to stop. */
const claimed = new Set<string>();

/** What a process waits for, by its number and the folder: its own changes form a queue, so that it never waits for itself with a clock. */
const queues = new Map<string, Promise<unknown>>();

/**
 * Makes a short change while no other process changes this private folder, which is made if need be. Waits up to half a minute for a living
 * process that has the lock. Throws what `lockFolder`, the file system and `work` throw.
 */
export async function withFolderLock<T>(
  folder: string,
  context: Pick<Context, 'pid' | 'clock' | 'random'>,
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
 * Runs `work` with the lock at this path, which is there only while somebody has it. A lock in a folder that several users share can be removed
 * by those who may write there, once its owner has died. Throws as `withFolderLock`.
 */
export async function withLock<T>(
  path: string,
  context: Pick<Context, 'pid' | 'clock' | 'random'>,
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

/** Takes the lock of a folder, or throws `temporary`, which names the process that has it. `what` is what that process works on. */
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
  const deadline = clock.monotonic() + patienceMs;
  /** An owner that was watched, and had no heartbeat. */
  let silent: string | undefined;
  try {
    for (;;) {
      const other = claim.take((owner) => owner === silent || isGone(owner));
      if (other === undefined)
        return { confirm: () => confirmHeld(path, claim, what), release: claim.release };
      if (isSilent(path, other) && (await staysSilent(path, other, clock))) silent = other;
      else if (waiting === undefined || clock.monotonic() > deadline) throw isTaken(path, other, what);
      else await wait(clock, 5 + 20 * waiting.random());
    }
  } catch (error) {
    // Leave nothing of the claim behind.
    claim.release();
    throw error;
  }
}

/**
 * Mutual exclusion between processes that survives kill -9, which Node has nothing for.
 *
 * The lock is a folder with one file in it, named after its owner. It is taken by renaming a prepared folder onto its
 * path, which the system refuses unless there is none or an empty one; so of any number of processes one wins. A dead
 * owner's file is removed by its own, never repeated name: no one who saw the dead one can remove a living one's.
 */
export function claimLock(path: string, pid: number) {
  const owner = ownerOf(pid);
  claimed.add(owner);
  const ready = beside(path, owner);
  clearDeadClaims(path);
  mkdirSync(ready);
  let file: number;
  try {
    orElse(() => shareAs(dirname(path), ready), undefined);
    file = openSync(join(ready, owner), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow);
    writeSync(file, hostname(), 0);
  } catch (error) {
    rmSync(ready, { recursive: true, force: true });
    throw error;
  }
  // Through what was opened: the name can be exchanged by others where they may write. If this fails, the next heartbeat may succeed.
  const stop = every(heartbeatMs, () => void orElse(() => writeSync(file, hostname(), 0), undefined));
  return {
    /** Names this process to others; see `isAlive`. */
    owner,
    /** Whether this open file is the one that shows the owner. */
    isOwn: (other: number): boolean => isSameOpen(file, other),
    /** Takes the lock and returns undefined, or returns the name of the owner that has it. */
    take(isDead = (other: string) => isGone(other) || isSilent(path, other)): string | undefined {
      const move = (): true => {
        renameSync(ready, path);
        return true;
      };
      while (!orElse<boolean>(move, false, ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EPERM', 'EACCES'])) {
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
      orElse(() => closeSync(file), undefined);
      const remove = (at: string): true => {
        rmSync(join(at, owner), { force: true });
        removeEmpty(at);
        return true;
      };
      // A disk can fail once. If it fails again, what was done is done: the lock is no one's when this process has ended.
      for (const at of [ready, path]) orElse(() => remove(at), false) || orElse(() => remove(at), false);
    },
  };
}

/** A path beside that of a lock. Its name is short even if that of an output is nearly too long. */
function beside(path: string, what: string): string {
  return join(dirname(path), `${basename(path).slice(-30).toWellFormed()}-${what}`);
}

/** The error that names the living process which has the lock of a folder; undefined where none has it. */
export function lockedError(folder: string, what: string): LeadpipeError | undefined {
  const path = join(folder, 'lock');
  const owner = orElse(() => entriesOf(path), []).find((one) => isAlive(one, folder));
  return owner === undefined ? undefined : isTaken(path, owner, what);
}

/** Throws LocalIoError where no lock can be at this path, since something else is there. */
export function checkLockPath(path: string): void {
  ownersAt(path);
}

/** Whether a living process has the lock of a folder. */
export function isLocked(folder: string): boolean {
  return orElse(() => entriesOf(join(folder, 'lock')).some((owner) => isAlive(owner, folder)), false);
}

/** Whether the process with this name in a folder's lock still runs. A later process with the same number is another one. */
export function isAlive(owner: string, folder: string): boolean {
  return !isGone(owner) && !isSilent(join(folder, 'lock'), owner);
}

/**
 * Throws LockLostError where the owner no longer has the lock. The file is opened, since a network file system may remember a file that is gone,
 * and compared, since another user may have put one with the same name in its place.
 */
function confirmHeld(path: string, { isOwn, owner }: ReturnType<typeof claimLock>, what: string): void {
  try {
    const file = openToRead(join(path, owner));
    try {
      if (isOwn(file)) return;
    } finally {
      closeSync(file);
    }
    throw lostTo(path, what);
  } catch (error) {
    if (error instanceof LockLostError) throw error;
    if (!['ENOENT', 'ENOTDIR', 'ESTALE', 'ELOOP', 'ENXIO'].includes(codeOf(error) ?? '')) {
      throw new LocalIoError(`can't read the lock of ${what}: ${reasonOf(error)}`, { cause: error });
    }
    if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) {
      throw new LocalIoError(`the folder of ${what} was removed`, { cause: error });
    }
    throw lostTo(path, what);
  }
}

function lostTo(path: string, what: string): LockLostError {
  const other = orElse(() => entriesOf(path), []).find(isOwner);
  const by = other === undefined ? 'another run' : nameOf(path, other);
  return new LockLostError('temporary', `this process was stopped for so long that ${by} took over ${what}`, {
    type: 'operation_locked',
    hint: 'This run has stopped and changed nothing since then. The other run continues the work.',
  });
}

/** Opens a file that another user may have exchanged for a link or a FIFO: neither is followed or waited for. */
function openToRead(path: string): number {
  return openSync(path, toRead);
}

function isSameOpen(one: number, other: number): boolean {
  const [a, b] = [fstatSync(one), fstatSync(other)];
  return a.ino === b.ino && a.dev === b.dev;
}

/** Gives a new folder the rights of the one that it is in, so that all who may write there can remove a dead owner from it. */
function shareAs(parent: string, folder: string): void {
  const file = openSync(folder, constants.O_RDONLY | noFollow);
  try {
    fchmodSync(file, statSync(parent).mode & 0o1777);
  } finally {
    closeSync(file);
  }
}

function inTheWay(path: string, entry?: string): LocalIoError {
  const what = entry === undefined ? 'is a file' : `is a folder with other files in it (${entry})`;
  return new LocalIoError(`leadpipe needs the name ${path} for a lock, but it ${what}`, {
    charged: 'no',
    hint: `Rename it. leadpipe did not change it.`,
  });
}

function isTaken(path: string, owner: string, what: string): LeadpipeError {
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

/** What users know the owner of a lock by. */
function nameOf(path: string, owner: string): string {
  if (isFromHere(owner)) return `process ${owner.split('.')[0]}`;
  const host = orElse(() => readSmall(join(path, owner)), '').replace(/[^\w.-]/g, '');
  return `another machine or container (${host || 'unknown'})`;
}

function readSmall(path: string): string {
  const file = openToRead(path);
  try {
    return fstatSync(file).isFile() ? readFileSync(file, 'utf8').slice(0, 300) : '';
  } finally {
    closeSync(file);
  }
}

/** Whether an owner from another place has had no heartbeat for a while. */
function isSilent(path: string, owner: string, ms = silenceMs): boolean {
  if (isFromHere(owner)) return false;
  const beat = beatOf(path, owner);
  if (beat === undefined) return true;
  const now = timeAt(path);
  // A time in the future says the same: the clock was set back.
  return now !== undefined && Math.abs(now - beat) > ms;
}

/** Whether an owner has no heartbeat while it is watched. One that leaves meanwhile has none any more. */
async function staysSilent(path: string, owner: string, clock: Pick<Context['clock'], 'after'>) {
  const before = beatOf(path, owner);
  for (let second = 0; before !== undefined && second < watchedSeconds; second++) {
    await wait(clock, 1000);
    const now = beatOf(path, owner);
    if (now !== before) return now === undefined;
  }
  return true;
}

/** The time of an owner's last heartbeat, in milliseconds. */
function beatOf(path: string, owner: string): number | undefined {
  const files = [path, beside(path, owner)].map((at) => join(at, owner));
  return files.map((file) => orElse(() => lstatSync(file).mtimeMs, undefined)).find(Boolean);
}

/** The time by the file system's clock, in milliseconds: other machines may have another time than this one. */
function timeAt(path: string): number | undefined {
  const file = beside(path, `now-${randomUUID()}`);
  const time = orElse(() => {
    writeFileSync(file, '', { flag: 'wx' });
    return lstatSync(file).mtimeMs;
  }, undefined);
  rmSync(file, { force: true });
  return time;
}

/** Removes what processes prepared that died before they had the lock. Other files may have such names: those stay. */
function clearDeadClaims(path: string): void {
  const [folder, begin] = [dirname(path), basename(beside(path, ''))];
  for (const name of orElse(() => readdirSync(folder), [])) {
    const owner = name.slice(begin.length);
    if (!name.startsWith(begin) || !isOwner(owner)) continue;
    if (!isGone(owner) && !isSilent(path, owner, forgottenMs)) continue;
    orElse(() => rmSync(join(folder, name, owner), { force: true }), undefined);
    orElse(() => rmdirSync(join(folder, name)), undefined);
  }
}

/** The owners in the folder of a lock, living or dead. Throws LocalIoError where this is no such folder. */
function ownersAt(path: string): string[] {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false) throw inTheWay(path);
  const owners = entriesOf(path);
  const other = owners.find((name) => !isOwner(name));
  if (other !== undefined) throw inTheWay(path, other);
  return owners;
}

/** Throws where the folder can't be read: if it seemed empty, a process would wait for it without end. */
function entriesOf(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], ['ENOENT', 'ENOTDIR']);
}

/** Removes a folder, unless it is gone, or has something in it. */
function removeEmpty(folder: string): void {
  orElse(() => rmdirSync(folder), undefined, ['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST']);
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
