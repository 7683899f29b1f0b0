import { resolve } from 'node:path';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { ConfigurationError, type LeadpipeError, LocalIoError } from '../errors.ts';
import { readOperations, type StoredOperation, toDamageLine } from '../operations/journal/journal.ts';
import { toTaskProgress, unfinishedTasks } from '../operations/task/progress.ts';
import { createNotes } from './notes.ts';
import type { ConnectionOptions, PaidOptions, RecordOptions } from './options.ts';
import { toResumption } from './task-end.ts';
import { finishWritten, goOn, type ResumeOptions, withOperation } from './task-resuming.ts';

/**
 * The unfinished run of the same purchase into the same file, which is gone on with instead of buying again. Throws
 * LocalIoError where the file is the unfinished one of another run, ConfigurationError where it may be that of one which
 * can't be read; what else can't be read is no reason to stop.
 */
export async function findEarlierRun(
  context: Context,
  options: ConnectionOptions & RecordOptions & PaidOptions,
  connection: Connection,
  purchase: { readonly body: string },
  more: Readonly<Record<string, unknown>>,
): Promise<StoredOperation | undefined> {
  const { output, append, columns, csvRaw, idempotencyKey, history } = options;
  if (!history || output === undefined || output === '-') return undefined;
  const file = resolve(output);
  const { operations, damages } = await readOperations(context.directories.state);
  const earlier = unfinishedTasks(operations).find(({ entries: [intent] }) => intent.output === file);
  const { warn } = createNotes(context, options);
  for (const damage of damages) warn(toDamageLine(damage));
  if (earlier === undefined) {
    if (damages[0] !== undefined && !append) await checkNoPart(output, damages[0]);
    return undefined;
  }
  const [intent] = earlier.entries;
  const { num: _, ...wanted } = toComparable({ append, columns, csv_raw: csvRaw, ...more });
  const { num: __, ...begun } = toComparable(intent.options);
  const same =
    intent.body === purchase.body &&
    intent.origin === connection.origin &&
    (idempotencyKey === undefined || idempotencyKey === intent.idempotency_key) &&
    JSON.stringify(Object.entries(wanted).sort()) === JSON.stringify(Object.entries(begun).sort());
  if (same) return earlier;
  // Rows can be added to what another run adds to; a .part has one owner.
  if (append) return undefined;
  const { outputLength = 0 } = toTaskProgress(earlier);
  if (outputLength === 0) return undefined;
  throw new LocalIoError(
    `${output} is the output of the unfinished operation ${earlier.operationId}; nothing was sent`,
    {
      charged: 'no',
      hint: `To finish that one: ${toResumption(earlier.operationId, options)}; or write to another file`,
    },
  );
}

/** Throws ConfigurationError: rows are kept there, and the run that can't be read may be theirs. */
async function checkNoPart(output: string, { message, details }: LeadpipeError): Promise<void> {
  const { hasPart } = await import('../output/file-sink.ts');
  if (!(await hasPart(output))) return;
  throw new ConfigurationError(
    `${message}, and it may be the run that ${output}.part is of; nothing was sent`,
    [details.hint, `Or move or remove ${output}.part, to begin anew.`].join(' ').trim(),
  );
}

function toComparable(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(options));
}

/** Goes on with an operation in place of the command that was given. */
export async function goOnWith(
  context: Context,
  options: ResumeOptions,
  connection: Connection,
  { operationId, entries: [intent] }: StoredOperation,
): Promise<void> {
  createNotes(context, options).say(
    `Going on with the operation ${operationId} of ${toMinutes(intent.time)}, which bought the same; nothing is bought again.`,
  );
  await withOperation(context, operationId, async (journal, operation) => {
    if (!(await finishWritten(context, options, journal, operation))) {
      await goOn(context, options, connection, journal, operation);
    }
  });
}

function toMinutes(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}
