import { type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';
import { wellFormed } from './clean.ts';
import type { Column } from './columns.ts';

/** The header cells as they are written, which is also what a file must have to be appended to. */
export function csvHeader(columns: readonly Column[], raw: boolean): string[] {
  return columns.map(({ header }) => textCell(header, raw));
}

/** A JSON value as a cell: numbers as they were written, objects and arrays as JSON, nothing for null. */
export function csvCell(value: JsonText | undefined, raw: boolean): string {
  if (value === undefined) return '';
  switch (kindOf(value)) {
    case 'null':
      return '';
    case 'string':
      return textCell(stringOf(value) ?? '', raw);
    case 'object':
    case 'array':
      return toLine(value);
    default:
      return value.trim();
  }
}

const plain = /^[\x20-\x7e]*$/;
const dropped = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// What a spreadsheet skips before it looks for a formula, and what its import drops: any white space, control,
// format or unassigned character, combining mark, filler.
const formula = /^[\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]*[=+\-@|＝＋－＠｜﹢﹣﹦﹫−]/u;
// Where a spreadsheet splits or trims at the first character, what follows is what it runs.
const leadingBreak = /^[\t\r\n]/;
const phoneNumber = /^\+[1-9]\d{6,14}$/;

function textCell(text: string, raw: boolean): string {
  if (raw) return wellFormed(text);
  const clean = plain.test(text) ? text : wellFormed(text.replace(dropped, ''));
  if (!formula.test(clean) && !leadingBreak.test(clean)) return clean;
  return phoneNumber.test(clean) ? clean : `'${clean}`;
}
