import type { Client } from '../../client.ts';
import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import type { JsonText, Records } from '../../json/text.ts';
import { RequestError } from '../../transport/errors.ts';
import type { Running } from '../events.ts';
import { readTask, toUnread } from '../task/follow.ts';
import type { Waiting } from '../task/patience.ts';
import { createSearchReading, type SearchReading } from './reading.ts';

/** How long a cut search is waited for, and how often it is looked at meanwhile. */
const patienceMs = 120_000;
const poll = { firstMs: 5000, maxMs: 30_000 };
const pageSize = 500;

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
  /** Leads that arrived; what else came is delivered, and counts for none. */
  readonly leads: number;
  readonly isDelivered: boolean;
  readonly stopReason: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * Streams one search into `deliver`, which takes new entities as the service wrote them and comes to its end before more
 * are read. The search is complete only when that is proven: its done event and the sentinel arrived, and no event
 * counted more than came; when the stream is cut and its search can be read to the end all the same, that is complete
 * too. Whatever else happens once the stream has begun is told in the summary, with what arrived already delivered.
 *
 * Throws RequestError or StoppedError when the stream never began.
 */
export async function* searchEntities(
  client: Client,
  request: EntitySearchRequest,
  idempotencyKey: string,
  deliver: (entities: Records, ids: SearchIds) => Running<void>,
  waiting: Waiting,
): Running<SearchSummary> {
  const stream = await client.search(request, idempotencyKey, waiting.signal);
  const reading = createSearchReading();
  let recovered = 0;
  let isDelivered = true;
  let cause: unknown;
  const pass = async function* (entities: Records): Running<void> {
    if (entities.length === 0) return;
    isDelivered = false;
    yield* deliver(entities, { leadsSearchId: reading.summary().leadsSearchId, requestId: stream.requestId });
    isDelivered = true;
  };
  try {
    for await (const events of stream.events) {
      yield* pass(reading.take(events));
      if (reading.isOver()) break;
    }
  } catch (error) {
    cause = error;
  }
  let cut = isOfTheStream(cause) ? reading.verdict(cause && wordsOf(cause)) : wordsOf(cause);
  // Whatever was proven before the stream broke stays so.
  if (cut === undefined) cause = undefined;
  let { leadsSearchId, stopReason } = reading.summary();
  if (cut !== undefined && leadsSearchId !== undefined && isOfTheStream(cause)) {
    try {
      const rest = await recoverSearch(client, waiting, leadsSearchId, reading);
      if (rest !== undefined) {
        recovered = rest.entities.length;
        yield* pass(rest.entities);
        reading.remark(`${cut}; the rest was read from the service`);
        stopReason = rest.stopReason;
        cut = undefined;
        cause = undefined;
      }
    } catch (error) {
      cause = error;
      cut = wordsOf(error);
    }
  }
  const leads = reading.counts().leads + recovered;
  const limit = request.limit ?? limits.entityLimit.default;
  // rule: search.up-to-limit
  if (leads > limit) reading.remark(`${leads} leads came for a limit of ${limit}; none is left out for that`);
  return { ...reading.summary(), stopReason, cut, cause, leads, isDelivered, requestId: stream.requestId };
}

/**
 * Reads a search whose stream was cut as if it were a task: the interface does not promise that this works, and it
 * costs nothing.
 *
 * Returns what the stream did not bring, in the order of positions; undefined unless the search ended well, as many leads are read as the stream counted, and everything it
 * brought is among them, to the letter: anything else could write a lead twice. Throws StoppedError.
 */
async function recoverSearch(
  client: Client,
  waiting: Waiting,
  leadsSearchId: string,
  reading: SearchReading,
): Promise<{ readonly entities: readonly JsonText[]; readonly stopReason: string | undefined } | undefined> {
  const { taken, counted } = reading.counts();
  const read: JsonText[] = [];
  const seen = toUnread(0);
  const task = { leadsSearchId, num: pageSize, poll, patienceMs };
  try {
    for await (const event of readTask(client, waiting, task, seen)) {
      if (event.is === 'page') for (const entity of event.page.entities) read.push(entity);
      // What comes from here on is held in memory, and can't belong to one search.
      if (read.length > taken + limits.entityLimit.max) return undefined;
    }
  } catch (error) {
    if (waiting.signal.aborted) throw error;
    return undefined;
  }
  if (seen.state !== 'done' || read.length < counted) return undefined;
  const entities = read.filter((entity) => !reading.has(entity));
  return read.length - entities.length === taken ? { entities, stopReason: seen.stopReason } : undefined;
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** Not of the output, and not a stop from outside. */
function isOfTheStream(cause: unknown): cause is RequestError | undefined {
  return cause === undefined || cause instanceof RequestError;
}
