import { extname, resolve } from 'node:path';
import { Argument, Option } from 'commander';
import { profileInUse } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, notResumable, UsageError } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import { isSameFile, statOrNothing } from '../../files/target.ts';
import type { Buyer } from '../../operations/buyer.ts';
import { createReader, type Reader } from '../../operations/journal/operation-index.ts';
import { isTask, kindOf, rowsOf } from '../../operations/kinds/kinds.ts';
import type { RowRequest } from '../../operations/kinds/layouts.ts';
import { readKnown, readUnfinished, toDamageLine } from '../../operations/known-operations.ts';
import type { Operation } from '../../operations/operation.ts';
import { readHistoryRecord } from '../../operations/report/history.ts';
import { isStored } from '../../operations/stored-records.ts';
import type { AskOptions } from '../ask.ts';
import { defineCommand } from '../command.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { checkNotDropped } from '../messages/earlier-runs.ts';
import { toHint } from '../messages/hints.ts';
import { type Route, routeOf, toReadCommand } from '../messages/proposed.ts';
import { createNotes } from '../messages/status-line.ts';
import { toId } from '../options/option-builders.ts';
import { fileOf, type RecordOptions, toFormat } from '../options/record-options.ts';
import { firstOption, listTerms, type RowsOptions, retryUnknownOption } from '../options/rows-options.ts';
import {
  type ConnectionOptions,
  createMaxCreditsOption,
  type PaidOptions,
} from '../options/shared-options.ts';
import { type FollowOptions, toReadTerms, waitingOptions } from '../options/task-options.ts';
import { fromTerms, toBuyer, toTerms } from '../records/orders.ts';
import type { Resumes } from '../run-and-show.ts';
import { note } from '../run-facts.ts';
import { buySearch } from './search.ts';
import { readAndReport } from './task/read-and-report.ts';

interface ResumeOptions
  extends ConnectionOptions,
    RecordOptions,
    Pick<FollowOptions, 'pollInterval' | 'waitTimeout'>,
    Pick<PaidOptions, 'maxCredits'>,
    Pick<RowsOptions, 'first' | 'retryUnknown'>,
    AskOptions {}

export const createCommand = defineCommand({
  name: 'resume',
  description:
    'Resumes a search, a task or a list (--input) that was interrupted: the latest one that can be resumed, or the one that you name. Only the rest is bought, and all results go into the original file.',
  arguments: [
    new Argument(
      '[operation-id]',
      'the ID that the interrupted command printed (default: the latest; with --local, of the local service)',
    ).argParser(toId),
  ],
  options: [
    new Option('--yes', 'buy the rest without asking (only a terminal asks)'),
    createMaxCreditsOption('do not start if the rest (of a list: all of it) could cost more than n credits'),
    firstOption,
    retryUnknownOption,
    ...waitingOptions,
  ],
  takes: ['records', 'connection'],
  examples: ['leadpipe resume', 'leadpipe resume --max-credits 50 --yes'],
  output: [
    'what the interrupted command would have written: the same file, format and',
    'columns, each lead or row once. With -o, all rows go into another file. On',
    'standard output, only the rest of the leads is printed; of a list, all rows.',
  ],
  columns: () => [],
  moreColumns: 'those of the interrupted command',
  cost: { text: 'what the rest of the purchase can cost', settings: [] },
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  run: runResume,
});

async function runResume(context: Context, given: string | undefined, options: ResumeOptions): Promise<void> {
  const reader = createReader(context);
  if (given === undefined) return await resumeLatest(context, options, reader);
  const operation = await readKnown(context, given, reader.journals);
  checkNotDropped(operation);
  // A search with an unknown outcome may have more stored leads than its journal counts.
  const mayResume = operation.resumes !== 'no' || (operation.isSearch && operation.isInDoubt);
  if (!mayResume) throw await toUnresumable(operation);
  await resume(context, options, { operation, reader });
}

/** Resumes the latest unfinished operation that can be resumed, and names the later ones. */
async function resumeLatest(context: Context, options: ResumeOptions, reader: Reader): Promise<void> {
  const { warn } = createNotes(context, options);
  let left: LeadpipeError | undefined;
  for await (const operation of findUnfinished(context, options, reader)) {
    if (left !== undefined) warn(toDamageLine(left.with({ hint: toHint(left) })));
    try {
      return await resume(context, options, { operation, reader });
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.details.type !== notResumable) throw error;
      left = error.with({ operationId: operation.operationId });
    }
  }
  if (left !== undefined) throw left;
}

