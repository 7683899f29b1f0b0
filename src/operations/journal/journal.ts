import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreContext } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import { lockFolder } from '../../files/folder-lock.ts';
import { notStored, openLog } from '../../files/line-log.ts';
import { makePrivateFolder } from '../../files/private-folder.ts';
import { entry, type JournalEntry, type Numbered, toEntry, toLine } from './entries.ts';
import { folderOf, isOperationId, listOperations, readOrNothing } from './folders.ts';
import { toIndexLine } from './index-lines.ts';
import {
  type Entries,
  journalFile,
  type ReadJournal,
  spareFile,
  toUnknownOperation,
} from './journal-file.ts';
import { type Admit, addRecordedToIndex, addToIndex } from './operation-index.ts';

/** Also the lock of the operation's folder: this process stores and sends only while it has the lock. */
export type Journal = Awaited<ReturnType<typeof lockAndOpen>>['journal'];

/** Stores nothing: for what is free, and where no journal can be made. */
export const noJournal: Journal = {
  operationId: undefined,
  confirm() {},
  append: async () => {},
  begin: async () => {},
  note() {},
  end: async () => {},
  close: async () => {},
  discard: async () => {},
};

const what = 'this operation';
const nothingSent = entry.terminal('interrupted', { charged: 'no', spent: { credits: 0 } });
/** Bytes: more than any last entries take. */
const spareSize = 8192;

/**
 * Opens the journal in the folder of an operation (0700, its files 0600, under any umask), locks it until it is closed, and reads it, unless
 * it is as the caller has read it (`known`).
 */
async function lockAndOpen(
  context: StoreContext,
  operationId: string,
  which: 'new' | 'there',
  known?: ReadJournal,
) {
  const folder = folderOf(context.directories.state, operationId);
  const path = join(folder, journalFile);
  const spare = join(folder, spareFile);
  const fail = (error: unknown): never => {
    throw notStored(what, path, error);
  };
  let entries: JournalEntry[] = [];
  if (which === 'new') await makePrivateFolder(folder).catch(fail);
  const lock = await lockFolder(folder, context.pid, what).catch(fail);
  const log = await openLog(
    path,
    which,
    what,
    lock,
    ({ number, content }) => void entries.push(toEntry(content, number, path)),
    known?.damage === undefined ? known?.state : undefined,
  ).catch((error: unknown) => {
    lock.release();
    throw error;
  });
  if (!log.wasRead) entries = [...(known?.entries ?? [])];
  makeSpare(spare);
  /** The first write error. After it, only last entries are written. */
  let failure: unknown;
  let isThere = true;

  /** Puts an entry into the index, and returns it with its number. */
  async function toNumbered(entry: Numbered, admit: Admit | undefined): Promise<JournalEntry> {
    const [intent = entry] = entries;
    const line = toIndexLine(operationId, entry, intent);
    if (line === undefined) return entry;
    try {
      const check = admit && ((index: Parameters<Admit>[0]) => admit(index, line));
      return { ...entry, number: await addToIndex(context, line, log.size(), check) };
    } catch (error) {
      // A refusal: nothing was written.
      if (error instanceof LeadpipeError && ['credits', 'temporary'].includes(error.outcome)) throw error;
      failure = notStored(what, path, error);
      throw failure;
    }
  }

  /** `isLast`: if the disk is full, the spare file is removed to make space. */
  async function add(
    some: readonly JournalEntry[],
    { admit, isLast = false }: { readonly admit?: Admit | undefined; readonly isLast?: boolean } = {},
  ): Promise<void> {
    if (failure !== undefined && !isLast) throw failure;
    // Numbered entries go into the index before the journal, the others after it: so the index never misses a purchase in a journal.
    const whole: JournalEntry[] = [];
    for (const entry of some) whole.push(isNumbered(entry) ? await toNumbered(entry, admit) : entry);
    const from = log.size();
    log.append(whole.map(toLine).join(''), isLast ? spare : undefined);
    await log.sync().catch((error: unknown) => {
      // So the next run finds the operation as it was, and resumes it: what is in place is not bought again.
      log.removeFrom(from);
      throw error;
    });
    entries.push(...whole);
    const late = whole
      .filter((entry) => !isNumbered(entry))
      .flatMap((entry) => toIndexLine(operationId, entry, entries[0]) ?? []);
    // A failure does no harm: the operation is found without these lines, and its journal has them.
    if (late.length > 0) await addRecordedToIndex(context, late, log.size()).catch(() => undefined);
  }

  async function close(): Promise<void> {
    if (!isThere) return;
    removeSpare(spare);
    await log.close();
    lock.release();
  }

  const journal = {
    /** Undefined for a journal that stores nothing. */
    get operationId(): string | undefined {
      return isThere ? operationId : undefined;
    },
    confirm: lock.confirm,
    /** Resolves when all these lines are on the disk. Throws LocalIoError, LockLostError. */
    append: (...some: readonly JournalEntry[]): Promise<void> => add(some),
    /** As `append`. First calls `admit` under the lock of the index: if it throws, nothing is written. */
    begin: (admit: Admit | undefined, ...some: readonly JournalEntry[]): Promise<void> =>
      add(some, { admit }),
    /** The line survives a kill of this process when this returns, and a power cut after the next `append`. Throws LocalIoError. */
    note(some: JournalEntry): void {
      if (failure !== undefined) throw failure;
      log.append(toLine(some));
      entries.push(some);
    },
    /** As `append`, for the last entries of a run: the spare file makes space for them on a full disk. */
    end: (...some: readonly JournalEntry[]): Promise<void> => add(some, { isLast: true }),
    close,
    /** Removes the journal of an operation that has sent nothing. It has no ID any more. */
    async discard(): Promise<void> {
      try {
        lock.confirm();
      } catch {
        // Another process has taken over, and may have bought something with it.
        return await close();
      }
      await close();
      isThere = false;
      // Its line in the index stays, with a cost of 0.
      const line = entries.length > 0 && toIndexLine(operationId, nothingSent, entries[0]);
      if (line) await addRecordedToIndex(context, [line], 0).catch(() => undefined);
      // If this fails, the folder stays. Nothing was sent for it, and `prune` removes it later.
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    },
  };
  return { journal, entries };
}

