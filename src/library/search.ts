import { type ErrorDetails, LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { createSearchReading, type SearchReading } from '../operations/search/reading.ts';
import type { SearchStream } from '../received.ts';
import { RequestError } from '../transport/errors.ts';

/**
 * The leads of a search, each as the service wrote it, to be read once. Ends without an error only when the service said
 * that the search is done and every lead that it counted has come; otherwise throws a LeadpipeError (`partial`; `unknown`
 * when nothing came) after the last lead that did.
 */
export interface Search extends AsyncIterable<JsonText> {
  readonly requestId: string | undefined;
  readonly idempotencyKey: string;
  /** What the service has said so far, and what was odd about it and did no harm. */
  told(): {
    readonly leadsSearchId: string | undefined;
    readonly stopReason: string | undefined;
    readonly warnings: readonly string[];
  };
}

export function toSearch({ requestId, events }: SearchStream, idempotencyKey: string): Search {
  const reading = createSearchReading();
  const leads = readLeads(events, reading, {
    idempotencyKey,
    ...(requestId === undefined ? {} : { requestId }),
  });
  return { requestId, idempotencyKey, told: reading.told, [Symbol.asyncIterator]: () => leads };
}

async function* readLeads(
  events: SearchStream['events'],
  reading: SearchReading,
  ids: ErrorDetails,
): AsyncGenerator<JsonText, void> {
  let leads = 0;
  const toCutError = (why: string, cause?: unknown): LeadpipeError =>
    new LeadpipeError(leads > 0 ? 'partial' : 'unknown', `the search was cut short: ${why}`, {
      type: 'cut',
      charged: leads > 0 ? 'yes' : 'maybe',
      retryable: false,
      cause,
      ...ids,
    });
  try {
    for await (const some of events) {
      for (const lead of reading.take(some)) {
        leads++;
        yield lead;
      }
      if (reading.isOver()) break;
    }
  } catch (error) {
    throw error instanceof RequestError ? toCutError(error.message, error) : error;
  }
  const cut = reading.verdict();
  if (cut !== undefined) throw toCutError(cut);
}
