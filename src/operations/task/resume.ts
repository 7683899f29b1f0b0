import { ConfigurationError, LeadpipeError, LocalIoError } from '../../errors.ts';
import type { OpenDelivery, Opening } from '../delivery.ts';
import type { Intent, Journal, StoredOperation } from '../journal/journal.ts';
import { checkLast } from '../journal/later.ts';
import { listOf, withSieve } from '../only-new/sieve.ts';
import { checkSameBuyer, goOnWith, type Shop } from '../purchase.ts';
import { createTask } from './create.ts';
import type { TaskReading } from './end.ts';
import { mayReplay, purchaseOf, type TaskProgress, toTaskProgress } from './progress.ts';
import { type Begun, followInto, type ReadTerms, type TaskListener } from './reading.ts';

/** How an operation is continued. */
export interface ResumeTerms extends Omit<ReadTerms, 'positions'> {
  /** Whether a creation is sent again although the service may have forgotten its key. */
  readonly replay: boolean;
  /**
   * Where the file can't be gone on with: all of the task is read again, into a new one that these options shape, or what comes
   * next goes to the end of it.
   */
  readonly over?: { readonly options: Intent['options'] } | 'at_end' | undefined;
}

/** Opens the output as it was begun. */
export type OpenAgain = (progress: TaskProgress, opening: Opening) => OpenDelivery;

/**
 * Ends an operation of which only the name of the file, or the last line of the journal, may be missing; returns its
 * intent, undefined where there is more to do. `place` puts the file in place. Throws what the operation ended with.
 */
export async function finishWritten(
  stateDir: string,
  journal: Journal,
  operation: StoredOperation,
  place: (output: string, length: number) => Promise<void>,
): Promise<Intent | undefined> {
  const progress = toTaskProgress(operation);
  const { excluded, intent, terminal, written, position, start } = progress;
  const at = intent.output === null ? '' : `; its leads are in ${intent.output}`;
  const leads = position - start - excluded;
  const charged = intent.idempotency_key !== undefined && position > start ? 'yes' : 'no';
  if (terminal === undefined && written === undefined) return undefined;
  const outcome = terminal?.outcome ?? (written?.state === 'error' ? 'partial' : 'complete');
  if (terminal === undefined && written !== undefined) {
    if (intent.output !== null) {
      if (intent.options.append !== true) await checkLast(stateDir, operation, toElsewhere(progress));
      await place(intent.output, written.output_length ?? 0);
    }
    const { state, ready_count } = written;
    await journal.append({ type: 'terminal', outcome, state, ready_count, charged, leads });
  }
  const { operationId } = operation;
  if (outcome === 'partial') {
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
  return intent;
}

/** Goes on from the last position that the journal counts, into the same file. Throws as `followInto`. */
export async function resumeTask(
  shop: Shop,
  journal: Journal,
  operation: StoredOperation,
  { over, replay, ...terms }: ResumeTerms,
  openAgain: OpenAgain,
  listener: TaskListener & { goingOn(from: number): void },
): Promise<TaskReading> {
  const { clock, directories } = shop.context;
  const { operationId } = operation;
  checkSameBuyer(shop, operation);
  const progress = await toProgress(journal, operation, over);
  const { intent, position, start, outputLength, leadsSearchId } = progress;
  if (leadsSearchId === undefined && !replay && !mayReplay(intent, clock.now())) {
    throw tooOld(operationId);
  }
  if (outputLength !== undefined && intent.options.append !== true)
    await checkLast(directories.state, operation, toElsewhere(progress));
  const list = await listOf(shop, [operationId], intent, listener.warn);
  const open = openAgain(progress, outputLength === undefined ? 'new' : { at: outputLength });
  let isOpen = false;
  try {
    return await goOnWith(shop, journal, open, listener, async ({ delivery, begin }) => {
      isOpen = true;
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
  } catch (error) {
    throw isOpen ? error : toUnopened(error, progress);
  }
}

async function toProgress(
  journal: Journal,
  operation: StoredOperation,
  over: ResumeTerms['over'],
): Promise<TaskProgress> {
  const progress = toTaskProgress(operation);
  if (over === undefined) return progress;
  if (over === 'at_end') return { ...progress, outputLength: undefined };
  const restarted = { type: 'restarted', options: over.options } as const;
  await journal.append(restarted);
  const { operationId, entries } = operation;
  return toTaskProgress({ operationId, entries: [...entries, restarted] });
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

/** Pure: what to do where the file can't be gone on with; a file that rows are added to keeps those it has. */
function toElsewhere({ leadsSearchId, intent, start, position }: TaskProgress) {
  if (leadsSearchId === undefined) return { hint: `First move ${intent.output} to another place.` };
  const pts = intent.options.append === true ? position : start;
  return { facts: { is: 'read_elsewhere', leadsSearchId, pts } } as const;
}

/** An output that can't be gone on with: what is lost of it can be read again. */
function toUnopened(error: unknown, progress: TaskProgress): unknown {
  const { intent, leadsSearchId } = progress;
  if (!(error instanceof LocalIoError) || intent.output === null || leadsSearchId === undefined) return error;
  if (intent.options.append === true) return error.with({ charged: 'no', ...toElsewhere(progress) });
  return error.with({
    charged: 'no',
    facts: { is: 'read_again', leadsSearchId, output: intent.output },
  });
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
