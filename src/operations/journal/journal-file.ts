import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LeadpipeError } from '../../errors.ts';
import { isUnchanged, type LogState } from '../../files/line-log.ts';
import { damaged, type Intent, type JournalEntry, toEntries } from './entries.ts';
import { folderOf, readOrNothing } from './folders.ts';

/** The file with the intent and the progress of an operation. */
export const journalFile = 'journal.jsonl';
/** Reserved space, which is freed for the last entries if the disk is full: the next run must know what was paid for. */
export const spareFile = 'spare';

/** The entries of a journal. Nothing is stored before the intent is. */
export type Entries = readonly [Intent, ...JournalEntry[]];

/** A journal as it was read: its entries up to the first that can't be read, and the error for that one. */
export interface ReadJournal extends ReturnType<typeof toEntries> {
  readonly state: LogState;
}

/** The journals of this machine. */
export type Journals = ReturnType<typeof createJournals>;

/** Cache size, in journals: a run reads the same few again, and a listing reads each once. */
const maxKept = 100;

/** Reads journals through a cache: a journal is read again only if it has changed. */
export function createJournals(stateDir: string) {
  const kept = new Map<string, ReadJournal>();
  return {
    stateDir,
    /** The cached journal, if any. */
    known: (operationId: string) => kept.get(operationId),
    /** Undefined where there is none. Throws LocalIoError. */
    async read(operationId: string): Promise<ReadJournal | undefined> {
      const path = join(folderOf(stateDir, operationId), journalFile);
      const found = await readOrNothing(async () => readJournal(path, kept.get(operationId)), path);
      kept.delete(operationId);
      if (found !== undefined) kept.set(operationId, found);
      if (kept.size > maxKept) kept.delete([...kept.keys()][0] ?? '');
      return found;
    },
  };
}

/** It is synchronous, since the thread pool takes several times as long, and a history has thousands of them. */
function readJournal(path: string, known: ReadJournal | undefined): ReadJournal {
  const file = openSync(path, 'r');
  try {
    // The state is taken before the content: if a line is added in between, the file is read again.
    const { ino, mtimeMs, size } = fstatSync(file);
    if (known !== undefined && isUnchanged(known.state, { ino, mtimeMs, size })) return known;
    const bytes = readFileSync(file);
    const end = bytes.lastIndexOf('\n') + 1;
    return { ...toEntries(bytes.toString(), path), state: { ino, mtimeMs, size, end } };
  } finally {
    closeSync(file);
  }
}

/**
 * Undefined when there is no such operation, or when it was killed before its intent was written and so has sent nothing. Throws
 * ConfigurationError for a damaged one, LocalIoError.
 */
export async function readEntries(journals: Journals, operationId: string): Promise<Entries | undefined> {
  const { damage, entries = [] } = (await journals.read(operationId)) ?? {};
  if (damage !== undefined) throw damage;
  const [intent, ...rest] = entries;
  const folder = folderOf(journals.stateDir, operationId);
  if (intent === undefined && (await hasStored(folder))) throw damaged(1, join(folder, journalFile));
  return intent?.type === 'intent' ? [intent, ...rest] : undefined;
}

/** Whether an operation has stored something. Its files are made empty at first. */
async function hasStored(folder: string): Promise<boolean> {
  for (const name of (await readOrNothing(() => readdir(folder), folder)) ?? []) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (![journalFile, spareFile].includes(name) && found?.isFile() && found.size > 0) return true;
  }
  return false;
}

export async function lastWritten(folder: string): Promise<Date> {
  const path = join(folder, journalFile);
  return (await readOrNothing(() => stat(path), path))?.mtime ?? new Date(0);
}

/** Pure: the error for an ID that this machine doesn't know. It helps with typing errors, which are more likely than lost operations. */
export function toUnknownOperation(operationId: string | undefined, known: readonly string[]): LeadpipeError {
  const which = operationId === undefined ? 'no operation' : `no operation ${operationId.slice(0, 100)}`;
  return new LeadpipeError('not_found', `there is ${which} on this machine`, {
    type: 'operation_not_found',
    facts: { is: 'no_operation', operationId: operationId ?? '', known },
  });
}
