import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError, LocalIoError, outputChanged, UsageError } from '../errors.ts';
import { type Addition, blocksOf } from '../files/addition.ts';
import { codeOf } from '../files/error-code.ts';
import { type HeldLock, LockLostError } from '../files/folder-lock.ts';
import { noFollow } from '../files/line-log.ts';
import { syncFolder } from '../files/private-folder.ts';
import { failToOpen, replaceFile, tryReplacement } from '../files/replacement.ts';
import { descriptorOf, type Opening, statOrNothing, targetOf } from '../files/target.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import type { Appended } from './append.ts';
import { openDirect } from './sink.ts';

interface FileSinkOptions {
  readonly opening?: Opening | undefined;
  /** The file is a new one: another that appears meanwhile is not replaced. */
  readonly isNew?: boolean | undefined;
  /** Adds the rows to the file: to CSV under the same header, whose cells are given, to a database, else to JSONL. */
  readonly append?: Appended | { readonly isDatabase: true } | undefined;
  /** Prints where the rows of an earlier run are now, if they stood in the .part. */
  readonly warn: (line: string) => void;
  /** Makes the file from its rows, for a format that can't be written row by row. */
  readonly make?: Making | undefined;
  /** For the wait for the reader of a FIFO. */
  readonly waiting: Pick<Context, 'clock' | 'signal'>;
  /** The lock of the output. */
  readonly lock: HeldLock;
}

export interface Making {
  /** Throws where the file that is there may not be replaced. `path` is what the user calls it. */
  check?(target: string, path: string): Promise<void>;
  /** `made` is the name of the file, which is there, and empty. */
  write(part: string, file: FileHandle, made: string): Promise<void>;
  /** What needs a regular file, in words. */
  readonly what: string;
  readonly isDatabase?: boolean;
}

/**
 * The file of `-o`. Its rows go to `<file>.part` beside it, which replaces it when complete, or is added to it: a reader sees a
 * whole file or the old one, unless that can only be written in place. The .part is opened here, before anything is sent to the service. What is not a regular
 * file (a FIFO, /dev/null) is written directly. A run that has lost the lock of the output changes nothing more.
 *
 * @throws LocalIoError when it can't be written; LockLostError; UsageError when it is a folder, or can't be appended to.
 */
