import type { Context } from '../../../context.ts';
import { type LeadpipeError, UsageError } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import type { Buyer } from '../../../operations/buyer.ts';
import { isReaderGone } from '../../../operations/journal/chain.ts';
import type { Journal } from '../../../operations/journal/journal.ts';
import { withOperation } from '../../../operations/journal/journal.ts';
import { readKnown, type StoredOperation, toDamageLine } from '../../../operations/journal/stored.ts';
import { isTask, kindOf, rowsOf } from '../../../operations/kinds.ts';
import { completeAdditionTo } from '../../../operations/output-owner.ts';
import {
  finishTask,
  isTaskPartOurs,
  purchaseOf,
  resumeTask,
  type TaskProgress,
  toTaskProgress,
} from '../../../operations/task/resume.ts';
import { readUnfinished } from '../../../operations/unfinished.ts';
import { entityLayout } from '../../../output/columns.ts';
import type { Layout, LayoutOf } from '../../../output/layout.ts';
import { confirm } from '../../ask.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { checkNotDropped, timeOf } from '../../messages/earlier-runs.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { ConnectionOptions, RecordOptions } from '../../options/options.ts';
import { fromTerms, printedAs } from '../../records/orders.ts';
import { openOutput, withHeldOutput } from '../../records/record-output.ts';
import {
  type FollowOptions,
  foundLayout,
  resumeArgument,
  resumeOptions,
  runReading,
  toReadTerms,
} from './options.ts';

export interface ResumeOptions
  extends ConnectionOptions,
    Pick<FollowOptions, 'pollInterval' | 'waitTimeout'> {
  readonly replayCreate?: true;
}

export const createTaskResume = defineCommand({
  name: 'resume',
  summary: 'finish an interrupted task',
  description:
    'Resumes an interrupted `task run` or `task wait`, into the same file. Nothing is bought twice. For searches and lists: leadpipe history resume.',
  arguments: [resumeArgument],
  options: resumeOptions,
  takes: ['connection'],
  examples: ['leadpipe task resume', 'leadpipe task resume --wait-timeout 600'],
  output: [
    'what the interrupted command would have written: the same file, format',
    'and columns, each lead once',
  ],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
  async run(context, operationId: string | undefined, options: ResumeOptions) {
    const known = await toOperation(context, operationId, options, ({ command: kind }) => isTask(kind));
    if (known !== undefined) await resumeOperation(context, known, options);
  },
});

/** The operation that is meant, or the latest unfinished one; undefined where there is none, or the user does not want it. */
export async function toOperation(
  context: Context,
  given: string | undefined,
  options: ConnectionOptions,
  isMeant: (intent: StoredOperation['entries'][0]) => boolean,
): Promise<StoredOperation | undefined> {
  if (given !== undefined) {
    const known = await readKnown(context, given);
    checkNotDropped(known);
    return known;
  }
  const { say, warn } = createNotes(context, options);
  let damage: LeadpipeError | undefined;
  let isPart = false;
  const damaged = (error: LeadpipeError): void => {
    damage ??= error;
    warn(toDamageLine(error));
  };
  for await (const latest of readUnfinished(context, damaged)) {
    const [intent] = latest.entries;
    if (!isMeant(intent)) continue;
    if (isReaderGone(latest) || !isReadable(latest)) {
      isPart ||= intent.options.input !== '-';
      continue;
    }
    const { command, output } = intent;
    const place = output === null ? '' : `, into ${output}`;
    say(
      `The latest unfinished operation is ${latest.operationId}: ${command}, started ${timeOf(context, latest)}${place}`,
    );
    // The leads of a task that is there are free.
    if (isTask(command) || !context.stdin.isTerminal || !context.stderr.isTerminal) return latest;
    if (await confirm(context, 'The rest of it is bought. Resume it?')) return latest;
    say('Nothing was bought.');
    return undefined;
  }
  // It may be the one that is meant.
  if (damage !== undefined) throw damage;
  say('There is nothing to resume.');
  if (isPart) {
    say('What ended in part can be resumed by its ID. To see the IDs: leadpipe history');
  }
  return undefined;
}

