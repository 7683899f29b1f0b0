import type { SearchStream } from '../answers.ts';
import type { Entity, EntitySearchRequest } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { toCutError } from '../operations/kinds/search-cut.ts';
import { createSearchReading } from '../operations/kinds/search-proof.ts';
import { RequestError } from '../transport/request-error.ts';

/** A record as a value, and as the service wrote it, since JSON.parse rounds numbers above 2^53. */
export interface Item<T> {
  readonly value: T;
  readonly text: JsonText;
}

/** A lead. */
export type Lead = Item<Entity>;

/**
 * The leads of a search, which can be read once. It ends without an error only if the service said that the search is done, and every lead
 * that it counted has arrived. Otherwise it throws a LeadpipeError after the last lead (`partial`; `unknown` when nothing arrived).
 */
export interface Search extends AsyncIterable<Lead> {
  readonly requestId: string | undefined;
  readonly idempotencyKey: string;
  /** The facts that the service has sent so far, and warnings about harmless deviations. */
  summary(): {
    readonly leadsSearchId: string | undefined;
    readonly stopReason: string | undefined;
    readonly warnings: readonly string[];
  };
}

export function toSearch(
  { requestId, events }: SearchStream,
  request: EntitySearchRequest,
  idempotencyKey: string,
): Search {
  const reading = createSearchReading();

  async function* read(): AsyncGenerator<Lead, void> {
    let cause: unknown;
    try {
      for await (const some of events) {
        for (const text of reading.take(some)) yield { value: JSON.parse(text), text };
        if (reading.isOver()) break;
      }
    } catch (error) {
      if (!(error instanceof RequestError))
        throw error instanceof LeadpipeError && reading.counts().leads > 0
          ? error.with({ charged: 'yes' })
          : error;
      cause = error;
    }
    const cut = reading.verdict(cause instanceof Error ? cause.message : undefined);
    if (cut === undefined) return;
    const { leads } = reading.counts();
    const known = { requestId, idempotencyKey, operationId: undefined };
    const end = {
      ...reading.summary(),
      ...known,
      cut,
      cause,
      leads,
      isDelivered: true,
      isStored: false,
      excluded: 0,
    };
    throw toCutError(end, request, undefined);
  }

  const all = read();
  return { requestId, idempotencyKey, summary: reading.summary, [Symbol.asyncIterator]: () => all };
}
