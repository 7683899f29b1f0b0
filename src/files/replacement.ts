import { execFile } from 'node:child_process';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { LocalIoError } from '../errors.ts';
import { blocksOf } from './addition.ts';
import { codeOf } from './error-code.ts';
import { type HeldLock, LockLostError } from './folder-lock.ts';
import { noFollow } from './line-log.ts';
import { statOrNothing } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** What a rename is refused with over a file that may still be written. */
const refusals = ['EBUSY', 'EPERM', 'EACCES', 'EXDEV'];

/**
 * Before anything is bought: why a file will not be replaced but written in place, in words; undefined where it is replaced. The rename is
 * tried with an empty folder, which no system puts in the place of a file. Throws LocalIoError where the file can't be written in place either.
 */
export async function tryReplacement(path: string, target: string, old: Stats): Promise<string | undefined> {
  const tried = `${target}.try`;
  // A killed run may have left it.
  await rmdir(tried).catch(() => undefined);
  // A run that takes over removes it at any time.
  const folder = await mkdir(tried)
    .then(() => open(tried, 'r'))
    .catch(() => undefined);
  if (folder === undefined) return undefined;
  try {
    const why = await whyInPlace(target, old, folder);
    if (why !== undefined || (await isRefused(tried, target)))
      await (await openToWrite(path, target)).close();
    return why;
  } finally {
    await folder.close();
    await rmdir(tried).catch(() => undefined);
  }
}

/** Whether this folder can't take the place of the file for another reason than that it is a folder. */
async function isRefused(folder: string, target: string): Promise<boolean> {
  try {
    await rename(folder, target);
    // Somebody has just removed the file.
    await rmdir(target);
    return false;
  } catch (error) {
    return refusals.includes(codeOf(error) ?? '');
  }
}

/**
 * Puts a complete file, which is on the disk, in the place of `target`, and it keeps the owner, the group and the mode of that one. Where
 * this can't be done, its bytes are written into `target`; it is removed when they are on the disk. Throws LocalIoError and
 * LockLostError.
 */
export async function replaceFile(
  path: string,
  target: string,
  whole: { readonly path: string; readonly file: FileHandle },
  lock: HeldLock,
): Promise<void> {
  const there = await statOrNothing(target);
  const old = there?.isFile() ? there : undefined;
  const why = old && (await whyInPlace(target, old, whole.file));
  lock.confirm();
  try {
    if (why === undefined) return await rename(whole.path, target);
  } catch (error) {
    if (old === undefined || !refusals.includes(codeOf(error) ?? '')) return fail(path, error);
  }
  await writeInPlace(path, target, whole.file, lock);
  await rm(whole.path, { force: true }).catch((error) => fail(path, error));
}

/** Why a file is not replaced by another one beside it, which gets its owner, group and mode; undefined where it can be. */
async function whyInPlace(target: string, old: Stats, beside: FileHandle): Promise<string | undefined> {
  if (await isMountPoint(target)) return 'is mounted by itself';
  if (!(await takeRights(beside, old))) return 'belongs to another user or group';
  return (await hasMoreRights(target)) ? 'has a list of rights (ACL)' : undefined;
}

/** Whether a file is on another mount than its folder, by what Linux says of what is open; elsewhere files can't be mounted. */
async function isMountPoint(target: string): Promise<boolean> {
  const mountOf = async (path: string): Promise<string | undefined> => {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return /^mnt_id:.*$/m.exec(await readFile(`/proc/self/fdinfo/${file.fd}`, 'utf8'))?.[0];
    } finally {
      await file.close();
    }
  };
  const [own, folder] = await Promise.all(
    [target, dirname(target)].map((path) => mountOf(path).catch(() => undefined)),
  );
  return own !== undefined && folder !== undefined && own !== folder;
}

/** Gives a file the owner, the group and the mode of another one. Returns whether this user may do that. */
async function takeRights(file: FileHandle, { uid, gid, mode }: Stats): Promise<boolean> {
  try {
    const own = await file.stat();
    if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
    if ((await file.stat()).mode !== mode) await file.chmod(mode & 0o7777);
    return true;
  } catch {
    return false;
  }
}

/** Whether a list says who else may use a file. Node can't read one, and `ls` shows that it is there. */
async function hasMoreRights(path: string): Promise<boolean> {
  const listed = await promisify(execFile)('ls', ['-ldn', '--', path]).catch(() => undefined);
  return listed?.stdout[10] === '+';
}

/** Writes the bytes of a file into another one, in place of its own. Where there is no room for them, that one stays as it was. */
async function writeInPlace(path: string, target: string, from: FileHandle, lock: HeldLock): Promise<void> {
  const file = await openToWrite(path, target);
  const [{ size: oldSize }, { size }] = [await file.stat(), await from.stat()];
  const copy = async (start: number, end: number): Promise<void> => {
    let at = start;
    for await (const block of blocksOf({ file: from, from: start, to: end })) {
      for (let sent = 0; sent < block.length; ) {
        lock.confirm();
        const { bytesWritten } = await file.write(block, sent, block.length - sent, at);
        sent += bytesWritten;
        at += bytesWritten;
      }
    }
  };
  let isChanged = false;
  try {
    // First what needs room, behind the old end.
    await copy(oldSize, size);
    await file.sync();
    isChanged = true;
    await copy(0, Math.min(oldSize, size));
    lock.confirm();
    await file.truncate(size);
    await file.sync();
  } catch (error) {
    if (error instanceof LockLostError) throw error;
    const failure = writeFailure(path, error);
    if (isChanged) throw failure.with({}, `${failure.words}; it is incomplete now`);
    await file.truncate(oldSize).catch(() => undefined);
    throw failure;
  } finally {
    await file.close();
  }
}

async function openToWrite(path: string, target: string): Promise<FileHandle> {
  return await open(target, constants.O_WRONLY | noFollow).catch((error) => failToOpen(path, error));
}

/** Rights refuse with another code than such a mark. */
export function failToOpen(path: string, error: unknown): never {
  if (codeOf(error) !== 'EPERM') return fail(path, error);
  throw new LocalIoError(`can't write ${path}: it is marked as append-only or immutable`, {
    hint: 'lsattr shows the mark, and chattr removes it.',
    cause: error,
  });
}
