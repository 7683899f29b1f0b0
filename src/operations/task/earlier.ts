import { requests } from '../../client.ts';
import { ConfigurationError, type LeadpipeError, LocalIoError } from '../../errors.ts';
import { readOperations, type StoredOperation } from '../journal/journal.ts';
import type { Order, Shop } from '../purchase.ts';
import { toTaskProgress, unfinishedTasks } from './progress.ts';

/** Asked about the output that is wanted, and told of what stands in the way of an answer. */
export interface EarlierListener {
  /** Whether rows of an unfinished run stand beside it. */
  hasPart(): Promise<boolean>;
  damaged(error: LeadpipeError): void;
}

/**
 * The unfinished run of the same purchase into the same file, which is gone on with instead of buying again. Throws
 * LocalIoError where the file, which the user calls `named`, is the unfinished one of another run; ConfigurationError where
 * it may be that of one which can't be read. What else can't be read is no reason to stop.
 */
export async function findEarlierRun(
  { connection, context }: Shop,
  { body, idempotencyKey, keep, list, terms: { output, options } }: Order<'task run'>,
  named: string,
  listener: EarlierListener,
): Promise<StoredOperation | undefined> {
  if (!keep || output === null) return undefined;
  const { operations, damages } = await readOperations(context.directories.state);
  const earlier = unfinishedTasks(operations).find(({ entries: [intent] }) => intent.output === output);
  for (const damage of damages) listener.damaged(damage);
  if (earlier === undefined) {
    if (damages[0] !== undefined && !options.append && (await listener.hasPart())) {
      throw toPerhapsTheirs(named, damages[0]);
    }
    return undefined;
  }
  const [intent] = earlier.entries;
  const same =
    // What is left out is another each day.
    (intent.asked ?? intent.body) === requests.createTask(body, '').body &&
    (intent.asked !== undefined) === (list?.onlyNew === true) &&
    (intent.list ?? body.entity_type) === (list?.name ?? body.entity_type) &&
    intent.origin === connection.origin &&
    (idempotencyKey === undefined || idempotencyKey === intent.idempotency_key) &&
    toComparable(options) === toComparable(intent.options);
  if (same) return earlier;
  // Rows can be added to what another run adds to; a .part has one owner.
  if (options.append) return undefined;
  const { outputLength = 0 } = toTaskProgress(earlier);
  if (outputLength === 0) return undefined;
  const { operationId } = earlier;
  throw new LocalIoError(
    `${named} is the output of the unfinished operation ${operationId}; nothing was sent`,
    { charged: 'no', facts: { is: 'output_unfinished', operationId } },
  );
}

/** How many leads a page has shapes no output. */
function toComparable({ num: _, ...options }: Readonly<Record<string, unknown>>): string {
  const known = JSON.parse(JSON.stringify(options)) as object;
  return JSON.stringify(Object.entries(known).sort());
}

/** Rows are kept there, and the run that can't be read may be theirs. */
function toPerhapsTheirs(named: string, { message, details }: LeadpipeError): ConfigurationError {
  return new ConfigurationError(
    `${message}, and it may be the run that ${named}.part is of; nothing was sent`,
    [details.hint, `Or move or remove ${named}.part, to begin anew.`].join(' ').trim(),
  );
}
