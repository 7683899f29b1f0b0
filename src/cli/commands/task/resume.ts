import { Argument, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { type LeadpipeError, UsageError } from '../../../errors.ts';
import type { HeldLock } from '../../../files/folder-lock.ts';
import type { Buyer } from '../../../operations/buyer.ts';
import { type Journal, withOperation } from '../../../operations/journal/journal.ts';
import { readKnown, type Operation, toDamageLine } from '../../../operations/operation.ts';
import { isTask, kindOf, rowsOf } from '../../../operations/kinds/kinds.ts';
import {
  finishTask,
  isTaskPartOurs,
  purchaseOf,
  resumeTask,
} from '../../../operations/task/resume.ts';
import { readUnfinished } from '../../../operations/unfinished.ts';
import { entityLayout } from '../../../output/paid-layouts.ts';
import { confirm } from '../../ask.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { checkNotDropped, timeOf } from '../../messages/earlier-runs.ts';
import { createNotes } from '../../messages/status-line.ts';
import { type ConnectionOptions, toId } from '../../options/options.ts';
import { fromTerms, printedAs } from '../../records/orders.ts';
import { openOutput, withHeldOutput } from '../../records/record-output.ts';
import { runReading } from './read-and-report.ts';
import { type FollowOptions, heading, toReadTerms, waitingOptions } from './reading-options.ts';
import { foundLayout } from './task-layout.ts';

export const resumeArgument = new Argument(
  '[operation-id]',
  'the ID that the interrupted command printed (default: the latest unfinished operation)',
).argParser(toId);

const replayOption = new Option(
  '--replay-create',
  'create the task again if the first answer was lost more than 24 hours ago; this may buy it again',
).helpGroup(heading);

export const resumeOptions = [...waitingOptions, replayOption];

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
  run: runTaskResume,
});

async function runTaskResume(
  context: Context,
  operationId: string | undefined,
  options: ResumeOptions,
): Promise<void> {
  const known = await toOperation(context, operationId, options, ({ command: kind }) => isTask(kind));
  if (known !== undefined) await resumeOperation(context, known, options);
}

/** The operation that is meant, or the latest unfinished one; undefined where there is none, or the user does not want it. */
export async function toOperation(
  context: Context,
  given: string | undefined,
  options: ConnectionOptions,
  isMeant: (intent: Operation['intent']) => boolean,
): Promise<Operation | undefined> {
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
    const { intent } = latest;
    if (!isMeant(intent)) continue;
    if (latest.isReaderGone || !isReadable(latest)) {
      isPart ||= intent.options.input !== '-';
      continue;
    }
    const { command, output } = intent;
    const place = output === null ? '' : `, into ${output}`;
    say(
      `The latest unfinished operation is ${latest.operationId}: ${command}, started ${timeOf(context, latest)}${place}`,
    );
    // Reading the leads of an existing task is free.
    if (isTask(command) || !context.stdin.isTerminal || !context.stderr.isTerminal) return latest;
    if (await confirm(context, 'The rest of it is bought. Resume it?')) return latest;
    say('Nothing was bought.');
    return undefined;
  }
  // The damaged one may be the one that is meant.
  if (damage !== undefined) throw damage;
  say('There is nothing to resume.');
  if (isPart) say('What ended in part can be resumed by its ID. To see the IDs: leadpipe history');
  return undefined;
}

/** Whether its rows can be read again, and some were never sent. */
function isReadable({ end, intent }: Operation): boolean {
  if (rowsOf(intent.command) === undefined) return true;
  return intent.options.input !== '-' && end === undefined;
}

/** Resumes a `task run` or a `task wait` as it was begun. Throws UsageError for any other command. */
export async function resumeOperation(
  context: Context,
  known: Operation,
  options: ResumeOptions,
): Promise<void> {
  checkResumable(known);
  const { intent, operationId } = known;
  await withHeldOutput(context, fromTerms(intent), async (lock) => {
    await withOperation(context, operationId, async (journal, operation) => {
      if (await finishTask(journal, operation)) {
        const place = intent.output === null ? '' : `; its leads are in ${intent.output}`;
        return createNotes(context, options).say(`The operation ${operationId} is finished${place}.`);
      }
      await withConnection(context, withRouteOf(operation, options), async (connection) => {
        const buyer = { connection, context };
        const isOurs = await isTaskPartOurs(buyer, operation);
        await goOnWithTask(context, options, buyer, journal, operation, isOurs, lock);
      });
    });
  });
}

/** Reads on where the operation was left. `isOurs`: the .part belongs to it. The output is locked. Throws as `resumeTask`. */
export async function goOnWithTask(
  context: Context,
  options: ResumeOptions,
  buyer: Buyer,
  journal: Journal,
  operation: Operation,
  isOurs: boolean,
  lock: HeldLock,
): Promise<void> {
  if (await finishTask(journal, operation)) return;
  const { settings } = buyer.connection;
  const { say, warn } = createNotes(context, options);
  const { intent, terms: begun } = operation;
  const bought = purchaseOf(intent);
  // In the form of the run that began it.
  const read = { ...options, ...fromTerms(begun) };
  const terms = { ...toReadTerms(options, settings), replay: options.replayCreate === true, isOurs };
  const resumed = resumeTask(buyer, journal, operation, terms, (progress, opening) => {
    const { start, position, enrichFields } = progress;
    // Keep the columns of the earlier rows.
    const isBegun = position > start && !read.append;
    const found = isBegun ? entityLayout(enrichFields) : foundLayout(read);
    const layout = bought ? printedAs('task run', bought.request).layout : found;
    return openOutput(context, read, { shape: 'list', layout, settings, opening, lock });
  });
  await runReading(context, read, resumed, bought, (event) => {
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

/** Pure: the options with the service that the operation used, unless another one is given. */
export function withRouteOf<Options extends ConnectionOptions>(
  { intent: { origin, profile } }: Operation,
  options: Options,
): Options {
  return {
    ...(profile === null ? {} : { profile }),
    ...(origin === 'local' && options.baseUrl === undefined ? { local: true } : {}),
    ...options,
  };
}

/** Throws UsageError. */
function checkResumable({ operationId, intent }: Operation): void {
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
