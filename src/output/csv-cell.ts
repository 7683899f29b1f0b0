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
      return raw ? toLine(value) : jsonCell(toLine(value));
    default:
      return value.trim();
  }
}

// Nothing to drop, and no delimiter. Most cells are so, and need no second look.
const plain = /^[\x20-\x3a\x3c-\x7e]*$/;
const dropped = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// What a spreadsheet skips before it looks for a formula, and what its import drops: any white space, control,
// format or unassigned character, combining mark, filler. What comes after them is searched for: a pattern that repeats
// them would overflow the stack on a few million.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@|＝＋－＠｜﹢﹣﹦﹫−]/;
// Where a spreadsheet splits or trims at the first character, what follows is what it runs.
const leadingBreak = /^[\t\r\n]/;
const phoneNumber = /^\+[1-9]\d{6,14}$/;

function textCell(text: string, raw: boolean): string {
  if (raw) return wellFormed(text);
  const isPlain = plain.test(text);
  const clean = isPlain ? text : wellFormed(text.replace(dropped, ''));
  if (phoneNumber.test(clean)) return clean;
  const safe = isPlain ? clean : behindDelimiters(clean, (start) => `'${start}`);
  return formula.test(first.exec(clean)?.[0] ?? '') || leadingBreak.test(clean) ? `'${safe}` : safe;
}

/** The same JSON, with what would begin a formula as \uXXXX: behind a delimiter it is always within a string. */
function jsonCell(line: JsonText): string {
  return behindDelimiters(
    line.replaceAll('\t', ' '),
    (start) => `\\u${start.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

// Where a spreadsheet splits without being asked: at a semicolon in countries whose decimal sign is a comma, at a tab in
// pasted or imported text, and then at line ends too. The quotes around the cell do not stop it: they count only where
// a field begins, and for that reader the field began before them. Nobody splits at | without choosing it, and people
// write it in their headlines.
const delimiter = /[;\t\r\n]/g;
// What comes after more delimiters and what is skipped. So are quotes: a quote is written twice, which to that reader
// is an empty quoted text in front of what it runs.
const firstBehind = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;

function behindDelimiters(text: string, disarm: (start: string) => string): string {
  let safe = '';
  let taken = 0;
  delimiter.lastIndex = 0;
  while (delimiter.test(text)) {
    firstBehind.lastIndex = delimiter.lastIndex;
    const found = firstBehind.exec(text);
    if (found === null) break;
    delimiter.lastIndex = firstBehind.lastIndex;
    if (!formula.test(found[0])) continue;
    safe += text.slice(taken, found.index) + disarm(found[0]);
    taken = firstBehind.lastIndex;
  }
  return safe + text.slice(taken);
}
