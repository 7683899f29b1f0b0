import { execFile } from 'node:child_process';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { noFollow } from './own-file.ts';
import { fail } from './write-failure.ts';

/**
 * Throws LocalIoError where a file can't be written, or can't be replaced by `own`, which is renamed over it later. It is asked before anything is
 * bought. Nothing is tried in the folder, where others may write: only what the system says is read.
 */
export async function checkReplaceable(
  path: string,
  target: string,
  old: Stats,
  own: FileHandle,
): Promise<void> {
  await (await openToWrite(path, target)).close();
  const why = await whyNotReplaced(target, old, (await own.stat()).uid);
  if (why === undefined) return;
  const [words, hint] = why;
  throw new LocalIoError(`can't replace ${path}: ${words}`, { hint, charged: 'no' });
}

/** `uid` is this user. */
async function whyNotReplaced(
  target: string,
  old: Stats,
  uid: number,
): Promise<readonly [words: string, hint: string] | undefined> {
  if (await isMountPoint(target))
    return ['it is mounted by itself', 'Mount its folder instead, or write to another file.'];
  const folder = await stat(dirname(target));
  const isOfOthers = (folder.mode & sticky) !== 0 && ![0, old.uid, folder.uid].includes(uid);
  if (isOfOthers)
    return ['it belongs to another user, and in this folder only that user may replace it', otherFile];
  if (await hasMoreRights(target))
    return [
      'it has a list of rights (ACL), which would be lost',
      `Remove the list, or ${otherFile.toLowerCase()}`,
    ];
  return undefined;
}

/** The mark of a folder such as /tmp. */
const sticky = 0o1000;
const otherFile = 'Write to another file.';

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

/**
 * Gives a file the owner, the group and the mode of the one that it will replace, as far as this user may: a group that shares a file keeps it. It
 * does so through the handle, since the name can be exchanged.
 */
export async function takeRights(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid)
    await file.chown(uid, gid).catch(() => file.chown(own.uid, gid).catch(() => undefined));
  else if (own.gid !== gid) await file.chown(uid, gid).catch(() => undefined);
  const given = await file.stat();
  // Without the group, its rights would be those of another one.
  await file.chmod(mode & (given.gid === gid ? 0o777 : 0o707)).catch(() => undefined);
}

/** Whether a list says who else may use a file. Node can't read one, and `ls` shows that it is there. */
async function hasMoreRights(path: string): Promise<boolean> {
  const listed = await promisify(execFile)('ls', ['-ldn', '--', path]).catch(() => undefined);
  return listed?.stdout[10] === '+';
}

async function openToWrite(path: string, target: string): Promise<FileHandle> {
  return await open(target, constants.O_WRONLY | noFollow).catch((error) => {
    // Rights refuse with another code than such a mark.
    if (codeOf(error) !== 'EPERM') return fail(path, error);
    throw new LocalIoError(`can't write ${path}: it is marked as append-only or immutable`, {
      hint: 'lsattr shows the mark, and chattr removes it.',
      cause: error,
    });
  });
}
