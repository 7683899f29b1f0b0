import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { codeOf } from './error-code.ts';
import { syncFolder } from './private-folder.ts';
import { temporaryName } from './target.ts';

/** Does not follow a symbolic link, which would lead to another file. Windows has no such flag. */
export const noFollow = constants.O_NOFOLLOW ?? 0;
/** Flags to open a file for reading that others may have replaced with a link (not followed) or a FIFO (not waited for). */
export const readFlags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0);

/**
 * A file that this process has made next to the file that it will replace. Others may be able to write to that folder, so its content and rights are
 * set through the handle, and its name is checked before each use.
 */
export interface TemporaryFile {
  readonly path: string;
  readonly handle: FileHandle;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';
const nameLength = 6;

/** Records the path of a file before it is made, so that it can be found after a kill. Awaited. */
export type Announce = (path: string) => Promise<void>;

/**
 * Makes `<target>.<six letters>.part` exclusively, following no link. If it replaces a file with fewer `rights`, it has only these from the start.
 * Throws what `announce` and the file system throw.
 */
export async function createTemporaryFile(
  target: string,
  announce: Announce,
  rights = 0o666,
): Promise<TemporaryFile> {
  for (;;) {
    const name = Array.from({ length: nameLength }, () => letters[randomInt(letters.length)]).join('');
    const path = `${target}.${name}.part`;
    await announce(path);
    try {
      const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL;
      return { path, handle: await open(path, flags, rights) };
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** Pure: whether this is the name of a temporary file of this output. */
export function isPartName(target: string, path: string): boolean {
  return temporaryName.test(path) && path.replace(temporaryName, '') === target;
}

/** Whether its path still leads to this file. */
export async function isThere({ handle, path }: TemporaryFile): Promise<boolean> {
  const [own, found] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)]);
  return own.ino === found?.ino && own.dev === found.dev;
}

/** Removes the file, unless another one has its name. */
export async function removeTemporaryFile(file: TemporaryFile): Promise<void> {
  if (await isThere(file)) await rm(file.path, { force: true });
}

/**
 * Renames the file, which must be synced, over `target`. Returns false and does nothing if another file has its name. Throws what the file system
 * throws.
 */
export async function renameOverTarget(file: TemporaryFile, target: string): Promise<boolean> {
  if (!(await isThere(file))) return false;
  await rename(file.path, target);
  await syncFolder(dirname(target));
  return true;
}

/** Copies all bytes of a file into an empty one, which keeps its rights. They share their blocks if the file system supports it. */
export async function copyInto(from: FileHandle, to: FileHandle): Promise<void> {
  if (platform() === 'linux') {
    const { mode } = await to.stat();
    // These paths lead to the open files, even if their names were replaced.
    const [source, target] = [from, to].map(({ fd }) => `/proc/self/fd/${fd}`) as [string, string];
    const copied = copyFile(source, target, constants.COPYFILE_FICLONE);
    const isCopied = await copied.then(
      () => true,
      () => false,
    );
    // copyFile also copies the mode.
    await to.chmod(mode & 0o7777);
    if (isCopied) return;
    await to.truncate(0);
  }
  for await (const block of blocksOf(from)) await to.appendFile(block);
}

const blockSize = 1 << 20;

/** The bytes of a file between two offsets, in blocks of at most a megabyte. */
export async function* blocksOf(
  file: FileHandle,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, void> {
  for (let at = from; at < to; ) {
    const length = Math.min(blockSize, to - at);
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** The whole lines of a file. */
export async function* linesIn(file: FileHandle): AsyncGenerator<string, void> {
  const decoder = new StringDecoder();
  let rest = '';
  for await (const block of blocksOf(file)) {
    const lines = (rest + decoder.write(block)).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
