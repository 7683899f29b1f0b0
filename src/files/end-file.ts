import { closeSync, constants, fstatSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { descriptorOf, statOrNothing, targetOf } from './target.ts';
import { fail, writeFailure } from './write-failure.ts';

/** Maximum retries on a full pipe, a millisecond apart. */
const maxTries = 500;

/**
 * Prepares a file that is written synchronously when the process ends, whole or not at all. Anything but a regular file (a pipe, a descriptor) is
 * opened now and written directly. Throws LocalIoError if it can't be written; so does the returned function.
 */
export async function prepareExitFile(path: string, pid: number): Promise<(text: string) => void> {
  const descriptor = descriptorOf(path);
  if (descriptor !== undefined) {
    try {
      fstatSync(descriptor);
    } catch (cause) {
      throw new LocalIoError(`can't write ${path}: it is not open`, { cause });
    }
    return (text) => writeTo(descriptor, path, text);
  }
  const existing = await statOrNothing(path);
  if (existing?.isDirectory()) throw new LocalIoError(`can't write ${path}: it is a folder`);
  if (existing !== undefined && !existing.isFile()) {
    // Without a reader, a FIFO would wait for ever.
    const handle = openIn(path, path, constants.O_WRONLY | constants.O_NONBLOCK);
    return (text) => writeTo(handle, path, text);
  }
  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => fail(path, error));
  const part = `${target}.${pid}.part`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  // Tests now whether the file can be made. It is removed again, so that a kill leaves nothing behind.
  closeSync(openIn(part, path, flags));
  rmSync(part, { force: true });
  return (text) => {
    const handle = openIn(part, path, flags, existing?.mode);
    try {
      writeTo(handle, path, text);
      fsyncSync(handle);
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    } finally {
      closeSync(handle);
    }
    try {
      renameSync(part, target);
    } catch (error) {
      rmSync(part, { force: true });
      // A mounted file, or one in a folder whose files only their owner may replace.
      if (!['EBUSY', 'EPERM', 'EXDEV'].includes(codeOf(error) ?? '')) throw writeFailure(path, error);
      const there = openIn(target, path, constants.O_WRONLY | constants.O_TRUNC);
      writeTo(there, path, text);
      closeSync(there);
    }
  };
}

function openIn(path: string, name: string, flags: number, mode = 0o666): number {
  try {
    return openSync(path, flags, mode & 0o777);
  } catch (error) {
    throw writeFailure(name, error);
  }
}

function writeTo(handle: number, name: string, text: string): void {
  const bytes = Buffer.from(text);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let tries = 0;
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(handle, bytes, written);
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN' || tries++ === maxTries) throw writeFailure(name, error);
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}