/** The unfinished operations, the latest first, but one that is running now last. If only damaged ones are found, throws the first error. */
async function* findUnfinished(
  context: Context,
  options: ResumeOptions,
  reader: Reader,
): AsyncGenerator<Operation> {
  const { say, warn } = createNotes(context, options);
  const damages: LeadpipeError[] = [];
  let [isPart, isElsewhere, isFound] = [false, false, false];
  let running: Operation | undefined;
  const damaged = (error: LeadpipeError): void => void damages.push(error);
  for await (const latest of readUnfinished(reader, damaged)) {
    const { folder, intent } = latest;
    // With --local those of the local service, else those of an account.
    if ((intent.origin === 'local') !== (options.local === true)) {
      isElsewhere ||= !latest.isReaderGone && isReadable(latest);
      continue;
    }
    if (latest.isReaderGone || !isReadable(latest)) {
      isPart ||= intent.options.input !== '-';
      continue;
    }
    for (const damage of damages.splice(0)) warn(toDamageLine(damage));
    if (isLocked(folder)) {
      running ??= latest;
      continue;
    }
    if (running !== undefined && !isFound) say(`${running.operationId} is still running.`);
    isFound = true;
    yield latest;
  }
  if (running !== undefined && !isFound) return yield running;
  const [damage, ...others] = damages;
  for (const other of others) warn(toDamageLine(other));
  if (isFound) return damage && warn(toDamageLine(damage));
  if (damage !== undefined) throw damage;
  const other = options.local
    ? ' Your account has an unfinished purchase: leadpipe resume'
    : ' The local service has an unfinished purchase: leadpipe resume --local';
  say(`There is nothing to resume.${isElsewhere ? other : ''}`);
  if (isPart) say('Purchases that ended in part can be resumed by ID. To see the IDs: leadpipe history');
}

/** False for a list whose input can't be read again, or that has ended. */
function isReadable({ end, intent }: Operation): boolean {
  if (rowsOf(intent.command) === undefined) return true;
  return intent.options.input !== '-' && end === undefined;
}

/** The error for an operation that can't be resumed; its hint says where the results are. */
async function toUnresumable(operation: Operation): Promise<LeadpipeError> {
  const { intent, operationId } = operation;
  const { command, idempotency_key: key, output } = intent;
  const hasResults = await isStored(operation).catch(() => true);
  const print = hasResults
    ? `To print its results, for free: leadpipe history show ${operationId}`
    : undefined;
  if (kindOf(command)?.isResumable) {
    const { state } = await readHistoryRecord(operation);
    const isPlaced =
      output !== null &&
      operation.entries.some((one) => one.type === 'placed' && one.output === intent.index.output);
    const place = isPlaced ? `; its output is ${output}` : '';
    const words = `${operationId} has already ended (state: ${state})${place}. Nothing was bought`;
    return new UsageError(words, isTask(command) ? undefined : print);
  }
  const { isNamed, leadsSearchId } = operation.progress;
  return new UsageError(
    `${operationId} (\`${command}\`) can't be resumed: only searches, tasks and lists (--input) can`,
    !isTask(command) || key === undefined
      ? print
      : !isNamed || leadsSearchId === undefined
        ? 'To get its task without buying another one, run the same command again within 24 hours: it uses the same idempotency key.'
        : `To read the leads of its task, for free: ${toReadCommand('wait', leadsSearchId, routeOf(intent))}`,
  );
}

