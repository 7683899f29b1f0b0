import { constants } from 'node:fs';
import { access, type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LocalIoError, UsageError } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import { codeOf } from '../files/error-code.ts';
import type { FolderLock } from '../files/folder-lock.ts';
import { statOrNothing, targetOf } from '../files/target.ts';
import { fail } from '../files/write-failure.ts';
import { type AppendTo, checkAppend } from './append.ts';
import { changed, createDirectSink, createPartSink, type FileSink, type Make } from './part-sink.ts';

/**
 * How the .part is opened. `new`: one that is there is somebody else's, and goes to another name beside it. `anew`: what stands in it
 * is ours, and is written again from the start. `at`: it is gone on with behind so many bytes.
 */
export type Opening = 'new' | { readonly anew: true } | { readonly at: number };

export interface FileSinkOptions {
  readonly opening?: Opening | undefined;
  /** Adds the rows to those that the file has, under the same header. */
  readonly append?: AppendTo | undefined;
  /** Told that the rows of an earlier run, which stood in the .part, are in another file now. */
  readonly warn?: ((line: string) => void) | undefined;
  /** What makes the file of its rows, where these are not the file. */
  readonly make?: Make | undefined;
  /** To wait for the reader of a FIFO; without it there must be one. */
  readonly waiting?: Pick<Context, 'clock' | 'signal'> | undefined;
  /** Of the output: a run that has lost it puts nothing into place. */
  readonly lock?: FolderLock | undefined;
}

/** A link in the place of a .part would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/**
 * The file of `-o`. Its rows go to `<file>.part` beside it, which replaces it when complete, or is added to it: a reader sees a
 * whole file or the old one. The .part is opened here, before anything is sent to the service. What is not a regular
 * file (a FIFO, /dev/null) is written directly. The caller holds the lock of the output.
 *
 * @throws LocalIoError when it can't be written; UsageError when it is a folder, or can't be appended to.
 */
export async function createFileSink(path: string, options: FileSinkOptions = {}): Promise<FileSink> {
  const { append, lock, make, opening = 'new', waiting, warn = () => {} } = options;
  const existing = await statOrNothing(path);
  if (existing?.isDirectory()) {
    throw new UsageError(`can't write ${path}: it is a folder`, 'Give the name of a file.');
  }
  if (existing !== undefined && !existing.isFile() && make !== undefined) {
    throw new UsageError(`can't write ${path}: a workbook needs a regular file`, 'Give the name of a file.');
  }
  if (existing?.isFIFO()) return await (await import('./fifo.ts')).openFifo(path, waiting);
  if (existing !== undefined && !existing.isFile()) {
    return createDirectSink(await open(path, constants.O_WRONLY).catch((error) => fail(path, error)), path);
  }
  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => fail(path, error));
  const lineEnd = append && (await checkAppend(target, path, append)).lineEnd;
  const part = `${target}.part`;
  const named = target === resolve(path) ? `${path}.part` : part;
  const isAnew = typeof opening === 'object' && 'anew' in opening;
  const at = typeof opening === 'object' && 'at' in opening ? opening.at : 0;
  const handle =
    opening === 'new'
      ? await openNew(path, part, named, warn)
      : await openAgain(part, named, isAnew ? undefined : at);
  if (existing !== undefined) await handle.chmod(existing.mode & 0o777).catch(() => undefined);
  return createPartSink(handle, { path, part, named, target, start: at, append, lineEnd, make, lock });
}

/**
 * Puts a whole .part of this length in place. One that is there already, because only the news of it was lost, is
 * left alone. Throws LocalIoError.
 */
export async function placeWritten(
  path: string,
  length: number,
  options: Pick<FileSinkOptions, 'append' | 'lock' | 'make'>,
  adding?: (addition: Addition) => Promise<void>,
): Promise<void> {
  const target = await targetOf(path);
  const [placed, part] = await Promise.all([statOrNothing(target), statOrNothing(`${target}.part`)]);
  const isOther = options.append === undefined && options.make === undefined && placed?.size !== length;
  if (part === undefined && placed !== undefined && !isOther) return;
  await (await createFileSink(path, { ...options, opening: { at: length } })).commit(adding);
}

/** Makes way for a new .part: what another run has left there goes to another name beside it; one without a row is removed. */
async function openNew(
  path: string,
  part: string,
  named: string,
  warn: (line: string) => void,
): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(part, 'wx+');
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return fail(path, error);
    }
    const { size } = await lstat(part).catch((error) => fail(named, error));
    if (size === 0) await rm(part).catch((error) => fail(named, error));
    else
      warn(`${named} held rows of an earlier run. They are now in ${named}.${await setAside(part, named)}.`);
  }
}

/** Returns the first number behind its name that nobody has. */
async function setAside(part: string, named: string): Promise<number> {
  for (let number = 1; ; number++) {
    try {
      await moveWithoutReplacing(part, `${part}.${number}`);
      return number;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return fail(`${named}.${number}`, error);
    }
  }
}

/** A rename would replace what has the name already; some file systems have no links. */
async function moveWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    const isTaken = await lstat(to).then(
      () => true,
      () => false,
    );
    if (isTaken) throw Object.assign(new Error(`${to} already exists`), { code: 'EEXIST' });
    return await rename(from, to);
  }
  await rm(from);
}

/** Our own .part, which may not be there where nothing in it counts. */
async function openAgain(part: string, named: string, length: number | undefined): Promise<FileHandle> {
  const flags = constants.O_RDWR | noFollow | (length ? 0 : constants.O_CREAT);
  const handle = await open(part, flags, 0o666).catch((error) => gone(named, error));
  const { size } = await handle.stat();
  if (size >= (length ?? 0)) return handle;
  await handle.close();
  throw changed(`${named} has ${size} bytes, but the run had written ${length}: it was changed since`);
}

function gone(named: string, error: unknown): never {
  if (codeOf(error) === 'ELOOP') throw new LocalIoError(`can't write ${named}: it is a symbolic link`);
  if (codeOf(error) !== 'ENOENT') return fail(named, error);
  throw changed(`${named} is gone: it held the rows of the earlier run`, error);
}
