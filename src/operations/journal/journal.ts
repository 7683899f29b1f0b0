import { constants, writeSync } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LeadpipeError, LocalIoError, UsageError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { type FolderLock, lockFolder, lockLost } from '../../files/folder-lock.ts';
import { makePrivateFolder, syncFolder } from '../../files/private-folder.ts';
import { type JournalEntry, toEntries, toLine } from './entries.ts';
import { costsOf, toIndexLine } from './index-lines.ts';
import { readStored } from './open-index.ts';
import { type Admit, addToIndex, type IndexContext, type OperationIndex } from './operation-index.ts';
import {
  folderOf,
  isOperationId,
  journalFile,
  listOperations,
  readOrNothing,
  type StoredOperation,
  toUnknownOperation,
} from './stored.ts';

export type { Intent, JournalEntry } from './entries.ts';
export * from './stored.ts';

/** The open journal of one operation. */
export interface Journal {
  /** Undefined for one that keeps nothing. */
  readonly operationId: string | undefined;
  /** Resolves when the lines are on the disk, together. Throws LocalIoError. */
  append(...entries: readonly JournalEntry[]): Promise<void>;
  /** Returns when the line is with the system: it survives this process, and is on the disk with the next `append`. Throws LocalIoError. */
  note(entry: JournalEntry): void;
  close(): Promise<void>;
  /** Removes all of it, where nothing was sent and nothing is to be said of it; it has no ID any more. */
  discard(): Promise<void>;
}

/** A link in its place would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Keeps nothing, for --no-history. */
export const noJournal: Journal = {
  operationId: undefined,
  append: async () => {},
  note() {},
  close: async () => {},
  discard: async () => {},
};

/**
 * Makes the folder of a new operation (0700, its files 0600, under any umask), locked until the journal is closed.
 * `admit` is asked before anything is written that costs. Throws LocalIoError, and what `admit` throws.
 */
export async function createJournal(
  context: IndexContext,
  operationId: string,
  admit?: Admit,
): Promise<Journal> {
  const folder = folderOf(context.directories.state, operationId);
  const path = join(folder, journalFile);
  const { pid } = context;
  try {
    await makePrivateFolder(folder);
    const lock = await lockFolder(folder, pid, 'this operation');
    const handle = await open(path, 'ax', 0o600).catch(releasing(lock));
    await handle.chmod(0o600);
    await Promise.all([syncFolder(folder), syncFolder(dirname(folder))]);
    return toJournal(context, operationId, path, handle, lock, [], admit);
  } catch (error) {
    throw notKept(path, error);
  }
}

/**
 * Opens the journal of an operation of this machine to go on with it, locked until it is closed. A torn last line is
 * cut off. Throws `temporary`, naming the process, when another one is at work on it; `not_found` when there is no
 * such operation; ConfigurationError for a damaged one, LocalIoError.
 */
export async function openJournal(
  context: IndexContext,
  operationId: string,
  admit?: Admit,
): Promise<{ readonly journal: Journal; readonly operation: StoredOperation }> {
  const { pid } = context;
  const stateDir = context.directories.state;
  const folder = folderOf(stateDir, operationId);
  const path = join(folder, journalFile);
  const known = isOperationId(operationId) && (await readOrNothing(() => readFile(path), path)) !== undefined;
  if (!known) throw toUnknownOperation(operationId, await listOperations(stateDir));
  let lock: FolderLock | undefined;
  try {
    lock = await lockFolder(folder, pid, 'this operation');
    const text = await readFile(path, 'utf8');
    const [intent, ...rest] = toEntries(text, path);
    if (intent?.type !== 'intent')
      throw new UsageError(`operation ${operationId} has no record of a request: nothing was bought`);
    const handle = await open(path, constants.O_WRONLY | constants.O_APPEND | noFollow);
    const journal = toJournal(context, operationId, path, handle, lock, [intent, ...rest], admit);
    await handle.truncate(wholeBytes(text, rest.length + 1)).catch((error: unknown) => {
      return journal.close().then(() => Promise.reject(error));
    });
    return { journal, operation: { operationId, entries: [intent, ...rest] } };
  } catch (error) {
    await lock?.release();
    throw notKept(path, error);
  }
}

function toJournal(
  context: IndexContext,
  operationId: string,
  path: string,
  handle: FileHandle,
  lock: FolderLock,
  entries: JournalEntry[],
  admit: Admit | undefined,
): Journal {
  // A line added to an incomplete one would make both unreadable.
  let failure: LeadpipeError | undefined;
  const fail = (error: unknown): never => {
    failure = notKept(path, error);
    throw failure;
  };
  // A way through the thread pool takes several times as long as the write itself.
  const write = (entries: readonly JournalEntry[]): void => {
    if (failure !== undefined) throw failure;
    if (!lock.isHeld()) throw lockLost('this operation');
    const bytes = Buffer.from(entries.map(toLine).join(''));
    try {
      if (writeSync(handle.fd, bytes) < bytes.length) throw new Error('no space left on the device');
    } catch (error) {
      fail(error);
    }
  };
  let isThere = true;
  const close = async (): Promise<void> => {
    if (!isThere) return;
    await handle.close();
    await lock.release();
  };
  return {
    get operationId() {
      return isThere ? operationId : undefined;
    },
    async append(...some) {
      // Whoever looks for it finds it from before it is there; how it ended, from after that.
      const [before, behind] = [some.filter(isBeginning), some.filter((entry) => !isBeginning(entry))];
      for (const entry of before) {
        const line = await toIndexLine(operationId, entry, entries);
        const worst = costsOf(entry);
        const check = admit && ((index: OperationIndex) => admit(index, worst));
        if (line !== undefined) await addToIndex(context, line, readStored, { check }).catch(fail);
      }
      write(some);
      entries.push(...some);
      await handle.datasync().catch(fail);
      for (const entry of behind) {
        const line = await toIndexLine(operationId, entry, entries);
        // It is found all the same: its journal decides.
        if (line !== undefined)
          await addToIndex(context, line, readStored, { isLate: true }).catch(() => undefined);
      }
    },
    note: (entry) => write([entry]),
    close,
    async discard() {
      await close();
      isThere = false;
      // If this fails, the folder stays: nothing was sent for it, and `prune` removes it later.
      await rm(dirname(path), { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

/** What is in the index before it is in the journal. */
function isBeginning({ type }: JournalEntry): boolean {
  return type === 'intent' || type === 'reserved';
}

function releasing(lock: FolderLock): (error: unknown) => Promise<never> {
  return async (error) => {
    await lock.release();
    throw error;
  };
}

/** The bytes of the first lines. */
function wholeBytes(text: string, lines: number): number {
  return text
    .split('\n')
    .slice(0, lines)
    .reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0);
}

function notKept(path: string, error: unknown): LeadpipeError {
  if (error instanceof LeadpipeError) return error;
  const why = codeOf(error) === 'ELOOP' ? 'it is a symbolic link' : messageOf(error);
  return new LocalIoError(`can't store this operation in ${path}: ${why}`, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
