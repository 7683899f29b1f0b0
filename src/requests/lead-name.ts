import { nameIn } from '../files/reading.ts';
import { type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';
import { joinName, nameColumnsOf } from './column-meanings.ts';
import { memberIn } from './template.ts';

/** Pure: the columns that have the name of a lead: `name`, else those that are known for it. */
export function leadNameColumns(columns: readonly string[]): readonly string[] {
  const own = nameIn(columns, 'name');
  return own === undefined ? nameColumnsOf(columns) : [own];
}

/** Pure: the name of a lead, whatever its columns or members are called. Undefined where none is known, or none is a text. */
export function leadName(record: JsonText): string | undefined {
  const columns = leadNameColumns([...new JsonView(record).names()]);
  const values = columns.map((column) => memberIn(record, column) ?? 'null');
  const parts = values.filter((value) => kindOf(value) !== 'null').map(stringOf);
  if (parts.length === 0 || parts.includes(undefined)) return undefined;
  return joinName(parts.map((part) => (part ?? '').trim()));
}
