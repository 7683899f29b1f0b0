import type { Context } from '../../context.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { createJournal, type Journal, noJournal, openJournal } from './journal.ts';
import type { Admit, IndexContext } from './operation-index.ts';
import { pruneIfDue } from './retention.ts';
import type { StoredOperation } from './stored.ts';

/** What it takes to keep a record of a new operation. */
export type KeepingContext = IndexContext & Pick<Context, 'ids'>;

/**
 * Runs `work` with the journal of a new operation, and adds the operation's ID to the error that `work` throws. `needed`, for
 * purchases: without a journal it throws LocalIoError, before anything is sent. `unkept`, for free reads: they go on without
 * a journal, and it is told why there is none.
 */
export async function withNewJournal<T>(
  context: KeepingContext,
  wanted: 'needed' | 'none' | { readonly unkept: (why: string) => void },
  work: (journal: Journal) => Promise<T>,
  admit?: Admit,
): Promise<T> {
  const journal = wanted === 'none' ? noJournal : await open(context, wanted, admit);
  // Beside the purchase, which does not wait for it.
  const pruning = wanted === 'needed' ? pruneIfDue(context) : undefined;
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
  context: IndexContext,
  operationId: string,
  work: (journal: Journal, operation: StoredOperation) => Promise<T>,
  admit?: Admit,
): Promise<T> {
  try {
    const { journal, operation } = await openJournal(context, operationId, admit);
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
  context: KeepingContext,
  wanted: 'needed' | { readonly unkept: (why: string) => void },
  admit: Admit | undefined,
): Promise<Journal> {
  try {
    return await createJournal(context, context.ids.operationId(), admit);
  } catch (error) {
    if (!(error instanceof LocalIoError)) throw error;
    if (wanted === 'needed') throw error.with({ charged: 'no', facts: { is: 'no_journal' } });
    wanted.unkept(error.message);
    return noJournal;
  }
}
