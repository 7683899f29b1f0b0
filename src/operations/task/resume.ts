import type { CreateTaskRequest } from '../../contract/types.ts';
import { ConfigurationError, LeadpipeError, outputChanged } from '../../errors.ts';
import { hasPart, type Opening, statOrNothing } from '../../files/target.ts';
import { type Buyer, checkSameBuyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import { mayReplay } from '../earlier.ts';
import { type Running, warningsOf } from '../events.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { listOf, openFilter } from '../only-new/filter.ts';
import { type Operation, type OutputTerms, type Progress, toRestarted } from '../operation.ts';
import { isPartOf } from '../output-owner.ts';
import { toOpened } from '../purchase.ts';
import { createTask } from './buy.ts';
import { type Begun, type ReadTerms, readInto, type TaskReading } from './reading.ts';

/** Pure: the creation to send again, with the same key and the same bytes; undefined when nothing was bought. */
export function purchaseOf({ idempotency_key, body }: Intent) {
  if (idempotency_key === undefined || body === undefined) return undefined;
  return { idempotencyKey: idempotency_key, request: JSON.parse(body) as CreateTaskRequest };
}

export interface ResumeTerms extends Omit<ReadTerms, 'positions'> {
  /** Whether to send a creation again although the service may have forgotten its key. */
  readonly replay: boolean;
  /** Whether the .part belongs to this operation. */
  readonly isOurs: boolean;
}

export type OpenAgain = (progress: Progress, opening: Opening) => Promise<Delivery>;

/**
 * Ends an operation that is complete except for the last line of its journal; undefined where there is more to do. Throws the error that
 * the operation ended with.
 */
export async function finishTask(journal: Journal, operation: Operation): Promise<true | undefined> {
  const { intent, isReaderGone, operationId, progress } = operation;
  const { delivered: leads, position, start, written } = progress;
  // A reader that went away can still ask for more.
  const end = isReaderGone ? undefined : operation.end;
  const charged = intent.idempotency_key !== undefined && position > start ? 'yes' : 'no';
  const isPlaced =
    written !== undefined && (progress.isPlaced || (await isInPlace(operation.terms, written)));
  if (end === undefined && !isPlaced) return undefined;
  const outcome = end?.outcome ?? (written?.state === 'error' ? 'partial' : 'complete');
  if (end === undefined && written !== undefined) {
    const [state, ready_count] = [written.state ?? null, written.readyCount ?? null];
    await journal.append({ type: 'terminal', outcome, state, ready_count, charged, leads });
  }
  if (outcome === 'partial') {
    const at = intent.output === null ? '' : `; its leads are in ${intent.output}`;
    throw new LeadpipeError(outcome, `${operationId} is finished: its task ended in error${at}`, {
      type: 'task_error',
      charged,
    });
  }
  if (outcome !== 'complete') {
    throw new LeadpipeError(outcome, `the service refused operation ${operationId}: nothing was bought`, {
      charged: 'no',
    });
  }
  return true;
}

/** Whether the file is in place already, and only the journal does not say so. A workbook is made from its rows. */
async function isInPlace(
  { options, output }: OutputTerms,
  { outputLength }: NonNullable<Progress['written']>,
): Promise<boolean> {
  if (output === null || options.append === true || (await hasPart(output))) return false;
  const placed = await statOrNothing(output);
  return placed !== undefined && (options.format === 'xlsx' || placed.size === outputLength);
}

export async function isTaskPartOurs(
  { context }: Pick<Buyer, 'context'>,
  operation: Operation,
): Promise<boolean> {
  const { intent } = operation;
  const { leadsSearchId, start: pts } = operation.progress;
  return await isPartOf(
    context,
    operation,
    [operation.operationId],
    leadsSearchId === undefined
      ? { hint: `First move ${intent.output} to another place.` }
      : { facts: { is: 'read_elsewhere', leadsSearchId, pts } },
  );
}

/**
 * Goes on from the last position in the journal, into the same file. If its rows are no longer there, the whole task is read again, which
 * is free. Throws as `readInto`.
 */
export async function* resumeTask(
  buyer: Buyer,
  journal: Journal,
  operation: Operation,
  { isOurs, replay, ...terms }: ResumeTerms,
  openAgain: OpenAgain,
): Running<TaskReading> {
  checkSameBuyer(buyer, operation);
  const { connection, context } = buyer;
  const { intent, operationId, progress, terms: begun } = operation;
  const { leadsSearchId, outputLength } = progress;
  if (leadsSearchId === undefined && !replay && !mayReplay(intent.time, context.clock.now())) {
    throw tooOld(operationId);
  }
  const warnings: string[] = [];
  const list = await listOf(buyer, [operationId], intent, (line) => warnings.push(line));
  yield* warningsOf(warnings);
  const client = connection.newClient(buyer.waits, journal);
  /** The ID of the task. If the answer to its creation was lost, the creation is sent again, with the same key and the same bytes. */
  const begin = async (
    { position, start, lastPage, requestId }: Progress,
    inFile: boolean,
  ): Promise<Begun> => {
    // The reader of a pipe may not have got the last leads, so they are written again.
    const from = inFile ? position : lastPage;
    const bought = purchaseOf(intent);
    if (leadsSearchId !== undefined) {
      const created = bought && { requestId, idempotencyKey: bought.idempotencyKey };
      return { leadsSearchId, start, from, created };
    }
    if (bought === undefined)
      throw new ConfigurationError('the record of this operation does not name its task');
    const { idempotencyKey, request } = bought;
    const answer = await createTask(client, request, idempotencyKey, journal, context.signal, true);
    const created = { requestId: answer.requestId, idempotencyKey, at: context.clock.monotonic() };
    return { leadsSearchId: answer.value.leads_search_id, start, from, created };
  };
  async function* read(some: Progress, opening: Opening): Running<TaskReading> {
    const delivery = await openAgain(some, opening);
    const { position, start, lastPage } = some;
    const inFile = delivery.file !== undefined;
    const { num = terms.num, positions = false } = begun.options as Partial<ReadTerms>;
    try {
      if (!inFile && position > start) yield { is: 'resuming', from: lastPage };
      const filter = await openFilter(buyer, list, journal);
      try {
        await journal.append(...toOpened(delivery));
        const run = {
          buyer,
          client,
          delivery,
          journal,
          filter,
          terms: { ...terms, num, positions },
          earlier: inFile ? position - start : 0,
          earlierExcluded: inFile ? some.excluded : 0,
        };
        const stage = leadsSearchId === undefined ? 'creating' : 'waiting';
        return yield* readInto(run, stage, () => begin(some, inFile));
      } finally {
        await filter.close();
      }
    } finally {
      await delivery.cut();
    }
  }
  if (intent.output === null) return yield* read(progress, 'new');
  if (outputLength !== undefined && isOurs) {
    try {
      return yield* read(progress, { at: outputLength });
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
      yield { is: 'reading_again', why: error };
    }
  }
  if (progress.position > progress.start) await journal.append({ type: 'restarted', options: begun.options });
  return yield* read(toRestarted(operation), 'new');
}

function tooOld(operationId: string): LeadpipeError {
  return new LeadpipeError(
    'unknown',
    'leadpipe never got the ID of this task, more than 24 hours ago, and the service may have forgotten the request',
    {
      type: 'replay_too_old',
      charged: 'maybe',
      facts: { is: 'replay_too_old', operationId },
    },
  );
}
