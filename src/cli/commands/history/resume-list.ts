import { resolve } from 'node:path';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import type { StoredOperation } from '../../../operations/journal/stored.ts';
import { termsOf } from '../../../operations/list/list.ts';
import { rowRequestOf } from '../../../operations/row-request.ts';
import { createNotes } from '../../messages/notes.ts';
import type { ConnectionOptions, PaidOptions } from '../../options/options.ts';
import type { RowsOptions } from '../../options/rows.ts';
import { fromTerms } from '../../records/orders.ts';
import { buyList } from '../../records/rows.ts';

/** Requests at once, as for a list that does not say it. */
const usualConcurrency = 4;

/** Goes on with a list, and no other, from what is stored of it. Throws UsageError where that can't be, before anything is bought. */
export async function resumeList(
  context: Context,
  operation: StoredOperation,
  given: ConnectionOptions & Pick<PaidOptions, 'maxCredits'>,
): Promise<void> {
  const { operationId, entries } = operation;
  const [{ max_credits, origin, profile }] = entries;
  const terms = termsOf(operation);
  const { input, inputFormat, into, run, shard } = terms.options as Partial<RowsOptions>;
  const last = entries.findLast((entry) => entry.type === 'terminal');
  if (last?.type === 'terminal' && last.outcome === 'complete') {
    const place = terms.output === null ? '' : `; its rows are in ${terms.output}`;
    createNotes(context, given).say(`The list ${operationId} is finished${place}. Nothing was bought.`);
    return;
  }
  const request = rowRequestOf(entries[0]);
  if (request === undefined || input === undefined) {
    throw new UsageError(
      `an earlier release began ${operationId}, and did not store what its rows are sent: it can't be gone on with, and nothing was bought`,
      `What it has bought, for free: leadpipe history show ${operationId}`,
    );
  }
  if (input === '-') {
    throw new UsageError(
      `the rows of ${operationId} came from standard input, and can't be had again; nothing was bought`,
      'Run the same command again with the same rows. Rows that are already bought are not bought again.',
    );
  }
  await buyList(
    context,
    {
      concurrency: usualConcurrency,
      history: true,
      ...(profile === null ? {} : { profile }),
      ...(origin === 'local' && given.baseUrl === undefined ? { local: true } : {}),
      ...given,
      ...fromTerms(terms),
      // What was allowed when the list was begun holds until another limit is given.
      ...toKnown({ maxCredits: given.maxCredits ?? max_credits }),
      input: resolve(input),
      ...toKnown({ inputFormat, into, run, shard, template: request.template }),
    },
    request,
    operation,
  );
}

/** Pure: without what is not known. */
function toKnown<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as never;
}
