import { constants } from 'node:fs';
import { access, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LocalIoError, UsageError } from '../errors.ts';
import { type AppendTo, checkAppend } from './append.ts';
import type { Sink } from './sink.ts';
import { statOrNothing, syncDirectory, targetOf } from './target.ts';
import { codeOf, writeFailure } from './write-failure.ts';

export interface FileSink extends Sink {
  /** Bytes of whole writes in the file so far: where a resumed run goes on. */
  readonly length: number;
  /** Whether the file held rows, and so the header, before this run. */
  readonly continued: boolean;
  /** How the lines of an existing CSV file end. */
  readonly lineEnd: '\r\n' | '\n';
  /** Resolves when everything written is on the disk. */
  sync(): Promise<void>;
  /** Everything is there: the file appears under its name, on the disk. */
  commit(): Promise<void>;
  /** The run was cut: closes, and returns the path of the file that holds its rows (undefined, and no file, without rows). */
  abandon(): Promise<string | undefined>;
  /** Closes and removes what is not worth keeping; rows that were appended stay. */
  discard(): Promise<void>;
}

export interface FileSinkOptions {
  /** Adds rows to the file itself, under the same header. */
  readonly append?: AppendTo | undefined;
  /** Goes on with the file of a cut run at this length; what is behind it was never counted, and is cut off. */
  readonly resumeAt?: number | undefined;
}

/**
 * The file of `-o`. Its rows go to `<file>.part` beside it, which replaces it when complete: a reader sees a whole
 * file or the old one. The .part is made here, exclusively, before anything is sent to the service. What is not a
 * regular file (a FIFO, /dev/null) is written directly.
 *
 * @throws LocalIoError when it can't be written; UsageError when it can't be appended to.
 */
export async function createFileSink(path: string, options: FileSinkOptions = {}): Promise<FileSink> {
  const existing = await statOrNothing(path);
  if (existing?.isDirectory()) throw new LocalIoError(`cannot write ${path}: it is a directory`);
  if (options.append !== undefined && options.append.format !== 'csv' && options.append.format !== 'jsonl') {
    throw new UsageError('--append goes with jsonl and csv', 'give -f jsonl or -f csv');
  }
  if (existing !== undefined && !existing.isFile()) return openDirectly(path);
  if (options.append !== undefined) return openForAppend(path, options.append, options.resumeAt);

  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => fail(path, error));
  const part = `${target}.part`;
  const named = target === resolve(path) ? `${path}.part` : part;
  const handle =
    options.resumeAt === undefined || (options.resumeAt === 0 && (await statOrNothing(part)) === undefined)
      ? await openNew(path, part, named)
      : await openAgain(part, named, options.resumeAt);
  if (existing !== undefined) await handle.chmod(existing.mode & 0o777).catch(() => undefined);
  return new OpenFile(handle, { path, part: { at: part, named, target }, length: options.resumeAt ?? 0 });
}

/**
 * Puts a whole .part of this length in place. One that is there already, because only the news of it was lost, is
 * left alone. Throws LocalIoError.
 */
export async function placeWritten(path: string, length: number): Promise<void> {
  const target = await targetOf(path);
  const placed = await statOrNothing(target);
  const isPlaced = placed?.size === length && (await statOrNothing(`${target}.part`)) === undefined;
  if (!isPlaced) await (await createFileSink(path, { resumeAt: length })).commit();
}

interface OpenFileOptions {
  readonly path: string;
  /** Where the rows are until the file is complete; absent when they go to the file itself. */
  readonly part?: { readonly at: string; readonly named: string; readonly target: string };
  /** Undefined for what has no length. */
  readonly length?: number | undefined;
  readonly lineEnd?: '\r\n' | '\n';
  /** What has to come before the first row: the line end that the file lacks. */
  readonly before?: string;
}

class OpenFile implements FileSink {
  readonly continued: boolean;
  readonly lineEnd: '\r\n' | '\n';
  readonly #handle: FileHandle;
  readonly #options: OpenFileOptions;
  readonly #start: number;
  #length: number;
  #before: string;
  #torn: Error | undefined;

