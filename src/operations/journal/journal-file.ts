import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LeadpipeError } from '../../errors.ts';
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

/** Pure: the error for an ID that this machine doesn't know. It helps with typing errors, which are more likely than lost operations. */
export function toUnknownOperation(operationId: string | undefined, known: readonly string[]): LeadpipeError {
  const which = operationId === undefined ? 'nothing' : `no operation ${operationId.slice(0, 100)}`;
  return new LeadpipeError('not_found', `there is ${which} on this machine`, {
    type: 'operation_not_found',
    facts: { is: 'no_operation', operationId: operationId ?? '', known },
  });
}
