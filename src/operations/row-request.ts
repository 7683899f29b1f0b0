import { limits } from '../contract/limits.ts';
import type { ContactType, EnrichRequest, ExtractionType } from '../contract/types.ts';
import type { Intent } from './journal/entries.ts';

/** Everything that decides, together with a row, what is sent for it: values only, never the name of a file. */
export type RowRequest = { readonly template?: string | undefined } & (
  | { readonly kind: 'contact'; readonly contact_type: ContactType }
  | { readonly kind: 'research' }
  | { readonly kind: 'enrich'; readonly enrich_fields: EnrichRequest['enrich_fields'] }
  | {
      readonly kind: 'extract';
      readonly type: ExtractionType;
      readonly instruction?: string | undefined;
      readonly limit?: number | undefined;
    }
);

/** Pure: the same text for requests that send the same. */
export function toRowRequestText(request: RowRequest): string {
  let known: object = request;
  if (request.kind === 'extract') {
    const { instruction, limit = limits.extractLimit.default, type } = request;
    // The service ignores the limit of web2list.
    known = {
      ...request,
      instruction: instruction?.trim(),
      limit: type === 'web2list' ? undefined : limit,
    };
  }
  return JSON.stringify(Object.fromEntries(Object.entries(known).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** What the journal holds of the row request of a list. */
export type ListIntent = Pick<Intent, 'row_request'>;

/** Pure: the row request of a stored list; undefined for what is no list. */
export function rowRequestOf({ row_request }: ListIntent): RowRequest | undefined {
  return row_request === undefined ? undefined : JSON.parse(row_request);
}
