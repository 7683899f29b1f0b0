import { restColumn, unique } from '../../columns/columns.ts';
import { entityLayout, foundLayout } from '../../columns/entity-layout.ts';
import type { Layout, LayoutOf, Printed } from '../../columns/layout.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import type { Intent } from '../journal/entries.ts';
import { contact } from './contact.ts';
import { enrich } from './enrich.ts';
import { extract } from './extract.ts';
import { type AnswerKind, type BodyOf, type KeptKind, kinds, rowsOf } from './kinds.ts';
import { research } from './research.ts';
import type { Lookup, RowKind } from './row-kind.ts';

export const lookups = { contact, research, enrich, extract } as const satisfies {
  readonly [Name in AnswerKind]: Lookup<BodyOf<Name>, never>;
};

type Rows<Name extends AnswerKind> =
  Parameters<(typeof lookups)[Name]['rows']> extends [infer Given] ? Given : unknown;

/** Everything that decides, together with a row, what is sent for it: values only, never the name of a file. */
export type RowRequest = { readonly template?: string | undefined } & {
  [Name in AnswerKind]: { readonly kind: Name } & Rows<Name>;
}[AnswerKind];

/** The request for each row of a list. */
export type ListOf = RowKind<BodyOf<AnswerKind>> & { readonly kind: AnswerKind };

/** Pure: the list of a row request, which is given on the command line or stored. */
export function toListOf(request: RowRequest): ListOf {
  const { kind } = request;
  const toRows = lookups[kind].rows as (request: RowRequest) => RowKind<BodyOf<AnswerKind>>;
  return { ...toRows(request), kind };
}

const leads = ({ enrich_fields, entity_type }: EntitySearchRequest): Layout =>
  entityLayout(enrich_fields, entity_type);

const layouts = {
  search: leads,
  'task run': leads,
  'task wait': () => foundLayout,
  contact: contact.layout,
  research: research.layout,
  enrich: enrich.layout,
  extract: extract.layout,
} as const satisfies { readonly [Name in KeptKind]: (body: never) => Layout | LayoutOf };

/** Pure: how the records of a kind are printed. */
export function printedAs(name: KeptKind, body: object): Printed {
  const toLayout = layouts[name] as (body: object) => Layout | LayoutOf;
  return { shape: kinds[name].prints, layout: toLayout(body) };
}

/** Pure: how the stored records of a purchase are printed; for a list, its answers without their rows. */
export function storedAs({ command, body = '{}', row_request = '{}' }: Intent): Printed {
  const row = rowsOf(command);
  if (row === undefined) return printedAs(command as KeptKind, JSON.parse(body));
  const { layout } = printedAs(row, JSON.parse(row_request));
  if (typeof layout === 'object') return { shape: 'list', layout };
  // Each answer is read by itself: what only later ones have goes into the last column.
  return {
    shape: 'list',
    layout: async (records, signal) => withRest(await layout(records, signal)),
  };
}

function withRest(layout: Layout): Layout {
  const names = layout.columns.map(({ header }) => header);
  const other = restColumn(unique(new Set(names), 'other', 'extract'), names);
  return { ...layout, columns: [...layout.columns, { ...other, inTable: 'never' }] };
}
