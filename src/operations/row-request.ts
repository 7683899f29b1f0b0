import { limits } from '../contract/limits.ts';
import type { ContactType, EnrichRequest, ExtractionType } from '../contract/types.ts';
import type { Intent } from './journal/entries.ts';
import { rowsOf } from './kinds/kinds.ts';

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
export type ListIntent = Pick<Intent, 'command' | 'options' | 'row_request'>;

/** Pure: the row request of a stored list; undefined where the journal does not hold its values. */
export function rowRequestOf({ command, options, row_request }: ListIntent): RowRequest | undefined {
  if (row_request !== undefined) return JSON.parse(row_request);
  // The last release stored the options instead. A shard of `auto` may be any of them.
  const { contact_type, instruction, limit, schema, shard, template, type } = options;
  const kind = rowsOf(command);
  if (kind === undefined || String(shard ?? '').startsWith('auto')) return undefined;
  const own = {
    contact: { contact_type },
    research: {},
    enrich: schema === undefined ? undefined : { enrich_fields: JSON.parse(String(schema)) },
    extract: { type, instruction, limit },
  }[kind];
  return own && ({ kind, ...own, template } as RowRequest);
}
