import { fstatSync, type Stats } from 'node:fs';
import { type FileHandle, link } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Context, LockContext } from '../context.ts';
import { LeadpipeError, LocalIoError, outputChanged, UsageError } from '../errors.ts';
import { type Addition, addToFile } from '../files/addition.ts';
import { codeOf } from '../files/error-code.ts';
import { checkLockPath, LockLostError, withLock } from '../files/folder-lock.ts';
import {
  type Announce,
  createTemporaryFile,
  isThere,
  removeTemporaryFile,
  renameOverTarget,
  type TemporaryFile,
} from '../files/own-file.ts';
import { syncFolder } from '../files/private-folder.ts';
import { checkReplaceable, checkWritable, copyPermissions } from '../files/replacement.ts';
import { descriptorOf, statOrNothing, targetOf } from '../files/target.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import type { Appending } from './append.ts';
import { openDirect } from './sink.ts';

/** What a sink needs of the machine: to wait, and to lock the step that adds rows. */
export type SinkContext = LockContext & Pick<Context, 'signal'>;

export interface FileSinkOptions {
  /** The file must be new: a file that appears meanwhile is not replaced. */
  readonly isNew: boolean;
  /** How the rows are added to the file; undefined if they replace it. */
  readonly append: ((target: string) => Promise<Appending>) | undefined;
  /** Makes the file from its rows, for a format that can't be written row by row. */
  readonly make: Making | undefined;
  readonly announce: Announce;
}

export interface Making {
  /** The format in words, such as `a workbook`. */
  readonly what: string;
  /** Throws if the existing file may not be replaced. `path` is the name that the user gave. */
  check?(target: string, path: string): Promise<void>;
  /** Writes it into `to`, which is empty. Returns warnings about what the format has no room for. */
  write(rows: FileHandle, to: FileHandle): Promise<readonly string[]>;
}

/** Awaited right before the file is replaced or rows are added (`addition`: which, and where). An error prevents that. */
export type Placing = (addition?: Addition) => Promise<void>;

/** The real path of a complete file, and warnings. */
export interface Committed {
  readonly target: string;
  readonly warnings: readonly string[];
}

/**
 * The file of `-o`. The rows go into a temporary file of this run next to it. It is opened here, before anything is sent, and renamed over the
 * file at the end: a reader sees the whole file or the old one. Special files (a FIFO, /dev/null) are written directly. Throws LocalIoError for
 * a file that can't be written or replaced; UsageError for a folder, or a file that can't be appended to.
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
    // A full disk allows an empty file, and fails at its first byte.
    await own.handle.appendFile('\n');
    await own.handle.truncate(0);
  } catch (error) {
    await removeTemporaryFile(own).catch(() => undefined);
    await own.handle.close();
    throw error instanceof LeadpipeError ? error : writeFailure(path, error);
  }
  let isEmpty = true;
  /** The file with the rows, after they could not be put in place. */
  let left: string | undefined;
  let isClosed = false;

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
      else if (!(await renameOverTarget(whole, target))) throw moved(named, path);
      if (isNew) await removeTemporaryFile(whole);
    } catch (error) {
      if (whole !== own) await removeTemporaryFile(whole).catch(() => undefined);
      if (!isNew || codeOf(error) !== 'EEXIST') throw error;
      await removeTemporaryFile(own);
      throw new UsageError(`${path} already exists`, 'Choose another name.');
    } finally {
      if (whole !== own) await whole.handle.close();
    }
    if (whole !== own) await removeTemporaryFile(own);
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
        await removeTemporaryFile(whole).catch(() => undefined);
        throw error;
      } finally {
        await whole.handle.close();
      }
    });
    await removeTemporaryFile(own);
    return [];
  }

  return {
    isPipe: false,
    /** Whether it would replace a file that is not empty. */
    replaces: appending === undefined && (existing?.size ?? 0) > 0,
    /** The line end of the CSV file that rows are added to, and its delimiter, if it has any rows. */
    lineEnd: appending?.lineEnd,
    delimiter: appending?.delimiter,
    /** Writes the text. Resolves when it is written (back-pressure). */
    async write(text: string): Promise<void> {
      if (text === '') return;
      const { size } = fstatSync(own.handle.fd);
      try {
        await own.handle.appendFile(text);
      } catch (error) {
        // Remove the incomplete row.
        await own.handle.truncate(size).catch(() => undefined);
        throw writeFailure(path, error);
      }
      isEmpty = false;
    },
    /** After the last write: puts the file in place, or adds the rows to it, and syncs the disk. */
    async commit(placing: Placing): Promise<Committed> {
      try {
        await sync();
        const warnings = await (appending === undefined ? replace(placing) : add(appending, placing));
        return { target, warnings };
      } catch (thrown) {
        const error = thrown instanceof LeadpipeError ? thrown : writeFailure(path, thrown);
        if (error instanceof LockLostError || error.details.type === outputChanged) throw error;
        if (!(await isThere(own))) throw error instanceof LocalIoError ? moved(named, path) : error;
        left = named;
        throw error.with({}, `${error.words}. The rows are in ${named}`);
      } finally {
        isClosed = true;
        await own.handle.close();
      }
    },
    /**
     * For a run that was cut, or brought `nothing`: closes the output, and returns the path of its temporary file. Without rows, removes that
     * file and returns undefined.
     */
    async abandon(nothing = false): Promise<string | undefined> {
      if (isClosed) return left;
      // A failing disk must not hide that the run was cut.
      const end = nothing || isEmpty ? removeTemporaryFile(own) : sync();
      await end.catch(() => undefined);
      await own.handle.close().catch((error) => fail(path, error));
      return nothing || isEmpty ? undefined : named;
    },
  };
}

/** A temporary file of this run, with the permissions of the file that it will replace. */
async function makeBeside(
  path: string,
  target: string,
  existing: Stats | undefined,
  announce: Announce,
): Promise<TemporaryFile> {
  const own = await createTemporaryFile(target, announce, existing && 0o600).catch((error: unknown) => {
    if (error instanceof LeadpipeError) throw error;
    if (existing === undefined) return fail(path, error);
    const hint =
      'Rows are first written to a temporary file next to it. Make the folder writable, or write to a file in another folder.';
    throw writeFailure(`a file next to ${path}`, error).with({ hint });
  });
  if (existing !== undefined) await copyPermissions(own.handle, existing);
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
