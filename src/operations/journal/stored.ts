import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Context } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import { isTask, kindOf, rowsOf } from '../kinds.ts';
import { damaged, type EntryOf, type Intent, type JournalEntry, toEntries } from './entries.ts';
import { folderOf, isOperationId, listOperations, readOrNothing } from './folders.ts';

export const journalFile = 'journal.jsonl';

export type StoredOperation = ReturnType<typeof toStored>;

/** Pure: an operation and its state, from all entries of its own journal. Its folder is named after it. */
export function toStored(folder: string, entries: readonly [Intent, ...JournalEntry[]]) {
  const [intent] = entries;
  const last: { readonly [Type in JournalEntry['type']]?: EntryOf<Type> } = Object.fromEntries(
    entries.map((entry) => [entry.type, entry]),
  );
  const { created, sent, terminal } = last;
  const ends = entries.filter((entry) => entry.type === 'terminal');
  const batches = entries.filter((entry) => entry.type === 'batch');
  const isSearch = kindOf(intent.command)?.goesOn === 'continue' && intent.body !== undefined;
  const isComplete = ends.some(({ outcome }) => outcome === 'complete');
  const isDropped = ends.some(({ dropped }) => dropped === true);
  const hasDelivered = batches.some(({ delivered }) => delivered > 0);
  const isNothing = terminal !== undefined && terminal.outcome !== 'complete' && terminal.charged === 'no';
  const isBegun = sent !== undefined && !isNothing;
  const isReaderGone = terminal?.outcome === 'reader_closed';
  const hasArrived = batches.some(({ delivered, excluded = 0 }) => delivered + excluded > 0);

  function canGoOn(): boolean {
    if (isDropped) return false;
    // A search that continues another one has the leads of that one.
    const isNamed = created !== undefined || hasDelivered || intent.continues !== undefined;
    if (isSearch) return isBegun && !isComplete && isNamed;
    if (rowsOf(intent.command) !== undefined) return terminal?.outcome !== 'complete';
    const isOpen = terminal === undefined || isReaderGone;
    return isOpen && isTask(intent.command) && kindOf(intent.command)?.goesOn === 'resume';
  }

  return {
    operationId: basename(folder),
    folder,
    intent,
    entries,
    last,
    isSearch,
    isComplete,
    /** The user does not want the rest. */
    isDropped,
    /** It has delivered leads. */
    hasDelivered,
    /** Something was sent, and was not refused at no cost. */
    isBegun,
    /** It ended before it could cost anything. */
    isRefused: terminal !== undefined && !isBegun,
    /** The reader of its output went away: it had what it wanted, and can still ask for more. */
    isReaderGone,
    /** It was sent, and its outcome is not known. */
    isInDoubt: sent !== undefined && terminal === undefined && created === undefined && !hasArrived,
    /** It can be resumed, as far as its own journal says. */
    isUnfinished: canGoOn(),
  };
}

/** Pure: the error for an ID that this machine doesn't know. It helps with typing errors, which are more likely than lost operations. */
export function toUnknownOperation(operationId: string | undefined, known: readonly string[]): LeadpipeError {
  const which = operationId === undefined ? 'nothing' : `no operation ${operationId.slice(0, 100)}`;
  return new LeadpipeError('not_found', `there is ${which} on this machine`, {
    type: 'operation_not_found',
    facts: { is: 'no_operation', operationId: operationId ?? '', known },
  });
}

/**
 * Undefined when there is no such operation, or when it was killed before its intent was written and so has sent nothing. Throws
 * ConfigurationError for a damaged one, LocalIoError.
 */
export async function readOperation(
  stateDir: string,
  operationId: string,
): Promise<StoredOperation | undefined> {
  const folder = folderOf(stateDir, operationId);
  const path = join(folder, journalFile);
  const text = await readOrNothing(() => readFile(path, 'utf8'), path);
  const [intent, ...rest] = toEntries(text ?? '', path);
  // Nothing is stored before the intent is.
  if (intent === undefined && (await hasBought(folder))) throw damaged(1, path);
  return intent?.type === 'intent' ? toStored(folder, [intent, ...rest]) : undefined;
}

/** The intent of a damaged journal; null where even that can't be read. */
export async function readIntent(stateDir: string, operationId: string): Promise<StoredOperation | null> {
  const folder = folderOf(stateDir, operationId);
  const text = await readFile(join(folder, journalFile), 'utf8').catch(() => '');
  try {
    const [intent] = toEntries(text.slice(0, text.indexOf('\n') + 1), journalFile);
    return intent?.type === 'intent' ? toStored(folder, [intent]) : null;
  } catch {
    return null;
  }
}

/** As `readOperation`. Throws `not_found` where there is none. */
export async function readKnown(
  { directories }: Pick<Context, 'directories'>,
  operationId: string,
): Promise<StoredOperation> {
  const { state } = directories;
  const operation = isOperationId(operationId) ? await readOperation(state, operationId) : undefined;
  if (operation !== undefined) return operation;
  throw toUnknownOperation(operationId, await listOperations(state));
}

/** Whether an operation has stored something. Its files are made empty at first. */
async function hasBought(folder: string): Promise<boolean> {
  for (const name of (await readOrNothing(() => readdir(folder), folder)) ?? []) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (name !== journalFile && found?.isFile() && found.size > 0) return true;
  }
  return false;
}

export async function lastWritten({ folder }: StoredOperation): Promise<Date> {
  const path = join(folder, journalFile);
  return (await readOrNothing(() => stat(path), path))?.mtime ?? new Date(0);
}

/** Pure: one line that says what can't be read, and what to do about it. */
export function toDamageLine({ message, details: { hint } }: LeadpipeError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}
