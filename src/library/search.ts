import type { SearchStream } from '../answers.ts';
import type { Entity, EntitySearchRequest } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { toCutError } from '../operations/search/cut.ts';
import { createSearchReading } from '../operations/search/reading.ts';
import { RequestError } from '../transport/errors.ts';

/** A record as a value, and as the service wrote it: JSON.parse rounds numbers above 2^53. */
export interface Item<T> {
  readonly value: T;
  readonly text: JsonText;
}

/** A lead. */
export type Lead = Item<Entity>;

/**
 * The leads of a search, to be read once. Ends without an error only when the service said that the search is done and every
 * lead that it counted has come; otherwise throws a LeadpipeError (`partial`; `unknown` when nothing came) after the last
 * lead that did.
 */
export interface Search extends AsyncIterable<Lead> {
  readonly requestId: string | undefined;
  readonly idempotencyKey: string;
  /** What the service has said so far, and what was odd about it and did no harm. */
  summary(): {
    readonly leadsSearchId: string | undefined;
    readonly stopReason: string | undefined;
    readonly warnings: readonly string[];
  };
}

/** `awaited` runs what waits for the service. */
export function toSearch(
  { requestId, events }: SearchStream,
  request: EntitySearchRequest,
  idempotencyKey: string,
  awaited: <T>(work: () => Promise<T>) => Promise<T>,
): Search {
  const reading = createSearchReading();
  const toError = (cut: string, cause: unknown): LeadpipeError =>
    toCutError(
      {
        ...reading.summary(),
        cut,
        cause,
        leads: reading.counts().leads,
        isDelivered: true,
        excluded: 0,
        requestId,
        idempotencyKey,
        operationId: undefined,
      },
      request,
      undefined,
    );

  async function* read(): AsyncGenerator<Lead, void> {
    const pieces = events[Symbol.asyncIterator]();
    let cause: unknown;
    try {
      while (!reading.isOver()) {
        const { done, value } = await awaited(() => pieces.next());
        if (done) break;
        for (const text of reading.take(value)) yield { value: JSON.parse(text), text };
      }
    } catch (error) {
      if (!(error instanceof RequestError))
        throw error instanceof LeadpipeError && reading.counts().leads > 0
          ? error.with({ charged: 'yes' })
          : error;
      cause = error;
    } finally {
      await pieces.return?.();
    }
    const cut = reading.verdict(cause instanceof Error ? cause.message : undefined);
    if (cut !== undefined) throw toError(cut, cause);
  }

  const all = read();
  return { requestId, idempotencyKey, summary: reading.summary, [Symbol.asyncIterator]: () => all };
}
