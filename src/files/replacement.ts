import { execFile } from 'node:child_process';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { noFollow } from './own-file.ts';
import { fail } from './write-failure.ts';

/** Throws LocalIoError if an existing file can't be written. */
export async function checkWritable(path: string, target: string): Promise<void> {
  const opened = open(target, constants.O_WRONLY | noFollow);
  const file = await opened.catch((error) => {
    // Missing rights give EACCES; EPERM means such an attribute.
    if (codeOf(error) !== 'EPERM') return fail(path, error);
    throw new LocalIoError(`can't write ${path}: it is marked as append-only or immutable`, {
      hint: 'lsattr shows the mark, and chattr removes it.',
      cause: error,
    });
  });
  await file.close();
}

/**
 * Throws LocalIoError if `own`, which already has the file's rights, can't be renamed over it later. Called before anything is bought. Tries nothing
 * in the folder, where others may write; only reads what the system reports.
 */
export async function checkReplaceable(
  path: string,
  target: string,
  old: Stats,
  own: FileHandle,
): Promise<void> {
  const why = await whyNotReplaced(target, old, await own.stat());
  if (why === undefined) return;
  const [words, hint] = why;
  throw new LocalIoError(`can't replace ${path}: ${words}`, { hint, charged: 'no' });
}

async function whyNotReplaced(
  target: string,
  old: Stats,
  { uid, gid }: Stats,
): Promise<readonly [words: string, hint: string] | undefined> {
  if (await isMountPoint(target))
    return ['it is mounted by itself', 'Mount its folder instead, or write to another file.'];
  const folder = await stat(dirname(target));
  const isOfOthers = (folder.mode & sticky) !== 0 && ![0, old.uid, folder.uid].includes(uid);
  if (isOfOthers)
    return ['it belongs to another user, and in this folder only that user may replace it', otherFile];
  if (gid !== old.gid && !othersHaveGroupRights(old.mode))
    return ['it belongs to a group that you are not in, which would lose its rights', otherFile];
  if (await hasAcl(target))
    return [
      'it has an access control list (ACL), which would be lost',
      `Remove the ACL, or ${otherFile.toLowerCase()}`,
    ];
  return undefined;
}

function othersHaveGroupRights(mode: number): boolean {
  return ((mode >> 3) & ~mode & 0o7) === 0;
}

/** The sticky bit of a folder such as /tmp. */
const sticky = 0o1000;
const otherFile = 'Write to another file.';

/** Whether a file is on another mount than its folder. Linux only: elsewhere files can't be mounted. */
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
 * Gives a file the owner, group and mode of the one that it will replace, as far as this user may. Uses the handle, since others can replace the
 * name.
 */
export async function copyPermissions(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await file.stat();
  for (const owner of new Set([uid, own.uid])) {
    if (owner === own.uid && gid === own.gid) break;
    if (
      await file.chown(owner, gid).then(
        () => true,
        () => false,
      )
    )
      break;
  }
  await file.chmod(mode & 0o777).catch(() => undefined);
}

/** Whether a file has an ACL. Node can't read it, but `ls` marks it with a plus. */
async function hasAcl(path: string): Promise<boolean> {
  const listed = await promisify(execFile)('ls', ['-ldn', '--', path]).catch(() => undefined);
  return listed?.stdout[10] === '+';
}
