import { constants } from 'node:fs';
import { access, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError, LocalIoError, UsageError } from '../errors.ts';
import { type Addition, addRows, toAddition } from '../files/addition.ts';
import { type FolderLock, lockLost } from '../files/folder-lock.ts';
import { syncFolder } from '../files/private-folder.ts';
import { statOrNothing, targetOf } from '../files/target.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import { type AppendTo, checkAppend, headerOf } from './append.ts';
import { changed, type Opening, openPart } from './part-file.ts';
import type { FileSink } from './sink.ts';

/** Makes the file out of its rows, which a format needs that can't be written row by row. */
export type Make = (part: string, write: (bytes: Uint8Array) => Promise<void>) => Promise<void>;

export interface FileSinkOptions {
  readonly opening?: Opening | undefined;
  /** Adds the rows to those that the file has, under the same header. */
  readonly append?: AppendTo | undefined;
  /** Prints that the rows of an earlier run, which stood in the .part, are in another file now. */
  readonly warn?: ((line: string) => void) | undefined;
  /** What makes the file of its rows, where these are not the file. */
  readonly make?: Make | undefined;
  /** To wait for the reader of a FIFO; without it there must be one. */
  readonly waiting?: Pick<Context, 'clock' | 'signal'> | undefined;
  /** Of the output: a run that has lost it puts nothing into place. */
  readonly lock?: FolderLock | undefined;
}

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
  if (existing !== undefined && !existing.isFile()) {
    const { openDirect, openFifo } = await import('./direct-sink.ts');
    return existing.isFIFO() ? await openFifo(path, waiting) : await openDirect(path);
  }
  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => fail(path, error));
  const lineEnd = (append && (await checkAppend(target, path, append)).lineEnd) ?? '\r\n';
  const part = `${target}.part`;
  const named = target === resolve(path) ? `${path}.part` : part;
  // Behind these bytes it is gone on with: what stands there is cut off with the first write.
  const start = typeof opening === 'object' && 'at' in opening ? opening.at : 0;
  const handle = await openPart(path, part, named, opening, warn);
  if (existing !== undefined) await handle.chmod(existing.mode & 0o777).catch(() => undefined);
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

  /** Whether what was opened is still what has the name: it may have been removed, or given another name by another run. */
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
    replaces: append === undefined && start === 0 && (existing?.size ?? 0) > 0,
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
          throw error instanceof LocalIoError
            ? error.with({
                hint: `The rows are in ${named}. Mend that, and run the same command again: what arrived is not bought again.`,
              })
            : error;
        });
      } finally {
        await handle.close();
      }
    },
    async discard() {
      if (await isInPlace()) await rm(part, { force: true });
      await handle.close().catch((error) => fail(path, error));
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
