import type { CreateTaskRequest } from '../../contract/types.ts';
import { ConfigurationError, LeadpipeError, outputChanged } from '../../errors.ts';
import { hasPart, type Opening, statOrNothing } from '../../files/target.ts';
import { type Buyer, checkSameBuyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import { mayReplay } from '../earlier.ts';
import { type Running, warningsOf } from '../events.ts';
import { countPages, type EntryOf, type Intent, type JournalEntry, lastOf } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import type { StoredOperation } from '../journal/stored.ts';
import { listOf, openFilter } from '../only-new/filter.ts';
import { isAdded, isPartOf } from '../output-owner.ts';
import { toOpened } from '../purchase.ts';
import { createTask } from './buy.ts';
import { type Begun, type ReadTerms, readInto, type TaskReading } from './reading.ts';

export type TaskProgress = ReturnType<typeof toTaskProgress>;

export function toTaskProgress({ entries }: Pick<StoredOperation, 'entries'>) {
  const [begun] = entries;
  const restarted = lastOf(entries, 'restarted');
  const intent = restarted === undefined ? begun : { ...begun, options: restarted.options };
  const counted: readonly JournalEntry[] =
    restarted === undefined ? entries : entries.slice(entries.indexOf(restarted));
  const start = Number(intent.options.pts ?? 0);
  const page = lastOf(counted, 'page');
  const place = counted.findLast(({ type }) => type === 'page' || type === 'opened');
  return {
    intent,
    /** Undefined while the answer to its creation has not arrived. */
    leadsSearchId: intent.leads_search_id ?? lastOf(entries, 'created')?.leads_search_id,
    requestId: lastOf(entries, 'created')?.request_id ?? undefined,
    /** The first position of the output. */
    start,
    position: page?.next ?? start,
    /** How many of the leads before it were dropped. */
    excluded: countPages(counted).excluded,
    /** The first position of the last page: the reader of a pipe may not have had all of it. */
    lastPage: page?.pts ?? start,
    /** The valid bytes of the output; undefined where it has no length, or may not have been opened. */
    outputLength: (place as EntryOf<'page' | 'opened'> | undefined)?.output_length ?? undefined,
    /** The columns were made from these. */
    enrichFields: counted.find((entry): entry is EntryOf<'page'> => entry.type === 'page')?.enrich_fields,
    /** Set when only the file's name may be missing. */
    written: lastOf(counted, 'written'),
    // The reader of the output had what it wanted, and can still ask for more.
    terminal: lastOf(
      entries.filter((entry) => !('outcome' in entry) || entry.outcome !== 'reader_closed'),
      'terminal',
    ),
  };
}

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

export type OpenAgain = (progress: TaskProgress, opening: Opening) => Promise<Delivery>;

/**
 * Ends an operation that is complete except for the last line of its journal; undefined where there is more to do. Throws the error that
 * the operation ended with.
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
  { options, output }: Intent,
  { output_length }: NonNullable<TaskProgress['written']>,
): Promise<boolean> {
  if (output === null || options.append === true || (await hasPart(output))) return false;
  const placed = await statOrNothing(output);
  return placed !== undefined && (options.format === 'xlsx' || placed.size === output_length);
}

export async function isTaskPartOurs(
  { context }: Pick<Buyer, 'context'>,
  operation: StoredOperation,
): Promise<boolean> {
  const { intent, leadsSearchId, start: pts } = toTaskProgress(operation);
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
  operation: StoredOperation,
  { isOurs, replay, ...terms }: ResumeTerms,
  openAgain: OpenAgain,
): Running<TaskReading> {
  checkSameBuyer(buyer, operation);
  const { connection, context } = buyer;
  const { operationId, entries } = operation;
  const progress = toTaskProgress(operation);
  const { intent, leadsSearchId, outputLength } = progress;
  if (leadsSearchId === undefined && !replay && !mayReplay(intent.time, context.clock.now())) {
    throw tooOld(operationId);
  }
  const warnings: string[] = [];
  const list = await listOf(buyer, [operationId], intent, (line) => warnings.push(line));
  yield* warningsOf(warnings);
  const client = connection.newClient(buyer.waits, journal);
  /** The ID of the task. If the answer to its creation was lost, the creation is sent again, with the same key and the same bytes. */
  const begin = async (
    { position, start, lastPage, requestId }: TaskProgress,
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
  async function* read(some: TaskProgress, opening: Opening): Running<TaskReading> {
    const delivery = await openAgain(some, opening);
    const { position, start, lastPage } = some;
    const inFile = delivery.file !== undefined;
    const { num = terms.num, positions = false } = some.intent.options as Partial<ReadTerms>;
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
  // Earlier versions wrote the rows of --append directly into the file: these stay, and the rest is added.
  const isInFile = intent.options.append === true && (intent.version ?? 1) < 2;
  if (intent.output === null || isInFile) return yield* read(progress, 'new');
  if (outputLength !== undefined && isOurs) {
    try {
      return yield* read(progress, { at: outputLength });
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.details.type !== outputChanged) throw error;
      yield { is: 'reading_again', why: error };
    }
  }
  const restarted = { type: 'restarted', options: intent.options } as const;
  if (progress.position > progress.start) await journal.append(restarted);
  return yield* read(toTaskProgress({ entries: [...entries, restarted] }), 'new');
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
