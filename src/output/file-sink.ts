import { constants } from 'node:fs';
import { access, type FileHandle, open, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LocalIoError, UsageError } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { type AppendTo, checkAppend } from './append.ts';
import { setAside } from './aside.ts';
import { changed, type FileSink, type Make, OpenFile, type Resumed } from './open-file.ts';
import { statOrNothing, targetOf } from './target.ts';
import { fail } from './write-failure.ts';

export interface FileSinkOptions {
  /** Adds rows to the file itself, under the same header. */
  readonly append?: AppendTo | undefined;
  /** Goes on with the file of an earlier run. */
  readonly resumed?: Resumed | undefined;
  /** What a run that is cut may put behind its rows, so that the file is valid: the bracket of an array. */
  readonly closing?: string | undefined;
  /**
   * Told that the rows of an earlier run, which stood in the .part, are in another file now. Whoever gives it knows that no
   * other run is at work on this file; without it, a .part that is there is refused.
   */
  readonly aside?: ((line: string) => void) | undefined;
  /** What makes the file of its rows, where these are not the file. */
  readonly make?: Make | undefined;
  /** To wait for the reader of a FIFO; without it there must be one. */
  readonly waiting?: Pick<Context, 'clock' | 'signal'> | undefined;
}

/** A link in the place of a .part would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/**
 * The file of `-o`. Its rows go to `<file>.part` beside it, which replaces it when complete: a reader sees a whole
 * file or the old one. The .part is made here, exclusively, before anything is sent to the service. What is not a
 * regular file (a FIFO, /dev/null) is written directly.
 *
 * @throws LocalIoError when it can't be written; UsageError when it is a directory, or can't be appended to.
 */
export async function createFileSink(path: string, options: FileSinkOptions = {}): Promise<FileSink> {
  const { append, aside, resumed, closing, make } = options;
  const existing = await statOrNothing(path);
  if (existing?.isDirectory()) {
    throw new UsageError(`can't write ${path}: it is a folder`, 'Give the name of a file.');
  }
  if (existing !== undefined && !existing.isFile() && make !== undefined) {
    throw new UsageError(`can't write ${path}: a workbook needs a regular file`, 'Give the name of a file.');
  }
  if (existing?.isFIFO()) return await (await import('./fifo.ts')).openFifo(path, options.waiting);
  if (existing !== undefined && !existing.isFile()) return openDirectly(path);
  if (append !== undefined) return openForAppend(path, append, resumed);

  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => fail(path, error));
  const part = `${target}.part`;
  const named = target === resolve(path) ? `${path}.part` : part;
  const isThere = (await statOrNothing(part)) !== undefined;
  const handle =
    resumed === undefined || (!isThere && !resumed.at)
      ? await openNew(path, part, named, aside)
      : await openAgain(part, named, resumed.at);
  if (existing !== undefined) await handle.chmod(existing.mode & 0o777).catch(() => undefined);
  const { size } = await handle.stat();
  const length = resumed?.at ?? 0;
  return new OpenFile(handle, {
    path,
    part: { at: part, named, target, make },
    length,
    size,
    resumed,
    closing,
  });
}

/**
 * Puts a whole .part of this length in place. One that is there already, because only the news of it was lost, is
 * left alone. Throws LocalIoError.
 */
export async function placeWritten(
  path: string,
  length: number,
  warn: Resumed['warn'],
  make?: Make,
): Promise<void> {
  const target = await targetOf(path);
  const placed = await statOrNothing(target);
  const isSame = make === undefined ? placed?.size === length : placed !== undefined;
  const isPlaced = isSame && (await statOrNothing(`${target}.part`)) === undefined;
  if (!isPlaced) await (await createFileSink(path, { resumed: { at: length, warn }, make })).commit();
}

/** Whether the rows of an unfinished run stand beside a file. Throws LocalIoError. */
export async function hasPart(path: string): Promise<boolean> {
  return (await statOrNothing(`${await targetOf(path)}.part`)) !== undefined;
}

/** Whether two names, which need not exist, mean one file. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const real = async (path: string): Promise<string> => {
    const target = await targetOf(path);
    const folder = dirname(target);
    return join(await realpath(folder).catch(() => folder), basename(target));
  };
  return (await real(one)) === (await real(other));
}

async function openDirectly(path: string): Promise<FileSink> {
  const handle = await open(path, constants.O_WRONLY).catch((error) => fail(path, error));
  return new OpenFile(handle, { path });
}

async function openForAppend(
  path: string,
  append: AppendTo,
  resumed: Resumed | undefined,
): Promise<FileSink> {
  const at = resumed?.at;
  // What held rows is not made anew.
  const handle = at
    ? await open(path, constants.O_RDWR | constants.O_APPEND).catch((error) => gone(path, error))
    : await open(path, 'a+').catch((error) => fail(path, error));
  try {
    const { size } = await handle.stat();
    if (at !== undefined) checkLength(path, size, at);
    const state = await checkAppend(handle, path, append, at);
    return new OpenFile(handle, { path, append, size, ...state });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openNew(
  path: string,
  part: string,
  named: string,
  aside: FileSinkOptions['aside'],
): Promise<FileHandle> {
  try {
    return await open(part, 'wx');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return fail(path, error);
    if (aside === undefined) throw isThere(named, error);
  }
  await setAside(part, named, aside);
  return await openNew(path, part, named, undefined);
}

/** `length` is undefined where the earlier run may not have made the .part. */
async function openAgain(part: string, named: string, length: number | undefined): Promise<FileHandle> {
  const handle = await open(part, constants.O_RDWR | noFollow).catch((error) => gone(named, error));
  try {
    const { size } = await handle.stat();
    if (length === undefined && size > 0) throw isThere(named);
    checkLength(named, size, length ?? 0);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isThere(named: string, cause?: unknown): LocalIoError {
  return new LocalIoError(
    `${named} exists: it has the rows of another run, which may still be running; nothing was overwritten or bought`,
    { hint: `Resume that run, or move ${named} away.`, charged: 'no', cause },
  );
}

function checkLength(named: string, size: number, length: number): void {
  if (size >= length) return;
  throw changed(`${named} has ${size} bytes, but the run had written ${length}: it was changed since`);
}

function gone(named: string, error: unknown): never {
  if (codeOf(error) === 'ELOOP') throw new LocalIoError(`can't write ${named}: it is a symbolic link`);
  if (codeOf(error) !== 'ENOENT') return fail(named, error);
  throw changed(`${named} is gone: it held the rows of the earlier run`, error);
}
