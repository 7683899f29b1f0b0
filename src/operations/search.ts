import type { Client, SearchEvent } from '../client.ts';
import type { EntitySearchDone, EntitySearchRequest } from '../contract/types.ts';
import type { JsonText } from '../json/text.ts';
import { RequestError } from '../transport/errors.ts';
import { createBatchLog } from './batch-log.ts';
import type { Waiting } from './patience.ts';
import { recoverSearch } from './recover-search.ts';

/** What a search is known by, as soon as the service has said it. */
export interface SearchIds {
  readonly leadsSearchId: string | undefined;
  readonly requestId: string | undefined;
}

export interface SearchSummary extends SearchIds {
  /** Why this was not all of it; undefined when the search is complete. */
  readonly cut: string | undefined;
  /** The error that cut it, where there was one: of the stream, of `deliver`, or a StoppedError. */
  readonly cause: unknown;
  /** Entities delivered. */
  readonly leads: number;
  readonly stopReason: string | undefined;
  /** What was odd and did no harm, a line each. */
  readonly warnings: readonly string[];
}

/**
 * Streams one search into `deliver`, which takes new entities as the service wrote them and is awaited before more
 * are read. The search is complete when its done event and the sentinel arrived and the counts agree; when the stream
 * is cut and its search can be read to the end all the same, that is complete too. Whatever else happens once the
 * stream has begun is told in the summary, with what arrived already delivered.
 *
 * Throws RequestError or StoppedError when the stream never began.
 */
export async function searchEntities(
  client: Client,
  request: EntitySearchRequest,
  idempotencyKey: string,
  deliver: (entities: readonly JsonText[], ids: SearchIds) => Promise<void>,
  waiting: Waiting,
): Promise<SearchSummary> {
  const stream = await client.search(request, idempotencyKey, waiting.signal);
  const reading = createReading();
  let leads = 0;
  let failure: { cut: string; cause: unknown } | undefined;
  const pass = async (entities: readonly JsonText[]): Promise<void> => {
    if (entities.length === 0) return;
    await deliver(entities, { leadsSearchId: reading.told().leadsSearchId, requestId: stream.requestId });
    leads += entities.length;
  };
  try {
    for await (const events of stream.events) {
      await pass(reading.take(events));
      if (reading.over()) break;
    }
  } catch (cause) {
    failure = toFailure(cause);
  }
  const told = reading.told();
  let { stopReason } = told;
  let cut = failure?.cut ?? reading.verdict();
  if (cut !== undefined && told.leadsSearchId !== undefined && isOfTheStream(failure?.cause)) {
    try {
      const recovered = await recoverSearch(client, waiting, told.leadsSearchId, leads, reading.has);
      if (recovered !== undefined) {
        await pass(recovered.entities);
        told.warnings.push(`${cut}; the rest was read from the service`);
        stopReason = recovered.stopReason;
        cut = undefined;
        failure = undefined;
      }
    } catch (cause) {
      failure = toFailure(cause);
      cut = failure.cut;
    }
  }
  return { ...told, stopReason, cut, cause: failure?.cause, leads, requestId: stream.requestId };
}

function toFailure(cause: unknown): { cut: string; cause: unknown } {
  return { cut: cause instanceof Error ? cause.message : String(cause), cause };
}

/** Not of the output, and not a stop from outside. */
function isOfTheStream(cause: unknown): boolean {
  return cause === undefined || cause instanceof RequestError;
}

/** What the events of one stream add up to. */
function createReading() {
  const batches = createBatchLog();
  const warnings: string[] = [];
  let received = 0;
  let leadsSearchId: string | undefined;
  let done: EntitySearchDone | undefined;
  let sentinel = false;
  let error: string | undefined;

  function takeBatch({ batch, entities }: Extract<SearchEvent, { kind: 'batch' }>): readonly JsonText[] {
    const { taken, warning } = batches.take(batch.batch_index, entities);
    if (warning !== undefined) warnings.push(warning);
    if (batch.count !== entities.length) {
      warnings.push(
        `batch ${batch.batch_index} announced ${batch.count} leads and brought ${entities.length}`,
      );
    }
    received += taken.length;
    return taken;
  }

  return {
    /** The new entities of some events. What follows the sentinel or an error frame is not looked at. */
    take(events: readonly SearchEvent[]): JsonText[] {
      const fresh: JsonText[] = [];
      for (const event of events) {
        if (event.kind === 'batch') {
          leadsSearchId ??= event.batch.leads_search_id;
          for (const entity of takeBatch(event)) fresh.push(entity);
        } else if (event.kind === 'done') {
          leadsSearchId ??= event.done.leads_search_id;
          done ??= event.done;
        } else if (event.kind === 'error') {
          error = event.message;
          break;
        } else if (event.kind === 'sentinel') {
          sentinel = true;
          break;
        }
      }
      return fresh;
    },
    has: batches.has,
    over: () => sentinel || error !== undefined,
    /** Why the stream was not whole, or undefined. */
    verdict(): string | undefined {
      if (error !== undefined) return `the service reported an error: ${error.slice(0, 500)}`;
      if (done === undefined) return 'the stream ended without its done event';
      if (done.cum_count > received)
        return `the service counted ${done.cum_count} leads, and ${received} arrived`;
      const gap = batches.gap();
      if (gap !== undefined) return `batch ${gap} never arrived`;
      if (done.cum_count < received) {
        warnings.push(`the service counted ${done.cum_count} leads, and ${received} arrived`);
      }
      if (!sentinel) warnings.push('the stream ended without [DONE]; the counts agree');
      return undefined;
    },
    told: () => ({ stopReason: done?.stop_reason, leadsSearchId, warnings }),
  };
}