function makeSpare(path: string): void {
  try {
    if (!existsSync(path)) writeFileSync(path, Buffer.alloc(spareSize, '.'), { mode: 0o600, flag: 'wx' });
  } catch {
    // Without it, the last entries need free space like all others.
    removeSpare(path);
  }
}

/** Ignores a failure: the file has no data. */
function removeSpare(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {}
}

/** Makes the journal of a new operation. Throws LocalIoError. */
export async function createJournal(context: StoreContext, operationId: string): Promise<Journal> {
  return (await lockAndOpen(context, operationId, 'new')).journal;
}

/**
 * Opens the journal of an operation, to resume it. `known` is what the caller has read of it. Throws `temporary`, which names the process,
 * while another one works on it; `not_found` when there is no such operation; ConfigurationError for a damaged one, LocalIoError.
 */
export async function openJournal(
  context: StoreContext,
  operationId: string,
  known?: ReadJournal,
): Promise<{ readonly journal: Journal; readonly entries: Entries }> {
  const { state } = context.directories;
  const folder = folderOf(state, operationId);
  const path = join(folder, journalFile);
  const isThere = isOperationId(operationId) && (await readOrNothing(() => stat(path), path)) !== undefined;
  if (!isThere) throw toUnknownOperation(operationId, await listOperations(state));
  try {
    const { journal, entries } = await lockAndOpen(context, operationId, 'there', known);
    // The caller has read its intent, so it has one.
    return { journal, entries: entries as unknown as Entries };
  } catch (error) {
    throw naming(error, operationId);
  }
}

function isNumbered(entry: JournalEntry): entry is Numbered {
  return ['intent', 'reserved', 'rest'].includes(entry.type);
}

/** A journal for a purchase that is not recorded: it stores only the entries that its cost depends on. */
export function costOnly(journal: Journal): Journal {
  const isOfCost = ({ type }: JournalEntry): boolean => ['intent', 'sent', 'terminal'].includes(type);
  return {
    ...journal,
    operationId: undefined,
    append: (...some) => journal.append(...some.filter(isOfCost)),
    begin: (admit, ...some) => journal.begin(admit, ...some.filter(isOfCost)),
    end: (...some) => journal.end(...some.filter(isOfCost)),
    note() {},
  };
}

/** Pure: the error with the ID of its operation. An ID that it has already stays. */
export function naming(error: unknown, operationId: string | undefined): unknown {
  const isNamed = error instanceof LeadpipeError && operationId !== undefined;
  return isNamed ? error.with({ operationId, ...error.details }) : error;
}
