import { resolve } from 'node:path';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import { createJournal, type Intent, type Journal, noJournal } from '../operations/journal/journal.ts';
import { pruneIfDue } from '../operations/journal/retention.ts';
import { createNotes } from './notes.ts';
import type { RecordOptions, ReportOptions } from './options.ts';

/** A journal of a purchase, and what may be said about it. */
type PurchaseJournal = { readonly history: boolean } & Pick<
  ReportOptions,
  'quiet' | 'jsonErrors' | 'verbose'
>;

/**
 * Runs `work` with the journal of a new operation, whose ID then stands in whatever `work` throws. A purchase needs
 * its journal (LocalIoError, before anything is sent), unless the user did without; to a free read it is welcome, and
 * `unkept` is told why there is none.
 */
export async function withJournal<T>(
  context: Context,
  kind: PurchaseJournal | { readonly unkept: (why: string) => void },
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const journal = await openJournal(context, kind);
  try {
    return await work(journal);
  } catch (error) {
    const { operationId } = journal;
    throw error instanceof LeadpipeError && operationId !== undefined ? error.with({ operationId }) : error;
  } finally {
    await journal.close();
  }
}

async function openJournal(context: Context, kind: Parameters<typeof withJournal>[1]): Promise<Journal> {
  const { state } = context.directories;
  if ('history' in kind && !kind.history) {
    createNotes(context, kind).say('No record is kept: this can not be shown again or continued.');
    return noJournal;
  }
  try {
    const journal = await createJournal(state, context.ids.operationId(), context.pid);
    if ('history' in kind) await pruneIfDue(state, context.clock.now());
    return journal;
  } catch (error) {
    if (!(error instanceof LocalIoError)) throw error;
    if (!('unkept' in kind)) {
      throw error.with({
        charged: 'no',
        hint: 'Nothing was sent. Make it writable, name another place with LEADPIPE_STATE_DIR, or do without: --no-history.',
      });
    }
    kind.unkept(error.message);
    return noJournal;
  }
}

/** What the journal says about a command before it acts. */
export function toIntent(
  context: Context,
  connection: Connection,
  journal: Journal,
  command: string,
  options: RecordOptions,
  more: Readonly<Record<string, unknown>>,
): Intent {
  const { format, output, append, columns, csvRaw } = options;
  return {
    type: 'intent',
    time: context.clock.now().toISOString(),
    command,
    profile: connection.profile,
    origin: connection.origin,
    key_fingerprint: connection.fingerprint(journal.operationId ?? ''),
    output: output === undefined || output === '-' ? null : resolve(output),
    options: { format, append, columns, csv_raw: csvRaw, ...more },
  };
}
