import { Argument, Command, Option } from 'commander';
import type { Context } from '../../../context.ts';
import { type Outcome, UsageError } from '../../../errors.ts';
import { readOperations, type StoredOperation, toDamageLine } from '../../../operations/journal/journal.ts';
import { isResumable, unfinishedTasks } from '../../../operations/task/progress.ts';
import { withConnection } from '../../connect.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../notes.ts';
import { addConnectionOptions } from '../../options.ts';
import { addWaitingOptions } from '../../task-options.ts';
import { finishWritten, goOn, type ResumeOptions, withOperation } from '../../task-resuming.ts';

const outcomes: readonly Outcome[] = [
  'complete',
  'usage',
  'partial',
  'authentication',
  'credits',
  'not_found',
  'no_result',
  'unknown',
  'not_enabled',
  'local_io',
  'temporary',
  'interface',
  'configuration',
  'interrupted',
  'reader_closed',
  'terminated',
];

/** It stands in two groups: those who look for it among their tasks find it, and those who look in the history. */
export function createTaskResumeCommand(context: Context, group: 'task' | 'history' = 'task'): Command {
  const help: CommandHelp = {
    examples: [`leadpipe ${group} resume`, `leadpipe ${group} resume --wait-timeout 600`],
    output: [
      'what the interrupted command would have written: the same file, format',
      'and columns, each lead once',
    ],
    outcomes,
  };
  const command = new Command('resume')
    .summary('finish an interrupted run or wait')
    .description(
      'Goes on with a `task run` or `task wait` that was interrupted, into the same file. Nothing is bought twice.',
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
  await withOperation(context, operationId, async (journal, operation) => {
    checkResumable(operation);
    if (await finishWritten(context, options, journal, operation)) return;
    await withConnection(context, withRouteOf(operation, options), (connection) =>
      goOn(context, options, connection, journal, operation),
    );
  });
}

async function findLatest(context: Context, options: ResumeOptions): Promise<string | undefined> {
  const { operations, damages } = await readOperations(context.directories.state);
  const [latest] = unfinishedTasks(operations);
  const { say, warn } = createNotes(context, options);
  for (const damage of damages) warn(toDamageLine(damage));
  if (latest === undefined) {
    say('Nothing is unfinished.');
    return undefined;
  }
  const { command, time, output } = latest.entries[0];
  const place = output === null ? '' : `, into ${output}`;
  say(`Resuming ${latest.operationId}: ${command} of ${time.slice(0, 16).replace('T', ' ')}${place}`);
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
    intent.command === 'task create' && key !== undefined
      ? `The same command with --idempotency-key ${key} brings its task, and buys no other.`
      : undefined,
  );
}
