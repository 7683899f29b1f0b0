import type { Column } from '../../columns/layout.ts';
import type { Charged } from '../../errors.ts';
import { isFilled, type JsonText, JsonView, objectMembers, objectOf, type Path } from '../../json/text.ts';
import type { InputRow } from '../../requests/rows.ts';

export interface RowFailure {
  readonly message: string;
  readonly requestId?: string | undefined;
  readonly charged: Charged;
}

/** The result of a row: its answer, or why it has none. */
export type RowOutcome =
  | { readonly answer: JsonText; readonly failure?: undefined }
  | { readonly answer?: undefined; readonly failure: RowFailure };

/** How the answer of a row is joined to its record. */
export interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** The members that it adds to the record itself. */
  readonly members: readonly string[];
  /** `toSent` says what was sent for a record. */
  toRecords(row: InputRow, outcome: RowOutcome, toSent: (record: JsonText) => string): readonly JsonText[];
}

/** The columns of an answer: the header, and the paths of its value. */
export type Parts = readonly (readonly [
  header: string,
  paths: readonly Path[],
  more?: {
    /** Additional information: an answer can be without it. */
    readonly isOptional?: true;
    /** Minimum width in a table. */
    readonly keeps?: number;
  },
])[];

/** Pure: the parts without which there is no answer. */
export function decidingIn(parts: Parts): Parts {
  return parts.filter(([, , more]) => more?.isOptional !== true);
}

/** The note of a row for which nothing was found. */
export const notFound = 'not found';

/** How the note of a row begins whose answer was lost. */
export const lostAnswer = 'its answer was lost';

/** Pure: why a row has no answer; undefined if a deciding part `isThere`. */
export function missingReason(
  deciding: Parts,
  value: JsonText | undefined,
  { failure }: RowOutcome,
  isThere = isFilled,
): string | undefined {
  if (failure !== undefined) return failure.message;
  const view = new JsonView(value ?? 'null');
  return deciding.some(([, paths]) => isThere(view.find(paths))) ? undefined : notFound;
}

/**
 * Pure: names that are not taken, ignoring case. Columns of the row keep their names; if one of ours needs a number, all of ours get the same.
 */
export function uniqueNames(taken: Iterable<string>, wanted: readonly string[]): (name: string) => string {
  const known = new Set(Array.from(taken, (name) => name.toLowerCase()));
  const withNumber = (name: string, number: number): string => (number === 1 ? name : `${name}_${number}`);
  let number = 1;
  while (wanted.some((name) => known.has(withNumber(name, number).toLowerCase()))) number++;
  return (name) => withNumber(name, number);
}

/** Pure: the record with these members at its end. Its own members keep their names. */
export function withLast(record: JsonText, members: readonly (readonly [string, JsonText])[]): JsonText {
  const own = new Set(objectMembers(record).keys());
  const unique = uniqueNames(
    own,
    members.map(([name]) => name),
  );
  const added = objectOf(members.map(([name, value]) => [unique(name), value] as const)).slice(1);
  const body = record.slice(0, record.lastIndexOf('}')).trimEnd();
  return own.size === 0 ? `${body}${added}` : `${body},${added}`;
}
