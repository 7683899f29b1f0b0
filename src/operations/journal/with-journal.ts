import type { Context } from '../../context.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { createJournal, type Journal, noJournal, openJournal, type StoredOperation } from './journal.ts';
import { pruneIfDue } from './retention.ts';

/**
 * Runs `work` with the journal of a new operation, whose ID then stands in whatever `work` throws. A purchase needs its
 * journal (LocalIoError, before anything is sent), unless none is wanted; to a free read it is welcome, and `unkept` is
 * told why there is none.
 */
export async function withNewJournal<T>(
  context: Pick<Context, 'clock' | 'directories' | 'ids' | 'pid'>,
  wanted: 'needed' | 'none' | { readonly unkept: (why: string) => void },
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = wanted === 'none' ? noJournal : await open(context, wanted);
  try {
    return await work(journal);
  } catch (error) {
    const { operationId } = journal;
    throw error instanceof LeadpipeError && operationId !== undefined ? error.with({ operationId }) : error;
  } finally {
    await journal.close();
  }
}

/** Runs `work` with the journal of an operation open, locked, and as it is then. Throws as `openJournal`. */
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
    // A purchase that goes on with it has an operation of its own.
    throw error instanceof LeadpipeError ? error.with({ operationId, ...error.details }) : error;
  }
}

async function open(
  { clock, directories: { state }, ids, pid }: Pick<Context, 'clock' | 'directories' | 'ids' | 'pid'>,
  wanted: 'needed' | { readonly unkept: (why: string) => void },
): Promise<Journal> {
  try {
    const journal = await createJournal(state, ids.operationId(), pid);
    if (wanted === 'needed') await pruneIfDue(state, clock.now());
    return journal;
  } catch (error) {
    if (!(error instanceof LocalIoError)) throw error;
    if (wanted === 'needed') throw error.with({ charged: 'no', facts: { is: 'no_journal' } });
    wanted.unkept(error.message);
    return noJournal;
  }
}