export async function createFileSink(path: string, options: FileSinkOptions) {
  const { append, isNew, lock, make, opening = 'new', waiting, warn } = options;
  const existing = await statOrNothing(path);
  if (existing !== undefined && !existing.isFile()) {
    const isFolder = existing.isDirectory();
    if (!isFolder && make === undefined) return await openDirect(path, existing.isFIFO(), waiting);
    const why = isFolder ? 'it is a folder' : `${make?.what} needs a regular file`;
    throw new UsageError(`can't write ${path}: ${why}`, 'Give the name of a file.');
  }
  if (existing !== undefined && append === undefined && descriptorOf(path) !== undefined) {
    const why = 'it would replace the file that is open there';
    throw new UsageError(`can't write ${path}: ${why}`, 'Give the name of the file.');
  }
  const target = await targetOf(path);
  if (existing !== undefined) await access(target, constants.W_OK).catch((error) => failToOpen(path, error));
  if (append === undefined) await make?.check?.(target, path);
  const appended = append && (await openAddition(target, path, append, lock));
  const isDatabase = append === undefined ? make?.isDatabase : 'isDatabase' in append;
  const isReplaced = append === undefined || isDatabase;
  const why = existing && isReplaced ? await tryReplacement(path, target, existing) : undefined;
  if (why !== undefined && isDatabase) {
    // A kill while it is written would leave a damaged one.
    throw new LocalIoError(`can't write ${path}: it ${why}, and a database is never written in place`, {
      hint: 'Write to another file. If this one is mounted, mount its folder instead.',
    });
  }
  const part = `${target}.part`;
  const named = target === resolve(path) ? `${path}.part` : part;
  // Of the .part of an earlier run, this many bytes are kept at the first write.
  const start = opening === 'new' ? 0 : opening.at;
  let handle = await openPart(path, part, named, opening, warn).catch((error: unknown) => {
    // Another run that took over may be why.
    lock.confirm();
    throw error;
  });
  const mode = (existing ?? (await handle.stat())).mode & 0o777;
  if (existing !== undefined) await handle.chmod(mode).catch(() => undefined);
  let length = start;
  let isOwn = opening === 'new';
  let isCut = isOwn;

  /** Cuts off what stands behind the last complete write: of an earlier run, or of a write that failed. */
  async function cutBack(): Promise<void> {
    lock.confirm();
    if (isCut) return;
    if (isOwn) await handle.truncate(length).catch((error) => fail(named, error));
    else handle = await takeOver(handle, part, named, length, lock);
    isOwn = true;
    isCut = true;
    // The process may have been stopped meanwhile, and a write follows.
    lock.confirm();
  }

  const sync = (): Promise<void> => handle.sync().catch((error) => fail(path, error));

  /** Whether the name still means the file that was opened: it may have been removed, or renamed by another run. */
  async function isInPlace(): Promise<boolean> {
    const [ours, there] = await Promise.all([handle.stat(), lstat(part).catch(() => undefined)]);
    return ours.ino === there?.ino && ours.dev === there.dev;
  }

  /** Throws LocalIoError; UsageError if the file must be new and is not. */
  async function replace(): Promise<void> {
    const whole = make === undefined ? part : `${target}.made`;
    let made: FileHandle | undefined;
    try {
      if (make !== undefined) {
        await rm(whole, { force: true });
        const file = await open(whole, 'ax+', mode);
        made = file;
        await make.write(part, file, whole);
        await file.chmod(mode).catch(() => undefined);
        await file.sync();
      }
      await make?.check?.(target, path);
      lock.confirm();
      if (isNew) await link(whole, target);
      else await replaceFile(path, target, { path: whole, file: made ?? handle }, lock);
    } catch (error) {
      if (error instanceof LockLostError) throw error;
      if (make !== undefined) await rm(whole, { force: true }).catch(() => undefined);
      if (isNew && codeOf(error) === 'EEXIST') {
        await rm(part, { force: true });
        throw new UsageError(`${path} is there already`, 'Choose another name.');
      }
      throw error instanceof LeadpipeError ? error : writeFailure(path, error);
    } finally {
      await made?.close();
    }
    if (isNew) await rm(whole, { force: true });
    if (make !== undefined) await rm(part, { force: true });
    await syncFolder(dirname(target));
  }

  return {
    /** Bytes of complete writes so far, where a resumed run continues. Undefined where the output has no length. */
    get length() {
      return length;
    },
    /** Whether the .part had rows, and so a header, before. */
    continued: start > 0,
    /** Whether it would replace a file that is not empty. */
    replaces: appended === undefined && start === 0 && (existing?.size ?? 0) > 0,
    /** What is said before anything is bought, if it will be written in place. */
    note: why && `${path} ${why}. At the end it is written in place, from ${named}.`,
    /** The line end of the CSV file that rows are added to, and its delimiter, if it has any rows. */
    lineEnd: appended?.lineEnd,
    delimiter: appended?.delimiter,
    /** Writes all of the text at once. Resolves when it has been taken, so that no one gets ahead of the reader. */
    async write(text: string): Promise<void> {
      await cutBack();
      const bytes = Buffer.from(text);
      try {
        await handle.appendFile(bytes);
      } catch (error) {
        isCut = false;
        await cutBack().catch(() => undefined);
        throw writeFailure(path, error);
      }
      length += bytes.length;
    },
    /** Resolves when everything written is on the disk. */
    sync,
    /**
     * Everything has been written: the file appears, or the rows are added to it, on the disk. `adding` is awaited before rows are added.
     */
    async commit(adding: (addition: Addition) => Promise<void> = async () => {}): Promise<void> {
      try {
        await cutBack();
        await sync();
        lock.confirm();
        if (!(await isInPlace())) {
          const what = 'was moved or replaced while this run was writing it';
          throw changed(`${named} ${what}; ${path} was not changed`);
        }
        await (appended === undefined ? replace() : appended.add(handle, named, length, adding)).catch(
          (thrown: unknown) => {
            const error = thrown instanceof LeadpipeError ? thrown : writeFailure(path, thrown);
            const hint = `The rows are in ${named}. Fix that, and run the same command again: what arrived is not bought again.`;
            throw error instanceof LocalIoError ? error.with({ hint }) : error;
          },
        );
      } finally {
        await handle.close();
      }
    },
    /**
     * The run was cut, or has brought `nothing`. Closes the output, and returns the path of the file with its rows; without rows,
     * undefined, and there is no file. Undefined, too, where another run has taken over: the file is that run's.
     */
    async abandon(nothing = false): Promise<string | undefined> {
      try {
        lock.confirm();
      } catch {
        return void (await handle.close());
      }
      const isEmpty = nothing || (await handle.stat()).size === 0;
      const end = isEmpty && (await isInPlace()) ? rm(part, { force: true }) : sync();
      // A failing disk must not hide that the run was cut.
      await end.catch(() => undefined);
      await handle.close().catch((error) => fail(path, error));
      return isEmpty ? undefined : named;
    },
  };
}

