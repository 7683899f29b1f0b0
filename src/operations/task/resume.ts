import { ConfigurationError, LeadpipeError, LocalIoError, outputChanged } from '../../errors.ts';
import { hasPart, statOrNothing } from '../../files/target.ts';
import { isAdded } from '../addition.ts';
import type { OpenDelivery, Opening } from '../delivery.ts';
import { mayReplay, replacedBy } from '../earlier.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import type { StoredOperation } from '../journal/stored.ts';
import { listOf, withSieve } from '../only-new/sieve.ts';
import { checkSameBuyer, goOnWith, type Shop } from '../purchase.ts';
import { createTask } from './create.ts';
import type { TaskReading } from './end.ts';
import { purchaseOf, type TaskProgress, toTaskProgress } from './progress.ts';
import { type Begun, followInto, type ReadTerms, type TaskListener } from './reading.ts';

/** How an operation is continued. */
export interface ResumeTerms extends Omit<ReadTerms, 'positions'> {
  /** Whether a creation is sent again although the service may have forgotten its key. */
  readonly replay: boolean;
  /** Whether what stands in the .part is of this operation. */
  readonly isOurs: boolean;
}

/** Opens the output as it was begun. */
export type OpenAgain = (progress: TaskProgress, opening: Opening) => OpenDelivery;

export interface ResumeListener extends TaskListener {
  /** What was printed of the last page is printed again. */
  goingOn(from: number): void;
  /** What was in the file is gone: all of the task is read again. */
  readingAgain(why: LeadpipeError): void;
}

/**
 * Ends an operation that is over, and of which only the last line of its journal may be missing; undefined where there is more to do.
 * Throws what the operation ended with.
 */
export async function finishTask(journal: Journal, operation: StoredOperation): Promise<true | undefined> {
  const { excluded, intent, terminal, written, position, start } = toTaskProgress(operation);
  const leads = position - start - excluded;
  const charged = intent.idempotency_key !== undefined && position > start ? 'yes' : 'no';
  const isPlaced = written !== undefined && (isAdded(operation) || (await isInPlace(intent, written)));
  if (terminal === undefined && !isPlaced) return undefined;
  const outcome = terminal?.outcome ?? (written?.state === 'error' ? 'partial' : 'complete');
  if (terminal === undefined && written !== undefined) {
    const { state, ready_count } = written;
    await journal.append({ type: 'terminal', outcome, state, ready_count, charged, leads });
  }
  const { operationId } = operation;
  if (outcome === 'partial') {
    const at = intent.output === null ? '' : `; its leads are in ${intent.output}`;
    throw new LeadpipeError(outcome, `${operationId} is finished: its task ended in error${at}`, {
      type: 'task_error',
      charged,
      retryable: false,
    });
  }
  if (outcome !== 'complete') {
    throw new LeadpipeError(outcome, `the service refused operation ${operationId}: nothing was bought`, {
      charged: 'no',
    });
  }
  return true;
}

/** Whether the file has its name already, and only the news of it was lost. A workbook is made of its rows. */
async function isInPlace(
  { options, output }: Intent,
  { output_length }: NonNullable<TaskProgress['written']>,
): Promise<boolean> {
  if (output === null || options.append === true || (await hasPart(output))) return false;
  const placed = await statOrNothing(output);
  return placed !== undefined && (options.format === 'xlsx' || placed.size === output_length);
}

/**
 * Whether what stands in the .part is of this operation. Throws LocalIoError where a later one has written the output anew: its rows
 * would be lost.
 */
export async function isTaskPartOurs(
  shop: Pick<Shop, 'context'>,
  operation: StoredOperation,
): Promise<boolean> {
  const { intent, leadsSearchId, start } = toTaskProgress(operation);
  const later = await replacedBy(shop, operation, [operation.operationId]);
  // Rows that are added leave the others where they are.
  if (later === undefined || intent.options.append === true) return later === undefined;
  throw new LocalIoError(`${intent.output} has rows of a later operation, ${later}`, {
    type: outputChanged,
    charged: 'no',
    ...(leadsSearchId === undefined
      ? { hint: `First move ${intent.output} to another place.` }
      : { facts: { is: 'read_elsewhere', leadsSearchId, pts: start } as const }),
  });
}

