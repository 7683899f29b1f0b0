import { execFile } from 'node:child_process';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { blocksOf } from './addition.ts';
import { codeOf } from './error-code.ts';
import { type HeldLock, LockLostError } from './folder-lock.ts';
import { noFollow } from './line-log.ts';
import { statOrNothing } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** Why a file can't be replaced that may still be written: it is mounted by itself, or somebody else's in a sticky folder. */
const refusals = ['EBUSY', 'EPERM', 'EACCES', 'EXDEV'];

/**
 * Puts a complete file, which is on the disk, in the place of `target`, and it keeps the owner, the group and the mode of that one. Where
 * the system refuses this, its bytes are written into `target`; it is removed when they are on the disk. Throws LocalIoError and
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
  const isLike = old === undefined || ((await takeRights(whole.file, old)) && !(await hasMoreRights(target)));
  lock.confirm();
  try {
    if (isLike) return await rename(whole.path, target);
  } catch (error) {
    if (old === undefined || !refusals.includes(codeOf(error) ?? '')) return fail(path, error);
  }
  await writeInPlace(path, target, whole.file, lock);
  await rm(whole.path, { force: true }).catch((error) => fail(path, error));
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

/** Writes the bytes of a file into another one, in place of its own. */
async function writeInPlace(path: string, target: string, from: FileHandle, lock: HeldLock): Promise<void> {
  const file = await open(target, constants.O_RDWR | noFollow).catch((error) => fail(path, error));
  try {
    lock.confirm();
    await file.truncate(0);
    for await (const block of blocksOf({ file: from, from: 0 })) {
      lock.confirm();
      await file.writeFile(block);
    }
    await file.sync();
  } catch (error) {
    if (error instanceof LockLostError) throw error;
    const failure = writeFailure(path, error);
    throw failure.with({}, `${failure.words}; it is incomplete now`);
  } finally {
    await file.close();
  }
}
