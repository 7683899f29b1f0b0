import { Readable } from 'node:stream';
import { type SearchEvent, toSearchEvents } from '../../answers.ts';
import type { Client } from '../../client.ts';
import { leadLimitOf, limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { toMessage } from '../../errors.ts';
import type { JsonText, Records } from '../../json/text.ts';
import { framesOf } from '../../transport/frames.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { Running } from '../events.ts';
import { createSearchReading, isLead, type SearchReading } from './search-proof.ts';
import { readTask, toUnread } from './task-follow.ts';
import type { Waiting } from './task-patience.ts';

/** Timeout and polling times for a search that was cut. */
const timeoutMs = 120_000;
const poll = { firstMs: 5000, maxMs: 30_000 };
const pageSize = 500;

/** The IDs of a search, as soon as the service has sent them. */
export interface SearchIds {
  readonly leadsSearchId: string | undefined;
  readonly requestId: string | undefined;
}

export interface SearchSummary extends SearchIds {
  /** Why leads may be missing; undefined when the search is complete. */
  readonly cut: string | undefined;
  /** The error that cut it, if any: of the stream, of `deliver`, or a StoppedError. */
  readonly cause: unknown;
  readonly leads: number;
  readonly isDelivered: boolean;
  readonly stopReason: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * Streams one search into `deliver`, which gets new entities as the service wrote them, and is awaited before more are read. The search is
 * complete only if that is proven: the done event and the sentinel arrived, and no event counted more than came; or the stream was cut and
 * the search could be read to its end as a task. Once the stream has begun, everything else is reported in the summary. Throws RequestError
 * or StoppedError when the stream never began.
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
  let cut = isOfTheStream(cause) ? reading.verdict(cause && toMessage(cause)) : toMessage(cause);
  // Proven complete before the stream broke: the error does not matter.
  if (cut === undefined) cause = undefined;
  let { leadsSearchId, stopReason } = reading.summary();
  if (cut !== undefined && leadsSearchId !== undefined && isOfTheStream(cause)) {
    try {
      const rest = yield* recoverSearch(client, waiting, leadsSearchId, reading);
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
      cut = toMessage(error);
    }
  }
  const leads = reading.counts().leads + recovered;
  const limit = leadLimitOf(request);
  if (leads > limit) reading.remark(`${leads} leads came for a limit of ${limit}; all of them are kept`);
  return { ...reading.summary(), stopReason, cut, cause, leads, isDelivered, requestId: stream.requestId };
}

/** The leads in the text of a stream, up to the first damaged frame, and the ID of the search. */
export async function readFrames(text: string) {
  const reading = createSearchReading();
  const leads: JsonText[] = [];
  try {
    for await (const frames of framesOf(Readable.from([Buffer.from(text)]), text.length))
      leads.push(...reading.take(frames.flatMap<SearchEvent>(toSearchEvents)));
  } catch {
    // It was cut inside a frame.
  }
  return { leads, leadsSearchId: reading.summary().leadsSearchId };
}

/**
 * Reads a search whose stream was cut as if it were a task. The interface does not promise that this works; it is free. Returns the leads that
 * are missing in the stream, by position; undefined unless the search is done, at least as many leads are read as the stream counted, and they
 * include all leads of the stream unchanged: otherwise a lead could be written twice. Throws StoppedError.
 */
async function* recoverSearch(
  client: Client,
  waiting: Waiting,
  leadsSearchId: string,
  reading: SearchReading,
): Running<{ readonly entities: readonly JsonText[]; readonly stopReason: string | undefined } | undefined> {
  const { leads, counted } = reading.counts();
  const read: JsonText[] = [];
  const seen = toUnread(0);
  const task = { leadsSearchId, num: pageSize, poll, timeoutMs };
  try {
    for await (const event of readTask(client, waiting, task, seen)) {
      if (event.is === 'page')
        for (const entity of event.page.entities) if (isLead(entity)) read.push(entity);
      if (event.is === 'stumbled') {
        // A service on this machine that was stopped is not started again at once.
        if (event.fault instanceof RequestError && event.fault.fault === 'not_running') return undefined;
        yield event;
      }
      // One search can't have more leads than this. Stop, since they are all held in memory.
      if (read.length > leads + limits.entityLimit.max) return undefined;
    }
  } catch (error) {
    if (waiting.signal.aborted) throw error;
    return undefined;
  }
  if (seen.state !== 'done' || read.length < counted) return undefined;
  const entities = read.filter((entity) => !reading.has(entity));
  return read.length - entities.length === leads ? { entities, stopReason: seen.stopReason } : undefined;
}

/** Whether an error is one of the stream: not of the output, and not a stop. */
function isOfTheStream(cause: unknown): cause is RequestError | undefined {
  return cause === undefined || cause instanceof RequestError;
}
