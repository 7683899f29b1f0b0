import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { codeOf } from './error-code.ts';
import { syncFolder } from './private-folder.ts';

/** A symbolic link in its place would make us write to another file. Windows has no such flag. */
export const noFollow = constants.O_NOFOLLOW ?? 0;

/**
 * A file that this process has made, beside the one that it will become. Others may be able to write to that folder, so it is written, and
 * given its rights, through its handle alone; before its name is used, it is looked whether that still means this file.
 */
export interface OwnFile {
  readonly path: string;
  readonly handle: FileHandle;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';
const nameLength = 6;

/** Is awaited before a file is made, with its path, so that it can be found after a kill. */
export type Announce = (path: string) => Promise<void>;

/**
 * Makes `<target>.<six letters>.part`, which no other process has made, following no link. One that takes the place of a file with fewer `rights`
 * has these from its first moment. Throws what `announce` and the file system throw.
 */
export async function makeOwnFile(target: string, announce: Announce, rights = 0o666): Promise<OwnFile> {
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

/** Pure: whether a file can be one that a run has made beside this output. */
export function isPartName(target: string, path: string): boolean {
  return path.startsWith(`${target}.`) && /^[a-z]{6}\.part$/.test(path.slice(target.length + 1));
}

/** Whether the name still means the file that was made. */
export async function isThere({ handle, path }: OwnFile): Promise<boolean> {
  const [own, found] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)]);
  return own.ino === found?.ino && own.dev === found.dev;
}

/** Removes the file, unless another one has its name. */
export async function removeOwnFile(file: OwnFile): Promise<void> {
  if (await isThere(file)) await rm(file.path, { force: true });
}

/**
 * Puts the file, which is on the disk, in the place of `target`. False, and nothing is done, where another file has its name. Throws what the
 * file system throws.
 */
export async function placeOwnFile(file: OwnFile, target: string): Promise<boolean> {
  if (!(await isThere(file))) return false;
  await rename(file.path, target);
  await syncFolder(dirname(target));
  return true;
}

/** Copies all bytes of a file into an empty one. The two share their blocks where the file system can do that. */
export async function copyInto(from: FileHandle, to: FileHandle): Promise<void> {
  if (platform() === 'linux') {
    // These names mean what is open, whatever has happened to the names of the files.
    const [source, target] = [from, to].map(({ fd }) => `/proc/self/fd/${fd}`) as [string, string];
    const copied = copyFile(source, target, constants.COPYFILE_FICLONE);
    if (
      await copied.then(
        () => true,
        () => false,
      )
    )
      return;
    await to.truncate(0);
  }
  for await (const block of blocksOf(from)) await to.appendFile(block);
}

const blockSize = 1 << 20;

/** The bytes of a file from one place to another, in blocks of at most a megabyte. */
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
