import type { Column, LayoutOf, RecordsName } from '../../columns/layout.ts';
import { type JsonText, JsonView, objectMembers, objectOf } from '../../json/text.ts';
import type { ToRowText } from '../../requests/row-texts.ts';
import type { InputRow } from '../../requests/rows.ts';
import type { InputNames } from '../../requests/within-limits.ts';
import type { RowOutcome } from './row-outcome.ts';

/** What is bought for each row of a list, and how the answer is joined to the row. */
export interface RowKind<Body> {
  /** The field of the interface that a row fills, which is also the name of the column to look for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** What is sent for a row without it; undefined where only a template can say that. */
  readonly toText?: ToRowText;
  /** The request for the text of a row. `names` are the names of inputs in messages. Throws UsageError. */
  toBody(text: string, names: InputNames): Body;
  /** Where the answer goes by default. */
  readonly into: string;
  readonly records: RecordsName;
  /** `own` are the names that the records have. */
  join(into: string, own: ReadonlySet<string>): Join;
  /** The layout, where something else than the record with its answer is printed. */
  readonly layout?: LayoutOf;
  /** The requested fields: an answer may lack some. */
  readonly fields?: readonly string[];
}

/** How the answer of a row is joined to its record. */
export interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** The members that it adds to the record itself. */
  readonly members: readonly string[];
  /** `sent` is the text that was sent for the row. */
  toRecords(row: InputRow, outcome: RowOutcome, sent: string): readonly JsonText[];
}

/** A header, the part of an answer that goes under it, and how much room a table keeps for it. */
type AnswerColumn = readonly [string, (value: JsonView) => JsonText | undefined, keeps?: number];

/** Adds an answer under one name. `toValue` cuts it out of the whole answer, and `columnsOf` are its columns. */
export function joinWith(
  toValue: (answer: JsonView) => JsonText | undefined,
  columnsOf: (into: string) => readonly AnswerColumn[],
): RowKind<unknown>['join'] {
  return (into, own) => {
    const member = numbered(own, into);
    const error = numbered(own, `${into}_error`);
    const columns: Column[] = columnsOf(into).map(([header, of, keeps]) => ({
      header,
      ...(keeps === undefined ? {} : { keeps }),
      value(record) {
        const found = record.inner(member);
        return found && of(found);
      },
    }));
    columns.push({ header: `${into}_error`, inTable: 'spare', value: (record) => record.member(error) });
    return {
      columns,
      members: [member, error],
      toRecords({ record = '{}' }, { answer, failure }) {
        const why = failure === undefined ? [] : [[error, JSON.stringify(failure.message)] as const];
        const value = answer === undefined ? undefined : toValue(new JsonView(answer));
        return [withLast(record, [[member, value ?? 'null'], ...why])];
      },
    };
  };
}

/** Pure: a name that is not taken: columns of the row keep their names, and ours get a number. */
export function numbered(taken: ReadonlySet<string>, wanted: string): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
  return name;
}

/** Pure: the record with these members at its end. Its own members keep their names. */
export function withLast(record: JsonText, members: readonly (readonly [string, JsonText])[]): JsonText {
  const own = new Set(objectMembers(record).keys());
  const added = objectOf(members.map(([name, value]) => [numbered(own, name), value] as const)).slice(1);
  const body = record.slice(0, record.lastIndexOf('}')).trimEnd();
  return own.size === 0 ? `${body}${added}` : `${body},${added}`;
}
