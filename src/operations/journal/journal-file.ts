import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { damaged, type Intent, type JournalEntry, toEntries } from './entries.ts';
import { folderOf, readOrNothing } from './folders.ts';

/** The file of an operation that says what it is, and how far it has got. */
export const journalFile = 'journal.jsonl';

/** The entries of a journal. Nothing is stored before the intent is. */
export type Entries = readonly [Intent, ...JournalEntry[]];

/**
 * Undefined when there is no such operation, or when it was killed before its intent was written and so has sent nothing. Throws
 * ConfigurationError for a damaged one, LocalIoError.
 */
export async function readEntries(stateDir: string, operationId: string): Promise<Entries | undefined> {
  const folder = folderOf(stateDir, operationId);
  const path = join(folder, journalFile);
  const text = await readOrNothing(() => readFile(path, 'utf8'), path);
  const [intent, ...rest] = toEntries(text ?? '', path);
  if (intent === undefined && (await hasStored(folder))) throw damaged(1, path);
  return intent?.type === 'intent' ? [intent, ...rest] : undefined;
}

/** The intent of a damaged journal; undefined where even that can't be read. */
export async function readIntent(stateDir: string, operationId: string): Promise<Intent | undefined> {
  const text = await readFile(join(folderOf(stateDir, operationId), journalFile), 'utf8').catch(() => '');
  try {
    const [intent] = toEntries(text.slice(0, text.indexOf('\n') + 1), journalFile);
    return intent?.type === 'intent' ? intent : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an operation has stored something. Its files are made empty at first. */
async function hasStored(folder: string): Promise<boolean> {
  for (const name of (await readOrNothing(() => readdir(folder), folder)) ?? []) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (name !== journalFile && found?.isFile() && found.size > 0) return true;
  }
  return false;
}

export async function lastWritten(folder: string): Promise<Date> {
  const path = join(folder, journalFile);
  return (await readOrNothing(() => stat(path), path))?.mtime ?? new Date(0);
}
