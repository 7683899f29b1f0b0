import type { Client } from '../../client.ts';
import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import type { Records } from '../../json/lines.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Waiting } from '../task/patience.ts';
import { createSearchReading } from './reading.ts';
import { recoverSearch } from './recover.ts';

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
  /** Entities that arrived. */
  readonly leads: number;
  /** Whether all of them could be delivered. */
  readonly isDelivered: boolean;
  readonly stopReason: string | undefined;
  /** What was odd and did no harm, a line each. */
  readonly warnings: readonly string[];
}

/**
 * Streams one search into `deliver`, which takes new entities as the service wrote them and is awaited before more
 * are read. The search is complete only when that is proven: its done event and the sentinel arrived, and no event
 * counted more than came; when the stream is cut and its search can be read to the end all the same, that is complete
 * too. Whatever else happens once the stream has begun is told in the summary, with what arrived already delivered.
 *
 * Throws RequestError or StoppedError when the stream never began.
 */
export async function searchEntities(
  client: Client,
  request: EntitySearchRequest,
  idempotencyKey: string,
  deliver: (entities: Records, ids: SearchIds) => Promise<void>,
  waiting: Waiting,
): Promise<SearchSummary> {
  const stream = await client.search(request, idempotencyKey, waiting.signal);
  const reading = createSearchReading();
  let leads = 0;
  let isDelivered = true;
  let failure: { cut: string; cause: unknown } | undefined;
  const pass = async (entities: Records): Promise<void> => {
    if (entities.length === 0) return;
    leads += entities.length;
    isDelivered = false;
    await deliver(entities, { leadsSearchId: reading.told().leadsSearchId, requestId: stream.requestId });
    isDelivered = true;
  };
  try {
    for await (const events of stream.events) {
      await pass(reading.take(events));
      reading.settle();
      if (reading.isOver()) break;
    }
  } catch (cause) {
    failure = toFailure(cause);
  }
  const { leadsSearchId, stopReason: saidReason } = reading.told();
  let stopReason = saidReason;
  let cut = failure?.cut ?? reading.verdict();
  if (cut !== undefined && leadsSearchId !== undefined && isOfTheStream(failure?.cause)) {
    try {
      const brought = { leads, counted: reading.counted(), has: reading.has };
      const recovered = await recoverSearch(client, waiting, leadsSearchId, brought);
      if (recovered !== undefined) {
        await pass(recovered.entities);
        reading.remark(`${cut}; the rest was read from the service`);
        stopReason = recovered.stopReason;
        cut = undefined;
        failure = undefined;
      }
    } catch (cause) {
      failure = toFailure(cause);
      cut = failure.cut;
    }
  }
  const limit = request.limit ?? limits.entityLimit.default;
  if (leads > limit) reading.remark(`${leads} leads came for a limit of ${limit}; all of them are stored`);
  return {
    ...reading.told(),
    stopReason,
    cut,
    cause: failure?.cause,
    leads,
    isDelivered,
    requestId: stream.requestId,
  };
}

function toFailure(cause: unknown): { cut: string; cause: unknown } {
  return { cut: cause instanceof Error ? cause.message : String(cause), cause };
}

/** Not of the output, and not a stop from outside. */
function isOfTheStream(cause: unknown): boolean {
  return cause === undefined || cause instanceof RequestError;
}
