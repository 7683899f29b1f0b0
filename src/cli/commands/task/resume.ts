import { Argument, Command, Option } from 'commander';
import { toMinutes } from '../../../clock.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, outputChanged, UsageError } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import { withOutputLock } from '../../../files/output-lock.ts';
import { isSearch, unfinishedSearches } from '../../../operations/journal/chain.ts';
import {
  type Intent,
  type Journal,
  readOperation,
  readOperations,
  type StoredOperation,
  toDamageLine,
} from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/with-journal.ts';
import { kindOf, rowsOf } from '../../../operations/kinds.ts';
import { unfinishedLists } from '../../../operations/list/unfinished.ts';
import type { Shop } from '../../../operations/purchase.ts';
import type { EarlierRun } from '../../../operations/task/earlier.ts';
import {
  isResumable,
  mayReplay,
  purchaseOf,
  type TaskProgress,
  toTaskProgress,
  unfinishedTasks,
} from '../../../operations/task/progress.ts';
import { finishWritten, type ResumeTerms, resumeTask } from '../../../operations/task/resume.ts';
import { entityLayout, type Layout, type LayoutOf } from '../../../output/columns.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addConnectionOptions,
  type ConnectionOptions,
  createMaxCreditsOption,
  groups,
  type PaidOptions,
  type RecordOptions,
  toId,
} from '../../options/options.ts';
import { fromTerms, openOutput } from '../../records/orders.ts';
import { completeOf } from '../../records/pending-addition.ts';
import { printedAs } from '../../records/printed-as.ts';
import {
  addWaitingOptions,
  createTaskListener,
  type FollowOptions,
  foundLayout,
  toReadTerms,
} from './options.ts';

/** Options of a command that goes on with an operation. */
export interface ResumeOptions
  extends ConnectionOptions,
    Pick<FollowOptions, 'pollInterval' | 'waitTimeout'>,
    Pick<PaidOptions, 'maxCredits'> {
  readonly replayCreate?: true;
}

/** It stands in two groups: those who look for it among their tasks find it, and those who look in the history. */
export function createTaskResumeCommand(context: Context, group: 'task' | 'history' = 'task'): Command {
  const help: CommandHelp = {
    examples: [`leadpipe ${group} resume`, `leadpipe ${group} resume --wait-timeout 600`],
    output: [
      'what the interrupted command would have written: the same file, format',
      'and columns, each lead once',
    ],
    outcomes: [...paidOutcomes, 'partial', 'not_found'],
  };
  const command = new Command('resume')
    .summary('finish an interrupted task, list or search')
    .description(
      'Resumes an interrupted `task run`, `task wait`, list (--input) or search, into the same file. Nothing is bought twice. The rest of a search or a list is bought.',
    )
    .addArgument(
      new Argument(
        '[operation-id]',
        'the ID that the interrupted command printed (default: the latest unfinished operation)',
      ).argParser(toId),
    );
  addWaitingOptions(command)
    .addOption(
      createMaxCreditsOption(
        'refuse (exit code 5) a search or list that can cost more; the rows of a list that were bought before count too (default: the limit that the list was started with)',
      ).helpGroup(groups.connection),
    )
    .addOption(
      new Option(
        '--replay-create',
        'create the task again if the first answer was lost more than 24 hours ago; this may buy it again',
      ).helpGroup('The task:'),
    );
  return addHelp(addConnectionOptions(command), help).action(
    (operationId: string | undefined, options: ResumeOptions) => runTaskResume(context, operationId, options),
  );
}

async function runTaskResume(
  context: Context,
  given: string | undefined,
  options: ResumeOptions,
): Promise<void> {
  const operationId = given ?? (await findLatest(context, options));
  if (operationId === undefined) return;
  const known = await readOperation(context.directories.state, operationId);
  if (known !== undefined && rowsOf(known.entries[0].command) !== undefined) {
    const { resumeList } = await import('../history/resume-list.ts');
    return await resumeList(context, known, options);
  }
  if (known !== undefined && isSearch(known)) {
    const { continueSearch } = await import('../search/continue.ts');
    return await continueSearch(context, operationId, { ...withRouteOf(known, options), history: true });
  }
  await withOperation(context, operationId, async (journal, operation) => {
    checkResumable(operation);
    const { output } = operation.entries[0];
    const resume = async (lock?: FolderLock): Promise<void> => {
      if (await isFinished(context, options, journal, operation, lock)) return;
      await withConnection(context, withRouteOf(operation, options), (connection) =>
        goOn({ connection, context }, context, options, journal, operation, { lock }),
      );
    };
    await (output === null ? resume() : withOutputLock(context, output, resume));
  });
}

/**
 * Goes on with an operation in place of the command that was given: without a person, whatever has become of its file. False
 * where the service does not know its task any more. The output is held.
 */
