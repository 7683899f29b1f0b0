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

type Of<Kind extends RowRequest['kind']> = Extract<RowRequest, { kind: Kind }>;
type EarlierOptions = Omit<Of<'contact'>, 'kind'> &
  Omit<Of<'extract'>, 'kind'> & { readonly schema?: string; readonly shard?: string };

/** Pure: the row request of a stored list; undefined where the journal does not hold its values. */
export function rowRequestOf({
  command,
  options,
  row_request,
}: Pick<Intent, 'command' | 'options' | 'row_request'>): RowRequest | undefined {
  if (row_request !== undefined) return JSON.parse(row_request);
  // The last release stored the options instead. A shard of `auto` may be any of them.
  const { contact_type, instruction, limit, schema, shard, template, type } = options as EarlierOptions;
  if (String(shard ?? '').startsWith('auto')) return undefined;
  switch (command) {
    case 'contact list':
      return { kind: 'contact', contact_type, template };
    case 'research list':
      return { kind: 'research', template };
    case 'enrich list':
      return schema === undefined
        ? undefined
        : { kind: 'enrich', enrich_fields: JSON.parse(schema), template };
    case 'extract list':
      return { kind: 'extract', type, instruction, limit, template };
    default:
      return undefined;
  }
}