/** Whether its rows can be had again, and some were never sent. */
function isReadable({ entries: [intent, ...rest] }: StoredOperation): boolean {
  if (rowsOf(intent.command) === undefined) return true;
  return intent.options.input !== '-' && !rest.some(({ type }) => type === 'terminal');
}

/** Goes on with a `task run` or a `task wait`, as it was begun. Throws UsageError for what is none. */
export async function resumeOperation(
  context: Context,
  known: StoredOperation,
  options: ResumeOptions,
): Promise<void> {
  checkResumable(known);
  const { operationId } = known;
  const [intent] = known.entries;
  await withHeldOutput(context, fromTerms(intent), async (lock) => {
    if (intent.output !== null) await completeAdditionTo(context, intent.output);
    await withOperation(context, operationId, async (journal, operation) => {
      if (await finishTask(journal, operation)) {
        const place = intent.output === null ? '' : `; its leads are in ${intent.output}`;
        return createNotes(context, options).say(`The operation ${operationId} is finished${place}.`);
      }
      await withConnection(context, withRouteOf(operation, options), async (connection) => {
        const buyer = { connection, context };
        const isOurs = await isTaskPartOurs(buyer, operation);
        const going = { isOurs, lock, replayCreate: options.replayCreate === true };
        await goOnWithTask(buyer, context, options, journal, operation, going);
      });
    });
  });
}

interface Going {
  readonly isOurs: boolean;
  readonly lock: FolderLock | undefined;
  readonly replayCreate: boolean;
}

/** Reads on where the operation was left. The output is held. Throws as `resumeTask`. */
export async function goOnWithTask(
  buyer: Buyer,
  context: Context,
  options: ResumeOptions & RecordOptions,
  journal: Journal,
  operation: StoredOperation,
  { isOurs, lock, replayCreate }: Going,
): Promise<void> {
  if (await finishTask(journal, operation)) return;
  const { settings } = buyer.connection;
  const { say, warn } = createNotes(context, options);
  const { intent } = toTaskProgress(operation);
  const read = { ...options, ...fromTerms(intent) };
  const terms = { ...toReadTerms(options, settings), replay: replayCreate, isOurs };
  const resumed = resumeTask(buyer, journal, operation, terms, (progress, opening) => {
    const layout = layoutOf(progress, read);
    return openOutput(context, read, { shape: 'list', layout, settings, opening, lock });
  });
  await runReading(context, read, resumed, purchaseOf(intent), (event) => {
    if (event.is === 'resuming') {
      say(
        `Resuming from lead ${event.from + 1}. The leads of the last page are printed again: it is not known whether you got them.`,
      );
    }
    if (event.is === 'reading_again') {
      warn(`${event.why.message}. All leads of the task are read again, for free`);
    }
  });
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

/** Pure: the way to the service that the operation took, where no other is given. */
export function withRouteOf<Options extends ConnectionOptions>(
  { entries: [{ origin, profile }] }: StoredOperation,
  options: Options,
): Options {
  return {
    ...(profile === null ? {} : { profile }),
    ...(origin === 'local' && options.baseUrl === undefined ? { local: true } : {}),
    ...options,
  };
}

/** Throws UsageError. */
function checkResumable({ operationId, entries: [intent] }: StoredOperation): void {
  const { command, idempotency_key: key } = intent;
  const goesOn = kindOf(command)?.goesOn;
  if (goesOn === 'resume') return;
  if (goesOn === 'continue' || goesOn === 'command') {
    throw new UsageError(
      `${operationId} (\`${command}\`) is no task`,
      `To resume it: leadpipe history resume ${operationId}`,
    );
  }
  throw new UsageError(
    `${operationId} (\`${command}\`) can't be resumed: only searches, tasks and runs with --input can`,
    goesOn === 'repeat' && key !== undefined
      ? `To get its task without buying another one, run the same command with --idempotency-key ${key}.`
      : `To see what happened, and whether it was charged: leadpipe history show ${operationId}`,
  );
}