/**
 * Goes on from the last position that the journal counts, into the same file; where its rows are not there any more, all of the task
 * is read again, which costs nothing. Throws as `followInto`.
 */
export async function resumeTask(
  shop: Shop,
  journal: Journal,
  operation: StoredOperation,
  terms: ResumeTerms,
  openAgain: OpenAgain,
  listener: ResumeListener,
): Promise<TaskReading> {
  checkSameBuyer(shop, operation);
  const progress = toTaskProgress(operation);
  const { intent, leadsSearchId, outputLength } = progress;
  if (leadsSearchId === undefined && !terms.replay && !mayReplay(intent.time, shop.context.clock.now())) {
    throw tooOld(operation.operationId);
  }
  const read = (some: TaskProgress, opening: Opening) =>
    readOn(shop, journal, operation, some, terms, openAgain(some, opening), listener);
  if (intent.output === null) return await read(progress, 'new');
  // Versions before put the rows of --append straight into the file: they stay there, and the rest is added.
  const isInFile = intent.options.append === true && (intent.version ?? 1) < 2;
  if (isInFile) return await read(progress, 'new');
  if (outputLength !== undefined && terms.isOurs) {
    try {
      return await read(progress, { at: outputLength });
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
      listener.readingAgain(error);
    }
  }
  const restarted = { type: 'restarted', options: intent.options } as const;
  if (progress.position > progress.start) await journal.append(restarted);
  const { operationId, entries } = operation;
  return await read(toTaskProgress({ operationId, entries: [...entries, restarted] }), 'new');
}

async function readOn(
  shop: Shop,
  journal: Journal,
  { operationId }: StoredOperation,
  progress: TaskProgress,
  { isOurs: _, replay: __, ...terms }: ResumeTerms,
  open: OpenDelivery,
  listener: ResumeListener,
): Promise<TaskReading> {
  const { intent, leadsSearchId, position, start } = progress;
  const list = await listOf(shop, [operationId], intent, listener.warn);
  return await goOnWith(shop, journal, open, listener, async ({ delivery, begin }) => {
    const inFile = delivery.file !== undefined;
    // Nobody knows whether the reader of a pipe got the last leads, so they are written again.
    const from = inFile ? position : progress.lastPage;
    if (!inFile && position > start) listener.goingOn(from);
    const { num = terms.num, positions = false } = intent.options as { num?: number; positions?: boolean };
    return await withSieve(shop, list, journal, async (sieve) => {
      const client = await begin();
      return await followInto(
        {
          shop,
          client,
          delivery,
          journal,
          sieve,
          listener,
          terms: { ...terms, num, positions },
          earlier: inFile ? position - start : 0,
          earlierExcluded: inFile ? progress.excluded : 0,
        },
        leadsSearchId === undefined ? 'creating' : 'waiting',
        () => beginAgain(shop, client, journal, progress, from),
      );
    });
  });
}

async function beginAgain(
  { context }: Shop,
  client: Parameters<typeof createTask>[0],
  journal: Journal,
  { intent, leadsSearchId, requestId, start }: TaskProgress,
  from: number,
): Promise<Begun> {
  const bought = purchaseOf(intent);
  if (leadsSearchId !== undefined) {
    const created = bought && { requestId, idempotencyKey: bought.idempotencyKey };
    return { leadsSearchId, start, from, ...(created === undefined ? {} : { created }) };
  }
  if (bought === undefined)
    throw new ConfigurationError('the record of this operation does not name its task');
  const { request, idempotencyKey } = bought;
  const created = await createTask(client, request, idempotencyKey, journal, context.signal, true);
  return {
    leadsSearchId: created.value.leads_search_id,
    start,
    from,
    created: { requestId: created.requestId, idempotencyKey, at: context.clock.monotonic() },
  };
}

function tooOld(operationId: string): LeadpipeError {
  return new LeadpipeError(
    'unknown',
    'leadpipe never got the ID of this task, more than 24 hours ago, and the service may have forgotten the request',
    {
      type: 'replay_too_old',
      charged: 'maybe',
      retryable: false,
      facts: { is: 'replay_too_old', operationId },
    },
  );
}