export async function goOnInstead(
  shop: Shop,
  context: Context,
  options: ResumeOptions & RecordOptions,
  { operation: earlier, isOtherForm }: EarlierRun,
  shaped: Intent['options'],
  lock: FolderLock | undefined,
): Promise<boolean> {
  const { operationId } = earlier;
  const { say, warn } = createNotes(context, options);
  const { intent, leadsSearchId } = toTaskProgress(earlier);
  const mayBuyAgain = leadsSearchId === undefined && !mayReplay(intent, context.clock.now());
  say(
    `Resuming ${operationId} (the same task, unfinished since ${toMinutes(new Date(intent.time), context.zone)}).${mayBuyAgain ? '' : ' You are not charged again.'}`,
  );
  if (mayBuyAgain) {
    warn(
      'leadpipe never got the ID of this task, more than 24 hours ago. It sends the same request again; if the service no longer knows it, you pay for a new task',
    );
  }
  return await withOperation(context, operationId, async (journal, operation) => {
    const go = (over?: ResumeTerms['over']) =>
      goOn(shop, context, { ...options, replayCreate: true }, journal, operation, { over, lock });
    const anew = { options: shaped };
    try {
      // Rows that are added go under the header that the file has.
      if (isOtherForm && !options.append) await go(anew);
      else if (!(await isFinished(context, options, journal, operation, lock))) await go();
      return true;
    } catch (error) {
      if (!(error instanceof LeadpipeError)) throw error;
      if (error.outcome === 'not_found') {
        warn(`${error.words}. A new task is created, and charged`);
        await journal.append({ type: 'terminal', outcome: 'not_found', state: null, ready_count: null });
        return false;
      }
      if (error.details.type !== outputChanged || isOtherForm) throw error;
      warn(`${error.message}. All leads of the task are read again, for free`);
      await go(anew);
      return true;
    }
  });
}

/** Ends an operation of which only the name of its file was missing, and says so. */
async function isFinished(
  context: Context,
  options: ResumeOptions,
  journal: Journal,
  operation: StoredOperation,
  lock: FolderLock | undefined,
): Promise<boolean> {
  const { say, warn } = createNotes(context, options);
  const intent = await finishWritten(
    context.directories.state,
    journal,
    operation,
    async (output, length) => {
      if (await completeOf(journal, operation)) return;
      const [{ placeWritten }, { toMake }] = await Promise.all([
        import('../../../output/file-sink.ts'),
        import('../../../output/records.ts'),
      ]);
      const { append: isAdded, format } = fromTerms(operation.entries[0]);
      const make = format && (await toMake(format, context.signal, warn));
      const append = isAdded && format ? { format } : undefined;
      await placeWritten(output, length, { append, lock, make }, (addition) =>
        journal.append({ type: 'adding', ...addition }),
      );
    },
  );
  if (intent === undefined) return false;
  const place = intent.output === null ? '' : `; its leads are in ${intent.output}`;
  say(`The operation ${operation.operationId} is finished${place}.`);
  return true;
}

async function goOn(
  shop: Shop,
  context: Context,
  options: ResumeOptions,
  journal: Journal,
  operation: StoredOperation,
  { over, lock }: { readonly over?: ResumeTerms['over']; readonly lock: FolderLock | undefined },
): Promise<void> {
  const { settings } = shop.connection;
  const { say } = createNotes(context, options);
  const { intent } = toTaskProgress(operation);
  const begun = typeof over === 'object' ? { ...intent, ...over } : intent;
  const read = { ...options, ...fromTerms(begun) };
  await resumeTask(
    shop,
    journal,
    operation,
    { ...toReadTerms(options, settings), replay: options.replayCreate === true, over },
    (progress, opening) => {
      const layout = layoutOf(progress, read);
      return openOutput(context, read, { shape: 'list', layout, settings, opening, lock });
    },
    {
      ...createTaskListener(context, read, purchaseOf(intent)),
      goingOn: (from) =>
        say(
          `Resuming from lead ${from + 1}. The leads of the last page are printed again: it is not known whether you got them.`,
        ),
    },
  );
}

/** The columns that the rows before have. */
function layoutOf(
  { intent, start, position, enrichFields }: TaskProgress,
  options: RecordOptions,
): Layout | LayoutOf {
  const purchase = purchaseOf(intent);
  if (purchase !== undefined) return printedAs('task run', purchase.request).layout;
  return position === start || options.append ? foundLayout(options) : entityLayout(enrichFields);
}

async function findLatest(context: Context, options: ResumeOptions): Promise<string | undefined> {
  const { operations, damages } = await readOperations(context.directories.state);
  const [latest] = [
    ...unfinishedTasks(operations),
    ...unfinishedLists(operations),
    ...unfinishedSearches(operations),
  ].sort((a, b) => (a.operationId < b.operationId ? 1 : -1));
  const { say, warn } = createNotes(context, options);
  for (const damage of damages) warn(toDamageLine(damage));
  if (latest === undefined) {
    say('There is nothing to resume.');
    return undefined;
  }
  const { command, time, output } = latest.entries[0];
  // A list says it itself.
  if (rowsOf(command) !== undefined) return latest.operationId;
  const place = output === null ? '' : `, into ${output}`;
  say(
    `The latest unfinished operation is ${latest.operationId}: ${command}, started ${toMinutes(new Date(time), context.zone)}${place}`,
  );
  return latest.operationId;
}

/** Pure: the way to the service that the operation took, where no other is given. */
function withRouteOf({ entries: [intent] }: StoredOperation, options: ResumeOptions): ResumeOptions {
  const { origin, profile } = intent;
  return {
    ...(profile === null ? {} : { profile }),
    ...(origin === 'local' && options.baseUrl === undefined ? { local: true } : {}),
    ...options,
  };
}

/** Throws UsageError. */
function checkResumable({ operationId, entries: [intent] }: StoredOperation): void {
  if (isResumable(intent)) return;
  const key = intent.idempotency_key;
  throw new UsageError(
    `${operationId} (\`${intent.command}\`) can't be resumed: only searches, tasks and runs with --input can`,
    kindOf(intent.command)?.goesOn === 'repeat' && key !== undefined
      ? `To get its task without buying another one, run the same command with --idempotency-key ${key}.`
      : `To see what happened, and whether it was charged: leadpipe history show ${operationId}`,
  );
}
