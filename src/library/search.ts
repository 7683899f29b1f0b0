import type { SearchStream } from '../answers.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { toCutError } from '../operations/search/cut.ts';
import { createSearchReading } from '../operations/search/reading.ts';
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

export function toSearch(
  { requestId, events }: SearchStream,
  request: EntitySearchRequest,
  idempotencyKey: string,
): Search {
  const reading = createSearchReading();
  const toError = (cut: string, cause?: RequestError): LeadpipeError =>
    toCutError(
      {
        ...reading.summary(),
        cut,
        cause,
        leads: reading.leads,
        isDelivered: true,
        excluded: 0,
        requestId,
        idempotencyKey,
        operationId: undefined,
      },
      request,
      undefined,
    );

  async function* read(): AsyncGenerator<JsonText, void> {
    let cause: RequestError | undefined;
    try {
      for await (const some of events) {
        yield* reading.take(some);
        if (reading.isOver()) break;
      }
    } catch (error) {
      if (!(error instanceof RequestError))
        throw error instanceof LeadpipeError && reading.leads > 0 ? error.with({ charged: 'yes' }) : error;
      cause = error;
    }
    const cut = reading.verdict(cause?.message);
    if (cut !== undefined) throw toError(cut, cause);
  }

  const all = read();
  return { requestId, idempotencyKey, told: reading.summary, [Symbol.asyncIterator]: () => all };
}