  constructor(handle: FileHandle, options: OpenFileOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#start = options.length ?? 0;
    this.#length = this.#start;
    this.#before = options.before ?? '';
    this.continued = this.#start > 0;
    this.lineEnd = options.lineEnd ?? '\r\n';
  }

  get length(): number {
    return this.#length;
  }

  async write(text: string): Promise<void> {
    if (this.#torn !== undefined) throw this.#torn;
    if (text === '') return;
    const bytes = Buffer.from(this.#before + text);
    const positioned = this.#options.part !== undefined;
    let done = 0;
    try {
      while (done < bytes.length) {
        const position = positioned ? this.#length + done : null;
        const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, position);
        done += bytesWritten;
      }
    } catch (error) {
      const failure = writeFailure(this.#options.path, error);
      if (done > 0 && !(await this.#cutBack(done))) this.#torn = failure;
      throw failure;
    }
    this.#before = '';
    this.#length += bytes.length;
  }

  async sync(): Promise<void> {
    if (this.#options.length === undefined) return;
    await this.#handle.sync().catch((error) => fail(this.#options.path, error));
  }

  async commit(): Promise<void> {
    await this.sync();
    await this.#close();
    const { part, path } = this.#options;
    if (part === undefined) return;
    try {
      await rename(part.at, part.target);
    } catch (error) {
      const failure = writeFailure(path, error);
      throw new LocalIoError(failure.message, { hint: `the rows are in ${part.named}`, cause: error });
    }
    await syncDirectory(dirname(part.target));
  }

  async abandon(): Promise<string | undefined> {
    const { part, path } = this.#options;
    if (part !== undefined && this.#length === 0) {
      await this.discard();
      return undefined;
    }
    // A cut run is reported as such; a disk that also fails to sync must not hide that.
    await this.sync().catch(() => undefined);
    await this.#close();
    if (part !== undefined) return part.named;
    return this.#options.length !== undefined && this.#length > this.#start ? path : undefined;
  }

  async discard(): Promise<void> {
    await this.#close();
    if (this.#options.part !== undefined) await rm(this.#options.part.at, { force: true });
  }

  async #close(): Promise<void> {
    await this.#handle.close().catch((error) => fail(this.#options.path, error));
  }

  /** After a write that stopped half-way: back to the last whole one, unless another process has written since. */
  async #cutBack(done: number): Promise<boolean> {
    if (this.#options.length === undefined) return false;
    try {
      if ((await this.#handle.stat()).size !== this.#length + done) return false;
      await this.#handle.truncate(this.#length);
      return true;
    } catch {
      return false;
    }
  }
}

async function openDirectly(path: string): Promise<FileSink> {
  const handle = await open(path, constants.O_WRONLY).catch((error) => fail(path, error));
  return new OpenFile(handle, { path });
}

async function openForAppend(
  path: string,
  append: AppendTo,
  resumeAt: number | undefined,
): Promise<FileSink> {
  const handle = await open(path, 'a+').catch((error) => fail(path, error));
  try {
    if (resumeAt !== undefined) await cutTo(handle, path, resumeAt);
    const state = await checkAppend(handle, path, append);
    return new OpenFile(handle, { path, ...state });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openNew(path: string, part: string, named: string): Promise<FileHandle> {
  try {
    return await open(part, 'wx');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return fail(path, error);
    throw new LocalIoError(
      `${named} exists: it holds the rows of an earlier run, or of one that is still at work; nothing was overwritten`,
      { hint: `finish that run, or move or remove ${named}`, charged: 'no', cause: error },
    );
  }
}

async function openAgain(part: string, named: string, length: number): Promise<FileHandle> {
  const handle = await open(part, 'r+').catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') return fail(named, error);
    throw new LocalIoError(`${named} is gone: it held the rows of the earlier run`, { cause: error });
  });
  try {
    await cutTo(handle, named, length);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function cutTo(handle: FileHandle, named: string, length: number): Promise<void> {
  const { size } = await handle.stat();
  if (size < length) {
    throw new LocalIoError(
      `${named} has ${size} bytes, but the run had written ${length}: it was changed since`,
    );
  }
  if (size > length) await handle.truncate(length).catch((error) => fail(named, error));
}

function fail(path: string, error: unknown): never {
  throw writeFailure(path, error);
}
