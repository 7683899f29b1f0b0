import { fstatSync, type Stats } from 'node:fs';
import { type FileHandle, link } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError, LocalIoError, outputChanged, UsageError } from '../errors.ts';
import { type Addition, addToFile } from '../files/addition.ts';
import { codeOf } from '../files/error-code.ts';
import { checkLockPath, LockLostError, withLock } from '../files/folder-lock.ts';
import {
  type Announce,
  isThere,
  makeOwnFile,
  type OwnFile,
  placeOwnFile,
  removeOwnFile,
} from '../files/own-file.ts';
import { syncFolder } from '../files/private-folder.ts';
import { checkReplaceable, checkWritable, takeRights } from '../files/replacement.ts';
import { descriptorOf, statOrNothing, targetOf } from '../files/target.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import type { Appending } from './append.ts';
import { openDirect } from './sink.ts';

/** What a sink needs of the machine: to wait, and to lock the step that adds rows. */
export type SinkContext = Pick<Context, 'clock' | 'signal' | 'pid' | 'random'>;

export interface FileSinkOptions {
  /** The file is a new one: another that appears meanwhile is not replaced. */
  readonly isNew: boolean;
  /** How the rows are added to those in the file; undefined where they replace it. */
  readonly append: ((target: string) => Promise<Appending>) | undefined;
  /** Makes the file from its rows, for a format that can't be written row by row. */
  readonly make: Making | undefined;
  readonly announce: Announce;
}

export interface Making {
  /** What needs a regular file, in words. */
  readonly what: string;
  /** Throws where the file that is there may not be replaced. `path` is what the user calls it. */
  check?(target: string, path: string): Promise<void>;
  /** Writes it into `to`, which is empty. Returns warnings about what the format has no room for. */
  write(rows: FileHandle, to: FileHandle): Promise<readonly string[]>;
}

/** Is awaited right before a file is put in its place, or rows are added to it: then it gets what is added, and where. What it throws prevents that. */
export type Placing = (addition?: Addition) => Promise<void>;

/** What has become of a complete file: its real path, and warnings. */
export interface Committed {
  readonly target: string;
  readonly warnings: readonly string[];
}

/**
 * The file of `-o`. The rows go into a file of this run's own beside it, which is opened here, before anything is sent, and is renamed over it when it is
 * complete: a reader sees a whole file or the old one, and no other run touches it. What is not a regular file (a FIFO, /dev/null) is written directly.
 * Throws LocalIoError when it can't be written or replaced; UsageError when it is a folder, or can't be appended to.
 */
