import { type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadpipeError, LocalIoError, outputChanged } from '../errors.ts';
import { type Addition, addRows, toAddition } from '../files/addition.ts';
import { type FolderLock, lockLost } from '../files/folder-lock.ts';
import { syncFolder } from '../files/private-folder.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import { type AppendTo, checkAppend, headerOf } from './append.ts';
import type { Sink } from './sink.ts';

export interface FileSink extends Sink {
  /** Bytes of whole writes so far: where a resumed run goes on. Undefined for what has no length. */
  readonly length: number | undefined;
  /** Whether rows, and so the header, stood in the .part before. */
  readonly continued: boolean;
  /** How the lines of CSV end in the file that rows are added to. */
  readonly lineEnd: '\r\n' | '\n';
  /** Resolves when everything written is on the disk. */
  sync(): Promise<void>;
  /**
   * Everything is there: the file appears under its name, or its rows at the end of it, on the disk. `adding` is awaited before
   * rows are added.
   */
  commit(adding?: (addition: Addition) => Promise<void>): Promise<void>;
  /** The run was cut: closes, and returns the path of the file that holds its rows (undefined, and no file, without rows). */
  abandon(): Promise<string | undefined>;
}

/** Makes the file out of its rows, which a format needs that can't be written row by row. */
export type Make = (part: string, write: (bytes: Uint8Array) => Promise<void>) => Promise<void>;

interface PartOptions {
  /** What the user calls the file. */
  readonly path: string;
  readonly part: string;
  /** What the user calls the .part. */
  readonly named: string;
  readonly target: string;
  /** Behind these bytes it is gone on with. */
  readonly start: number;
  readonly append: AppendTo | undefined;
  readonly lineEnd: '\r\n' | '\n' | undefined;
  readonly make: Make | undefined;
  readonly lock: FolderLock | undefined;
}

/** What is no regular file takes what comes. */
export function createDirectSink(handle: FileHandle, path: string): FileSink {
  const close = () => handle.close().catch((error) => fail(path, error));
  return {
    length: undefined,
    continued: false,
    lineEnd: '\r\n',
    async write(text) {
      await handle.writeFile(text).catch((error) => fail(path, error));
    },
    sync: async () => {},
    commit: close,
    abandon: () => close().then(() => undefined),
  };
}

/** The .part that rows go to. What stands behind its start is cut off with the first write. */
export function createPartSink(handle: FileHandle, options: PartOptions): FileSink {
  const { path, part, named, target, start, append, lineEnd = '\r\n', make, lock } = options;
  let length = start;
  let isTrimmed = false;
  let broken: Error | undefined;

  async function trim(): Promise<void> {
    if (!isTrimmed) await handle.truncate(start).catch((error) => fail(named, error));
    isTrimmed = true;
  }

  async function write(text: string | Buffer): Promise<void> {
    if (broken !== undefined) throw broken;
    const bytes = Buffer.from(text);
    if (bytes.length === 0) return;
    await trim();
    let done = 0;
    try {
      while (done < bytes.length) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, length + done);
        done += bytesWritten;
      }
    } catch (error) {
      const failure = writeFailure(path, error);
      // Back to the last whole write.
      await handle.truncate(length).catch(() => {
        broken = failure;
      });
      throw failure;
    }
    length += bytes.length;
  }

  const sync = async (): Promise<void> => void (await handle.sync().catch((error) => fail(path, error)));

  /** Whether what was opened is still what has the name: it may have been removed, or put aside by another run. */
  async function isInPlace(): Promise<boolean> {
    const [ours, there] = await Promise.all([handle.stat(), lstat(part).catch(() => undefined)]);
    return ours.ino === there?.ino && ours.dev === there.dev;
  }

  /** Throws LocalIoError, with the file as it was. */
  async function add(to: AppendTo, adding: (addition: Addition) => Promise<void>): Promise<void> {
    const header = to.format === 'csv' ? await headerOf(handle) : undefined;
    const wanted = { format: to.format, ...(header && { header: header.cells }) };
    // Since it was opened, others may have added rows, or replaced it.
    const { length: at, before } = await checkAppend(target, path, wanted).catch((error: LeadpipeError) => {
      throw changed(`${error.message}: it was changed while this run was writing ${named}`, error);
    });
    const from = at > 0 && header !== undefined ? header.length : 0;
    if (from === length && at > 0) return await rm(part);
    const rows = { file: handle, from, before };
    await adding(await toAddition(rows, at));
    await addRows(path, target, rows, at);
  }

  async function replace(): Promise<void> {
    const whole = make === undefined ? part : `${part}.made`;
    try {
      if (make !== undefined) await makeFile(part, whole, make);
      await rename(whole, target);
    } catch (error) {
      if (make !== undefined) await rm(whole, { force: true }).catch(() => undefined);
      throw error instanceof LeadpipeError ? error : writeFailure(path, error);
    }
    if (make !== undefined) await rm(part, { force: true });
    await syncFolder(dirname(target));
  }

  return {
    get length() {
      return length;
    },
    continued: start > 0,
    lineEnd,
    write,
    sync,
    async commit(adding = async () => {}) {
      try {
        await trim();
        await sync();
        if (!(await isInPlace())) {
          throw changed(
            `${named} was moved or replaced while this run was writing it; ${path} was not changed`,
          );
        }
        if (lock?.isHeld() === false) throw lockLost(path);
        await (append === undefined ? replace() : add(append, adding)).catch((error: unknown) => {
          throw error instanceof LocalIoError ? error.with({ hint: `The rows are in ${named}.` }) : error;
        });
      } finally {
        await handle.close();
      }
    },
    async abandon() {
      const isEmpty = (await handle.stat()).size === 0;
      if (isEmpty && (await isInPlace())) await rm(part, { force: true });
      // A cut run is reported as such; a disk that also fails to sync must not hide that.
      else await sync().catch(() => undefined);
      await handle.close().catch((error) => fail(path, error));
      return isEmpty ? undefined : named;
    },
  };
}

async function makeFile(part: string, path: string, make: Make): Promise<void> {
  const { mode } = await stat(part);
  await rm(path, { force: true });
  const handle = await open(path, 'wx', mode & 0o777);
  try {
    await make(part, async (bytes) => void (await handle.appendFile(bytes)));
    await handle.chmod(mode & 0o777).catch(() => undefined);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The error of a file that is not as it was left. */
export function changed(message: string, cause?: unknown): LocalIoError {
  return new LocalIoError(message, { type: outputChanged, ...(cause === undefined ? {} : { cause }) });
}
