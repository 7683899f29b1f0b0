import type { Layout, LayoutOf } from '../../columns/layout.ts';
import type { Intent } from '../journal/entries.ts';
import type { Kind } from './kind.ts';
import { type AnswerKind, type BodyOf, kinds } from './kinds.ts';
import type { RowKind } from './row-kind.ts';

type Rows<Name extends AnswerKind> =
  Parameters<(typeof kinds)[Name]['rows']> extends [infer Given] ? Given : unknown;

/** Everything that decides, together with a row, what is sent for it: values only, never the name of a file. */
export type RowRequest = { readonly template?: string | undefined } & {
  [Name in AnswerKind]: { readonly kind: Name } & Rows<Name>;
}[AnswerKind];

/** Pure: the same text for requests that send the same. */
export function toRowRequestText(request: RowRequest): string {
  const { sentOf }: Kind<never, never> = kinds[request.kind];
  const sent = sentOf === undefined ? request : sentOf(request as never);
  return JSON.stringify(Object.fromEntries(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Pure: the row request of a stored list. */
export function rowRequestOf({ row_request = '{}' }: Pick<Intent, 'row_request'>): RowRequest {
  return JSON.parse(row_request);
}

/** What is bought for each row of a list. */
export type ListOf = RowKind<BodyOf<AnswerKind>> & { readonly kind: AnswerKind };

/** Pure: from the row request, given on the command line or stored. */
export function toListOf(request: RowRequest): ListOf {
  const { kind } = request;
  const toRows = kinds[kind].rows as (request: RowRequest) => RowKind<BodyOf<AnswerKind>>;
  return { ...toRows(request), kind };
}

/** The layout of a list's answers when they are shown again, without the rows they were bought for. */
export function answersAs(kind: AnswerKind, intent: Pick<Intent, 'row_request'>): Layout | LayoutOf {
  const toLayout = kinds[kind].layout as (request: RowRequest) => Layout | LayoutOf;
  return toLayout(rowRequestOf(intent));
}
