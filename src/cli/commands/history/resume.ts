import { resolve } from 'node:path';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import { rowsOf } from '../../../operations/kinds/kinds.ts';
import type { Operation } from '../../../operations/operation.ts';
import { type RowRequest, rowRequestOf } from '../../../operations/row-request.ts';
import { defineCommand } from '../../command.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import { type ConnectionOptions, createMaxCreditsOption, type PaidOptions } from '../../options/options.ts';
import { type RowsOptions, retryUnknownOption } from '../../options/rows.ts';
import { fromTerms } from '../../records/orders.ts';
import {
  type ResumeOptions,
  resumeArgument,
  resumeOperation,
  resumeOptions,
  toOperation,
  withRouteOf,
} from '../task/resume.ts';

type Options = ResumeOptions & Pick<PaidOptions, 'maxCredits'> & Pick<RowsOptions, 'retryUnknown'>;

export const createHistoryResume = defineCommand({
  name: 'resume',
  summary: 'finish an interrupted search, task or list',
  description:
    'Resumes an interrupted search, task or list (--input), into the same file. Nothing is bought twice. The rest of a search or a list is bought.',
  arguments: [resumeArgument],
  options: [
    ...resumeOptions,
    createMaxCreditsOption(
      'refuse (exit code 5) a search or list that can cost more; the rows of a list that were bought before count too (default: the limit that the list was started with)',
    ),
    retryUnknownOption,
  ],
  takes: ['connection'],
  examples: ['leadpipe history resume', 'leadpipe history resume --max-credits 50'],
  output: [
    'what the interrupted command would have written: the same file, format',
    'and columns, each lead or row once',
  ],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  run: runHistoryResume,
});

async function runHistoryResume(
  context: Context,
  given: string | undefined,
  options: Options,
): Promise<void> {
  const known = await toOperation(context, given, options, () => true);
  if (known === undefined) return;
  const route = withRouteOf(known, options);
  if (rowsOf(known.intent.command) !== undefined) return await resumeList(context, known, options);
  if (known.isSearch) {
    const { continueSearch } = await import('../search-rest.ts');
    return await continueSearch(context, known.operationId, { ...route, history: true });
  }
  await resumeOperation(context, known, options);
}

/** Resumes one list, from what is stored of it. Throws UsageError, before anything is bought, where that is not possible. */
async function resumeList(
  context: Context,
  operation: Operation,
  given: ConnectionOptions & Pick<Options, 'maxCredits' | 'retryUnknown'>,
): Promise<void> {
  const { operationId, intent, terms } = operation;
  const { max_credits, origin, profile } = intent;
  const { inputFormat, into, run, shard } = terms.options as Partial<RowsOptions>;
  if (operation.end?.outcome === 'complete') {
    const place = terms.output === null ? '' : `; its rows are in ${terms.output}`;
    createNotes(context, given).say(`The list ${operationId} is finished${place}. Nothing was bought.`);
    return;
  }
  // The journal of a list has both.
  const request = rowRequestOf(intent) as RowRequest;
  const input = String(terms.options.input);
  const print = `What it has bought, for free: leadpipe history show ${operationId}`;
  if (input === '-') {
    throw new UsageError(
      `the rows of ${operationId} came from standard input, and can't be had again; nothing was bought`,
      terms.output === null && run == null
        ? print
        : 'Run the same command again with the same rows. Rows that are already bought are not bought again.',
    );
  }
  const stored = {
    profile: given.profile ?? profile,
    local: given.local ?? (origin === 'local' && given.baseUrl === undefined ? true : null),
    // The limit that the list was begun with applies until another one is given.
    maxCredits: given.maxCredits ?? max_credits,
    template: request.template,
    ...{ inputFormat, into, run, shard },
  };
  const known = Object.fromEntries(Object.entries(stored).filter(([, value]) => value != null));
  const { buyList } = await import('../../records/rows.ts');
  const options = { history: true, ...given, ...fromTerms(terms), input: resolve(input), ...known };
  await buyList(context, options, request, operation);
}