async function openAddition(
  target: string,
  path: string,
  append: NonNullable<FileSinkOptions['append']>,
  lock: HeldLock,
) {
  if (!('isDatabase' in append))
    return await (await import('./append.ts')).openAppend(target, path, append, lock);
  return await (await import('../files/database-rows.ts')).openDatabaseAddition(target, path, lock);
}

/** Opens the .part of `path`, to be read and added to; `named` is what the user calls it. Throws LocalIoError. */
async function openPart(
  path: string,
  part: string,
  named: string,
  opening: Opening,
  warn: (line: string) => void,
): Promise<FileHandle> {
  if (opening === 'new') {
    await evict(part, named, warn).catch((error) => fail(named, error));
    return await open(part, 'ax+').catch((error) => fail(path, error));
  }
  const length = opening.at;
  const flags = constants.O_RDWR | constants.O_APPEND | noFollow | (length > 0 ? 0 : constants.O_CREAT);
  const handle = await open(part, flags, 0o666).catch((error) => {
    if (codeOf(error) === 'ELOOP') throw new LocalIoError(`can't write ${named}: it is a symbolic link`);
    if (codeOf(error) !== 'ENOENT') return fail(named, error);
    throw changed(`${named} is gone: it held the rows of the earlier run`, error);
  });
  const { size } = await handle.stat();
  if (size >= length) return handle;
  await handle.close();
  throw changed(`${named} has ${size} bytes, but the run had written ${length}: it was changed since`);
}

/**
 * The first `length` bytes of the .part of an earlier run, in a file of this run's own, which takes its name. The process of that
 * run may have been stopped between its look at the lock and a write: what it then writes goes into a file that has no name any more. Throws LocalIoError and LockLostError.
 */
async function takeOver(old: FileHandle, part: string, named: string, length: number, lock: HeldLock) {
  const copy = `${part}.resumed`;
  let file: FileHandle | undefined;
  try {
    await rm(copy, { force: true });
    file = await open(copy, 'ax+');
    await file.chmod((await old.stat()).mode & 0o777).catch(() => undefined);
    for await (const block of blocksOf({ file: old, from: 0, to: length })) await file.appendFile(block);
    // The journal counts on these bytes.
    if (length > 0) await file.sync();
    lock.confirm();
    await rename(copy, part);
    await syncFolder(dirname(part));
  } catch (error) {
    await file?.close();
    throw error instanceof LeadpipeError ? error : writeFailure(named, error);
  }
  await old.close();
  return file;
}

/** Renames what another run has left there to the next free name. A .part without rows is removed. */
async function evict(part: string, named: string, warn: (line: string) => void): Promise<void> {
  const at = (path: string): Promise<Stats | undefined> => lstat(path).catch(() => undefined);
  if (!(await at(part))?.size) return await rm(part, { force: true });
  let number = 1;
  while ((await at(`${part}.${number}`)) !== undefined) number++;
  await rename(part, `${part}.${number}`);
  warn(`${named} held rows of an earlier run. They are now in ${named}.${number}.`);
}

/** The error of a file that has changed meanwhile. */
function changed(message: string, cause?: unknown): LocalIoError {
  return new LocalIoError(message, { type: outputChanged, cause });
}