/** Resumes an operation from its stored state. Throws UsageError, before anything is bought, if that is not possible. */
async function resume(context: Context, given: ResumeOptions, resumes: Resumes): Promise<void> {
  const { operation } = resumes;
  const { intent } = operation;
  const isSameOutput = await isOutputOf(operation, given);
  // Use the output options of the run that started it.
  const begun = fromTerms(operation.terms);
  const records = isSameOutput ? begun : { ...formFor(given, begun), ...given };
  const maxCredits = given.maxCredits ?? intent.max_credits;
  const route = await routeFor(context, operation, given);
  note(context, { route });
  const options = {
    ...given,
    ...records,
    ...route,
    history: true,
    ...(maxCredits === undefined ? {} : { maxCredits }),
  };
  if (given.summary !== undefined || given.output !== undefined) {
    const { errors, input } = operation.terms.options as Partial<RowsOptions>;
    const { checkNamedFiles } = await import('../named-files.ts');
    const files = { ...(input ? { input } : {}), ...(errors ? { errors } : {}) };
    await checkNamedFiles(context, { args: [], options: { ...options, ...files } });
  }
  if (rowsOf(intent.command) !== undefined) return await resumeList(context, options, resumes);
  if (given.first !== undefined) throw new UsageError('--first is for a list (--input)');
  await withConnection(context, options, async (connection) => {
    const { settings } = connection;
    const buyer: Buyer = toBuyer(context, options, connection);
    const format = toFormat(options, context.stdout.isTerminal, settings.format);
    const terms = isSameOutput
      ? operation.terms
      : {
          ...toTerms(options, format, {}),
          options: { ...operation.terms.options, ...toTerms(options, format, {}).options },
        };
    const list = { name: intent.list, onlyNew: intent.requested !== undefined };
    const common = { keep: true, terms, list };
    if (operation.isSearch) {
      const body = JSON.parse(intent.requested ?? intent.body ?? '{}');
      const order = { ...common, kind: 'search', body } as const;
      await buySearch(context, options, buyer, order, resumes);
      return;
    }
    const read = toReadTerms(options, settings);
    const order =
      intent.body === undefined
        ? ({
            ...common,
            kind: 'task wait',
            body: { leads_search_id: intent.leads_search_id ?? '' },
            read,
          } as const)
        : ({ ...common, kind: 'task run', body: JSON.parse(intent.body), read } as const);
    await readAndReport(context, options, buyer, order, resumes);
  });
}

/** True if the rows go to the output of the operation, with the same options. Throws UsageError for the same file with other options. */
async function isOutputOf({ terms, operationId }: Operation, given: ResumeOptions): Promise<boolean> {
  const { output } = given;
  const begun = fromTerms(terms);
  const names = ['format', 'columns', 'csvRaw', 'delimiter', 'append'] as const;
  const isSameForm = names.every(
    (name) => given[name] === undefined || String(given[name]) === String(begun[name]),
  );
  if (terms.output === null) return output === undefined && isSameForm;
  if (output === '-') return false;
  if (output !== undefined && !(await isSameFile(output, terms.output))) return false;
  if (isSameForm) return true;
  throw new UsageError(
    `${terms.output} was written with other options (${operationId})`,
    'Leave out -f, --columns, --csv-raw, --delimiter and --append, or name another file with -o.',
  );
}

/** The service that the operation used, unless another one is given. A profile that is in use anyway is not named. */
async function routeFor(
  context: Context,
  { intent: { origin, profile } }: Operation,
  given: ConnectionOptions,
): Promise<Route> {
  const isOther = given.profile === undefined && profile !== (await profileInUse(context, undefined));
  const isLocal = origin === 'local' && given.baseUrl === undefined && given.local === undefined;
  return {
    ...(profile !== null && isOther ? { profile } : {}),
    ...(isLocal ? { local: true as const } : {}),
  };
}

/** Pure: the options of an output that another file gets, too: the columns and, if its name ends as that of the first, what else shapes CSV. */
function formFor({ format, output }: RecordOptions, begun: RecordOptions): RecordOptions {
  const isAlike = format === undefined && extname(output ?? '') === extname(begun.output ?? '');
  const names = isAlike ? ['columns', 'csvRaw', 'delimiter'] : ['columns'];
  return Object.fromEntries(Object.entries(begun).filter(([name]) => names.includes(name))) as RecordOptions;
}

async function resumeList(
  context: Context,
  given: ResumeOptions & { readonly history: boolean },
  resumes: Resumes,
): Promise<void> {
  const { intent, operationId, terms } = resumes.operation;
  const { input, run } = terms.options as Partial<RowsOptions>;
  const request: RowRequest = JSON.parse(intent.row_request ?? '{}');
  if (input === undefined || input === '-') {
    throw new UsageError(
      `the rows of ${operationId} came from standard input, so they can't be read again; nothing was bought`,
      fileOf(given) === undefined && run == null
        ? `To print the stored answers, for free: leadpipe history show ${operationId}`
        : 'Run the same command again with the same rows. Rows that are already bought are not bought again.',
    );
  }
  const stored = [['template', request.template], ...listTerms.map((name) => [name, terms.options[name]])];
  const known = Object.fromEntries(stored.filter(([, value]) => value != null));
  if ((await statOrNothing(input)) === undefined) {
    throw new UsageError(
      `the input of ${operationId} is no longer there: ${input}; nothing was bought`,
      `To print the stored answers, for free: leadpipe history show ${operationId}`,
    ).with({ type: notResumable });
  }
  const { buyList } = await import('../records/buy-list.ts');
  await buyList(context, { ...given, input: resolve(input), ...known }, request, resumes);
}
