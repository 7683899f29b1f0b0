import { Argument, Command, Option } from 'commander';
import { toMinutes } from '../../../clock.ts';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import {
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
import {
  isResumable,
  purchaseOf,
  type TaskProgress,
  unfinishedTasks,
} from '../../../operations/task/progress.ts';
import { finishWritten, resumeTask } from '../../../operations/task/resume.ts';
import { entityLayout, type Layout, type LayoutOf } from '../../../output/columns.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import { addConnectionOptions, type ConnectionOptions, type RecordOptions } from '../../options/options.ts';
import { fromTerms, openOutput } from '../../records/orders.ts';
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
    Pick<FollowOptions, 'pollInterval' | 'waitTimeout'> {
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
    .summary('finish an interrupted run or wait')
    .description(
      'Goes on with a `task run`, a `task wait` or a list (--input) that was interrupted, into the same file. Nothing is bought twice.',
    )
    .addArgument(
      new Argument('[operation-id]', 'as the interrupted command named it; else the latest unfinished one'),
    );
  addWaitingOptions(command).addOption(
    new Option(
      '--replay-create',
      'send a creation again whose answer was lost more than 24 hours ago',
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
  const list = known && rowsOf(known.entries[0].command);
  if (known !== undefined && list !== undefined) {
    const { runListAgain } = await import('../history/list-again.ts');
    return await runListAgain(context, list.row, known.entries[0], options);
  }
  await withOperation(context, operationId, async (journal, operation) => {
    checkResumable(operation);
    if (await isFinished(context, options, journal, operation)) return;
    await withConnection(context, withRouteOf(operation, options), (connection) =>
      goOn({ connection, context }, context, options, journal, operation),
    );
  });
}

/** Goes on with an operation in place of the command that was given. */
export async function goOnInstead(
  shop: Shop,
  context: Context,
  options: ResumeOptions,
  { operationId, entries: [intent] }: StoredOperation,
): Promise<void> {
  createNotes(context, options).say(
    `Going on with the operation ${operationId} of ${toMinutes(new Date(intent.time), context.zone)}, which bought the same; nothing is bought again.`,
  );
  await withOperation(context, operationId, async (journal, operation) => {
    if (await isFinished(context, options, journal, operation)) return;
    await goOn(shop, context, options, journal, operation);
  });
}

/** Ends an operation of which only the name of its file was missing, and says so. */
async function isFinished(
  context: Context,
  options: ResumeOptions,
  journal: Journal,
  operation: StoredOperation,
): Promise<boolean> {
  const { say, warn } = createNotes(context, options);
  const intent = await finishWritten(
    context.directories.state,
    journal,
    operation,
    async (output, length) => {
      const { placeWritten } = await import('../../../output/file-sink.ts');
      await placeWritten(output, length, warn);
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
): Promise<void> {
  const { settings } = shop.connection;
  const { say, warn } = createNotes(context, options);
  const read = { ...options, ...fromTerms(operation.entries[0]) };
  await resumeTask(
    shop,
    journal,
    operation,
    { ...toReadTerms(options, settings), replay: options.replayCreate === true },
    (progress, { at }) => {
      const layout = layoutOf(progress, read);
      return openOutput(context, read, { shape: 'list', layout, settings, resumed: { at, warn } });
    },
    {
      ...createTaskListener(context, options),
      goingOn: (from) =>
        say(
          `Going on from position ${from}: the last page is printed again, since it may not have been read.`,
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
  const [latest] = [...unfinishedTasks(operations), ...unfinishedLists(operations)].sort((a, b) =>
    a.operationId < b.operationId ? 1 : -1,
  );
  const { say, warn } = createNotes(context, options);
  for (const damage of damages) warn(toDamageLine(damage));
  if (latest === undefined) {
    say('Nothing is unfinished.');
    return undefined;
  }
  const { command, time, output } = latest.entries[0];
  const place = output === null ? '' : `, into ${output}`;
  say(`Resuming ${latest.operationId}: ${command} of ${toMinutes(new Date(time), context.zone)}${place}`);
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
    `the operation ${operationId} is a \`${intent.command}\`, which has nothing to resume`,
    kindOf(intent.command)?.goesOn === 'repeat' && key !== undefined
      ? `The same command with --idempotency-key ${key} brings its task, and buys no other.`
      : undefined,
  );
}
