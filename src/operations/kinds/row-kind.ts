import type { Column, Layout, LayoutOf, RecordsName } from '../../columns/layout.ts';
import { type JsonText, JsonView } from '../../json/text.ts';
import type { ToRowText } from '../../requests/row-texts.ts';
import type { InputNames } from '../../requests/within-limits.ts';
import { type Fill, type FillInput, fillWith } from './row-fill.ts';
import { decidingIn, type Join, missingReason, type Parts, uniqueNames, withLast } from './row-parts.ts';

/**
 * How the answers of a kind are shown, and what is bought for each row of its lists. `Rows` has the values that, together with a row, decide what
 * is sent for it; it never has the name of a file.
 */
export interface Lookup<Body, Rows = unknown> {
  /** How its records are shown. It is the same when they are shown again. */
  layout(body: Body): Layout | LayoutOf;
  rows(request: Rows): RowKind<Body>;
}

/** The request for each row of a list, and how the answer is joined to the row. */
export interface RowKind<Body> {
  /** The field of the interface that a row fills, which is also the name of the column to look for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** Makes the text for a row without that column; undefined if only a template can. `toExample` makes an example of a template from an identity. */
  readonly toText?: ToRowText;
  readonly toExample?: (about: string) => string;
  /** The request for the text of a row. `names` are the names of inputs in messages. Throws UsageError. */
  toBody(text: string, names: InputNames): Body;
  /** The name of a result in messages, such as `email`; undefined if answers or their items are counted. */
  readonly sought?: string;
  /** The default name for the answer in a record. */
  readonly into: string;
  readonly records: RecordsName;
  /** `own` are the names that the records and their columns have. */
  join(into: string, own: ReadonlySet<string>): Join;
  /** As `join`, for filling in missing answers; undefined if an answer is not a part of its row. */
  readonly fill?: (into: string, input: FillInput) => Fill;
  /** The layout, if not the records with their answers are printed. */
  readonly layout?: LayoutOf;
  /** The requested fields: an answer may lack some. */
  readonly fields?: readonly string[];
}

/** Adds an answer under one name, or fills it in. `toValue` cuts it out of the whole answer. */
export function joinWith(
  toValue: (answer: JsonView) => JsonText | undefined,
  partsOf: (into: string) => Parts,
): Pick<RowKind<unknown>, 'join' | 'fill'> {
  return {
    join(into, own) {
      const parts = partsOf(into);
      const error = `${into}_error`;
      const name = uniqueNames(own, [into, error, ...parts.map(([header]) => header)]);
      const columns: Column[] = parts.map(([header, paths, { keeps } = {}]) => ({
        header: name(header),
        ...(keeps === undefined ? {} : { keeps }),
        from: paths.map((path) => [name(into), ...path]),
      }));
      columns.push({ header: name(error), inTable: 'spare', from: [[name(error)]] });
      const deciding = decidingIn(parts);
      return {
        columns,
        members: [name(into), name(error)],
        toRecords({ record = '{}' }, outcome) {
          const value = outcome.answer === undefined ? undefined : toValue(new JsonView(outcome.answer));
          const why = missingReason(deciding, value, outcome);
          const note = why === undefined ? [] : [[name(error), JSON.stringify(why)] as const];
          return [withLast(record, [[name(into), value ?? 'null'], ...note])];
        },
      };
    },
    fill: (into, input) => fillWith(toValue, partsOf(into), into, input),
  };
}
