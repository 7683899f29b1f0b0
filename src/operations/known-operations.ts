import type { Context, StoreContext } from '../context.ts';
import type { LeadpipeError } from '../errors.ts';
import { isLocked } from '../files/folder-lock.ts';
import type { Cost } from './journal/entries.ts';
import { folderOf, isOperationId, listOperations } from './journal/folders.ts';
import { type Journal, openJournal } from './journal/journal.ts';
import { createJournals, type Journals, readEntries, toUnknownOperation } from './journal/journal-file.ts';
import { createReader, damagedKind, type Reader } from './journal/operation-index.ts';
import { sizeOfReceived } from './journal/received.ts';
import { countRows } from './journal/stored-rows.ts';
import { kindOf, rowsOf } from './kinds/kinds.ts';
import { costOf, fold, type Operation } from './operation.ts';

/** Undefined where there is none. Throws ConfigurationError for a damaged one, LocalIoError. */
export async function readOperation(journals: Journals, operationId: string): Promise<Operation | undefined> {
  const entries = await readEntries(journals, operationId);
  return entries && fold(folderOf(journals.stateDir, operationId), entries);
}

/** The maximum cost of an operation. For a list, the stored rows show how many were sent, even after a kill. */
export async function readSpent(
  operation: Operation,
): Promise<{ readonly spent: Cost; readonly sent_rows?: number }> {
  if (rowsOf(operation.intent.command) === undefined) return { spent: costOf(operation) };
  const { sent } = await countRows(operation.folder);
  return { spent: costOf(operation, sent), sent_rows: sent };
}

/** As `readOperation`. Throws `not_found` where there is none. */
export async function readKnown(
  { directories }: Pick<Context, 'directories'>,
  operationId: string,
  journals: Journals = createJournals(directories.state),
): Promise<Operation> {
  const { state } = directories;
  const operation = isOperationId(operationId) ? await readOperation(journals, operationId) : undefined;
  if (operation !== undefined) return operation;
  throw toUnknownOperation(operationId, await listOperations(state));
}

/** Pure: the error for something unreadable in one line, with its hint. */
export function toDamageLine({ message, details: { hint } }: LeadpipeError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/**
 * Opens and locks the journal of an operation, to resume it, and returns the operation. `journals` is the cache to use. Throws as
 * `openJournal`.
 */
export async function openOperation(
  context: StoreContext,
  operationId: string,
  journals?: Journals,
): Promise<{ readonly journal: Journal; readonly operation: Operation }> {
  const { journal, entries } = await openJournal(context, operationId, journals?.known(operationId));
  return { journal, operation: fold(folderOf(context.directories.state, operationId), entries) };
}

/**
 * Operations that stopped early and can be resumed, newest first, unless another operation has read their task to its end. Also those whose
 * output was closed by its reader. `damaged` gets what can't be read. Throws LocalIoError.
 */
export async function* readUnfinished(
  { journals, openIndex }: Reader,
  damaged: (error: LeadpipeError) => void,
): AsyncGenerator<Operation> {
  /** Operations that have ended; tasks that were read to the end; keys that have got a task. */
  const over = new Set<string | undefined>();
  const tasks = new Map<string, string>();
  for (const line of (await openIndex()).newest()) {
    if (line.is === 'ended' && line.outcome === 'complete') over.add(line.op);
    if (line.is === 'created') tasks.set(line.op, line.task);
    if (line.is !== 'begun') continue;
    const { key, kind, op, task = tasks.get(op) } = line;
    const isOver = [op, task ?? key].some((one) => one !== undefined && over.has(one));
    if (tasks.has(op)) over.add(key);
    if (over.has(op) && kind !== 'task create') over.add(task);
    if (isOver || (kind !== damagedKind && kindOf(kind)?.isResumable !== true)) continue;
    const operation = await readOperation(journals, op).catch((error: LeadpipeError) => {
      damaged(error);
    });
    if (operation !== undefined && operation.resumes !== 'no') yield operation;
  }
}

/**
 * Of these runs of a list, those that were killed and not resumed, oldest first: their leads count as delivered, but perhaps not all
 * of it is in their output. Leaves out searches whose leads are no longer stored, since they can't be resumed. Throws LocalIoError.
 */
export async function killedRuns({ journals, openIndex }: Reader, ids: readonly string[]): Promise<string[]> {
  const runs = new Set(ids);
  const killed: string[] = [];
  for (const line of (await openIndex()).newest()) {
    if (line.is === 'ended') runs.delete(line.op);
    // Only journals of these runs are read, however many other operations there are.
    if (line.is !== 'begun' || !runs.has(line.op)) continue;
    // The history reports those that are damaged.
    const operation = await readOperation(journals, line.op).catch(() => undefined);
    if (operation === undefined || isLocked(operation.folder)) continue;
    const { end, folder, isSearch } = operation;
    if (end !== undefined) continue;
    if (!isSearch || (await sizeOfReceived(folder)) !== undefined) killed.unshift(line.op);
  }
  return killed;
}

/** The operations of some kinds, newest first. `damaged` gets those that can't be read. Throws LocalIoError. */
export async function* readNewest(
  context: StoreContext,
  matches: (kind: string) => boolean,
  damaged: (error: LeadpipeError) => void = () => {},
): AsyncGenerator<Operation> {
  const { journals, openIndex } = createReader(context);
  for (const line of (await openIndex()).newest()) {
    if (line.is !== 'begun' || !matches(line.kind)) continue;
    const found = await readOperation(journals, line.op).catch(damaged);
    if (found !== undefined) yield found;
  }
}

/** The operations that have this task, oldest first. Throws LocalIoError. */
export async function readOfTask(context: StoreContext, leadsSearchId: string): Promise<Operation[]> {
  const operations: Operation[] = [];
  const { journals, openIndex } = createReader(context);
  for (const line of (await openIndex()).find('task', leadsSearchId)) {
    const found = await readOperation(journals, line.op).catch(() => undefined);
    if (found !== undefined) operations.unshift(found);
  }
  return operations;
}

/** The operations whose stored data is needed to resume them, without those whose output was closed by its reader. Throws LocalIoError. */
export async function readNeeded(context: StoreContext): Promise<Set<string>> {
  const needed = new Set<string>();
  for await (const { isReaderGone, operationId } of readUnfinished(createReader(context), () => {})) {
    if (!isReaderGone) needed.add(operationId);
  }
  return needed;
}
