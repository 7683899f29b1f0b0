import { type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';

/** How a format writes the two kinds of texts that a cell may hold. */
interface Writing {
  text(text: string): string;
  /** One line of JSON, safe to show. */
  json(line: JsonText): string;
}

/** Pure: a JSON value as the text of a cell: numbers as they were written, objects and arrays as JSON, nothing for null. */
export function cellText(value: JsonText | undefined, write: Writing): string {
  if (value === undefined) return '';
  switch (kindOf(value)) {
    case 'null':
      return '';
    case 'string':
      return write.text(stringOf(value) ?? '');
    case 'object':
    case 'array':
      return write.json(toLine(value));
    default:
      return value.trim();
  }
}

const dropped = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Pure: a text without the characters that a terminal obeys, or that make it look like another one. Its lines and tabs stay. */
export function withoutControls(text: string): string {
  return text.replace(dropped, '').toWellFormed();
}
