import type { Context } from '../../context.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { createJournal, type Journal, noJournal, openJournal, type StoredOperation } from './journal.ts';
import { pruneIfDue } from './retention.ts';

/**
 * Runs `work` with the journal of a new operation, and adds the operation's ID to the error that `work` throws. `needed`, for
 * purchases: without a journal it throws LocalIoError, before anything is sent. `unkept`, for free reads: they go on without
 * a journal, and it is told why there is none.
 */
export async function withNewJournal<T>(
  context: Pick<Context, 'clock' | 'directories' | 'ids' | 'pid'>,
  wanted: 'needed' | 'none' | { readonly unkept: (why: string) => void },
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = wanted === 'none' ? noJournal : await open(context, wanted);
  // Beside the purchase, which does not wait for it.
  const pruning =
    wanted === 'needed' ? pruneIfDue(context.directories.state, context.clock.now()) : undefined;
  try {
    return await work(journal);
  } catch (error) {
    const { operationId } = journal;
    throw error instanceof LeadpipeError && operationId !== undefined ? error.with({ operationId }) : error;
  } finally {
    await journal.close();
    await pruning;
  }
}

/** Opens and locks the journal of an operation, and runs `work` with what the journal says then. Throws what `openJournal` throws. */
export async function withOperation<T>(
  { directories, pid }: Pick<Context, 'directories' | 'pid'>,
  operationId: string,
  work: (journal: Journal, operation: StoredOperation) => Promise<T>,
): Promise<T> {
  try {
    const { journal, operation } = await openJournal(directories.state, operationId, pid);
    try {
      return await work(journal, operation);
    } finally {
      await journal.close();
    }
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.details.facts?.is === 'no_operation') throw error;
    // A purchase that continues it has an operation of its own, whose ID stays in the error.
    throw error.with({ operationId, ...error.details });
  }
}

async function open(
  { directories: { state }, ids, pid }: Pick<Context, 'directories' | 'ids' | 'pid'>,
  wanted: 'needed' | { readonly unkept: (why: string) => void },
): Promise<Journal> {
  try {
    return await createJournal(state, ids.operationId(), pid);
  } catch (error) {
    if (!(error instanceof LocalIoError)) throw error;
    if (wanted === 'needed') throw error.with({ charged: 'no', facts: { is: 'no_journal' } });
    wanted.unkept(error.message);
    return noJournal;
  }
}
