import type { InputRow } from '../../input/rows.ts';
import {
  arrayItems,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  withMembers,
} from '../../json/text.ts';
import { failureOf } from '../../operations/kinds.ts';
import type { RowResult } from '../../operations/list/run.ts';
import { type Column, entityLayout, type Layout } from '../../output/columns.ts';

/** How the answer of a row joins its record. */
export interface Join {
  /** The columns that the answer adds to those of the record. */
  readonly columns: readonly Column[];
  /** `sent` is the text that the row stands for. */
  toRecords(row: InputRow, result: RowResult, sent: string): readonly JsonText[];
}

/** Pure: an answer under one name, beside what the record has. `value` cuts it out of the whole answer. */
export function joinInto(
  into: string,
  value: (answer: JsonView) => JsonText | undefined,
  columns: readonly Column[],
  reasonOf: (answer: JsonText) => string | undefined,
): Join {
  const error = `${into}_error`;
  return {
    columns: [...columns, { header: error, value: (record) => record.member(error) }],
    toRecords({ record = '{}' }, result) {
      const reason = result.state === 'answered' ? reasonOf(result.answer) : result.message;
      const found =
        result.state === 'answered' && reason === undefined ? value(new JsonView(result.answer)) : undefined;
      const members: [string, JsonText][] = [[into, found ?? 'null']];
      if (reason !== undefined) members.push([error, JSON.stringify(reason)]);
      return [withLast(record, members)];
    },
  };
}

/** Pure: items, a line each, with what they are of in front. */
export function itemsOf(type: string): Join & { layout(records: readonly JsonText[]): Layout } {
  const own = ['type', 'target', 'extract_error'];
  const about = (target: string) =>
    [
      ['type', JSON.stringify(type)],
      ['target', JSON.stringify(target)],
    ] as const;
  return {
    columns: [],
    toRecords(_, result, sent) {
      const reason = result.state === 'answered' ? failureOf('extract', result.answer) : result.message;
      if (result.state !== 'answered' || reason !== undefined) {
        return [objectOf([...about(sent), ['extract_error', JSON.stringify(reason)]])];
      }
      return arrayItems(objectMembers(result.answer).get('data') ?? '[]').map((item) =>
        kindOf(item) === 'object'
          ? withMembers(about(sent), item)
          : objectOf([...about(sent), ['item', item]]),
      );
    },
    layout(records) {
      const names = new Set(records.flatMap((record) => [...objectMembers(record).keys()]));
      for (const name of own) names.delete(name);
      // The header is fixed by the first rows: what later ones have besides is not lost.
      const other: Column = {
        header: 'other',
        value({ text }) {
          const rest = [...objectMembers(text)].filter(([name]) => !names.has(name) && !own.includes(name));
          return rest.length === 0 ? undefined : objectOf(rest);
        },
      };
      const [first, second, last] = own.map(toColumn) as [Column, Column, Column];
      return { columns: [first, second, ...[...names].map(toColumn), other, last], chosen: false };
    },
  };
}

/** Pure: the record with these members at its end, in place of any of the same names. */
export function withLast(record: JsonText, members: readonly (readonly [string, JsonText])[]): JsonText {
  const own = objectMembers(record);
  if (members.some(([name]) => own.has(name))) {
    for (const [name] of members) own.delete(name);
    return objectOf([...own, ...members]);
  }
  const added = objectOf(members).slice(1);
  const body = record.slice(0, record.lastIndexOf('}')).trimEnd();
  return own.size === 0 ? `${body}${added}` : `${body},${added}`;
}

/** Pure: the columns of the records of an input: its own, those of a lead, or those of its first record. */
export function columnsOf(
  columns: readonly string[] | undefined,
  first: JsonText | undefined,
): readonly Column[] {
  if (columns !== undefined) return columns.map(toColumn);
  const members = objectMembers(first ?? '{}');
  if (members.has('name') && members.has('links')) {
    return entityLayout([...objectMembers(members.get('enrich_fields') ?? '{}').keys()]).columns;
  }
  return [...members.keys()].map(toColumn);
}

/** Pure: columns side by side; a name that is taken has its owner in front. */
export function layoutOf(record: readonly Column[], answer: readonly Column[], owner: string): Layout {
  const taken = new Set(record.map(({ header }) => header));
  const added = answer.map((column) => ({
    ...column,
    header: taken.has(column.header) ? `${owner}.${column.header}` : column.header,
  }));
  return {
    columns: [...record.filter(({ header }) => !added.some((one) => one.header === header)), ...added],
    chosen: false,
  };
}

function toColumn(name: string): Column {
  return { header: name, value: (record) => record.member(name) };
}