export async function createFileSink(path: string, context: SinkContext, options: FileSinkOptions) {
  const { announce, isNew, make } = options;
  const existing = await statOrNothing(path);
  if (existing !== undefined && !existing.isFile()) {
    const isFolder = existing.isDirectory();
    if (!isFolder && make === undefined) return await openDirect(path, existing.isFIFO(), context);
    const why = isFolder ? 'it is a folder' : `${make?.what} needs a regular file`;
    throw new UsageError(`can't write ${path}: ${why}`, 'Give the name of a file.');
  }
  if (existing !== undefined && descriptorOf(path) !== undefined) {
    const why = 'it would replace the file that is open there';
    throw new UsageError(`can't write ${path}: ${why}`, 'Give the name of the file.');
  }
  const target = await targetOf(path);
  if (existing !== undefined) await checkWritable(path, target);
  await make?.check?.(target, path);
  const appending = await options.append?.(target);
  const own = await makeBeside(path, target, existing, announce);
  const named = target === resolve(path) ? `${path}${own.path.slice(target.length)}` : own.path;
  try {
    if (existing !== undefined) await checkReplaceable(path, target, existing, own.handle);
    if (appending !== undefined) checkLockPath(lockOf(target));
    // A disk without any room lets files be made, and refuses their first byte.
    await own.handle.appendFile('\n');
    await own.handle.truncate(0);
  } catch (error) {
    await removeOwnFile(own).catch(() => undefined);
    await own.handle.close();
    throw error instanceof LeadpipeError ? error : writeFailure(path, error);
  }
  let isEmpty = true;

  const sync = (): Promise<void> => own.handle.sync().catch((error) => fail(path, error));

  /** Throws LocalIoError; UsageError if the file must be new and is not. */
  async function replace(placing: Placing): Promise<readonly string[]> {
    let whole = own;
    let warnings: readonly string[] = [];
    try {
      if (make !== undefined) {
        whole = await makeBeside(path, target, existing, announce);
        warnings = await make.write(own.handle, whole.handle);
        await whole.handle.sync();
        await make.check?.(target, path);
      }
      await placing();
      if (isNew) await link(whole.path, target).then(() => syncFolder(dirname(target)));
      else if (!(await placeOwnFile(whole, target))) throw moved(named, path);
      if (isNew) await removeOwnFile(whole);
    } catch (error) {
      if (whole !== own) await removeOwnFile(whole).catch(() => undefined);
      if (!isNew || codeOf(error) !== 'EEXIST') throw error;
      await removeOwnFile(own);
      throw new UsageError(`${path} is there already`, 'Choose another name.');
    } finally {
      if (whole !== own) await whole.handle.close();
    }
    if (whole !== own) await removeOwnFile(own);
    return warnings;
  }

  async function add(rows: Appending, placing: Placing): Promise<readonly string[]> {
    await withLock(lockOf(target), context, path, async (lock) => {
      if (await rows.isNothing(own.handle, target)) return;
      const whole = await makeBeside(path, target, existing, announce);
      try {
        const noted = async (addition: Addition): Promise<void> => {
          await placing(addition);
          lock.confirm();
        };
        await addToFile(path, target, whole, rows.write(own.handle), noted);
      } catch (error) {
        await removeOwnFile(whole).catch(() => undefined);
        throw error;
      } finally {
        await whole.handle.close();
      }
    });
    await removeOwnFile(own);
    return [];
  }

  return {
    isPipe: false,
    /** Whether it would replace a file that is not empty. */
    replaces: appending === undefined && (existing?.size ?? 0) > 0,
    /** The line end of the CSV file that rows are added to, and its delimiter, if it has any rows. */
    lineEnd: appending?.lineEnd,
    delimiter: appending?.delimiter,
    /** Writes all of the text at once. Resolves when it has been taken, so that no one gets ahead of the reader. */
    async write(text: string): Promise<void> {
      if (text === '') return;
      const { size } = fstatSync(own.handle.fd);
      try {
        await own.handle.appendFile(text);
      } catch (error) {
        // No row stays of which a part is missing.
        await own.handle.truncate(size).catch(() => undefined);
        throw writeFailure(path, error);
      }
      isEmpty = false;
    },
    /** Everything has been written: the file appears, or the rows are added to it, on the disk. */
    async commit(placing: Placing): Promise<Committed> {
      try {
        await sync();
        const warnings = await (appending === undefined ? replace(placing) : add(appending, placing));
        return { target, warnings };
      } catch (thrown) {
        const error = thrown instanceof LeadpipeError ? thrown : writeFailure(path, thrown);
        if (error instanceof LockLostError || error.details.type === outputChanged) throw error;
        if (!(await isThere(own))) throw error instanceof LocalIoError ? moved(named, path) : error;
        throw error.with({}, `${error.words}. The rows are in ${named}`);
      } finally {
        await own.handle.close();
      }
    },
    /**
     * The run was cut, or has brought `nothing`. Closes the output, and returns the path of the file with its rows; without rows, undefined, and there is
     * no file.
     */
    async abandon(nothing = false): Promise<string | undefined> {
      // A failing disk must not hide that the run was cut.
      const end = nothing || isEmpty ? removeOwnFile(own) : sync();
      await end.catch(() => undefined);
      await own.handle.close().catch((error) => fail(path, error));
      return nothing || isEmpty ? undefined : named;
    },
  };
}

/** A file of this run's own with the rights of the one that it will replace. */
async function makeBeside(
  path: string,
  target: string,
  existing: Stats | undefined,
  announce: Announce,
): Promise<OwnFile> {
  const own = await makeOwnFile(target, announce, existing && 0o600).catch((error: unknown) => {
    if (error instanceof LeadpipeError) throw error;
    if (existing === undefined) return fail(path, error);
    const hint =
      'Rows are first written to a temporary file next to it. Make the folder writable, or write to a file in another folder.';
    throw writeFailure(`a file next to ${path}`, error).with({ hint });
  });
  if (existing !== undefined) await takeRights(own.handle, existing);
  return own;
}

/** The lock of the step that adds rows to a file. */
function lockOf(target: string): string {
  return `${target}.lock`;
}

function moved(named: string, path: string): LocalIoError {
  const what = 'is gone: it, or its folder, was moved or removed while this run was writing it';
  return new LocalIoError(`${named} ${what}; ${path} was not changed`, { type: outputChanged });
}
