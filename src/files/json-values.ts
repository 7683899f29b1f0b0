import { endOfString, type JsonText } from '../json/text.ts';
import { maxRowLength } from './csv.ts';

/** A value of a JSON text: an item of its array, or one of several values in sequence. */
export interface JsonValue {
  /** The line on which it begins. */
  readonly line: number;
  /** As it was written. Empty if it is longer than the limit. */
  readonly text: string;
  readonly length: number;
  /** False if the text ended before the value did. */
  readonly isWhole: boolean;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The items of a JSON array, or values that follow each other, one by one. `max` limits the characters of a value outside an array. Values are not
 * checked: an invalid one does not affect the others, as long as its brackets and quotes come in pairs.
 */
export async function* jsonValues(
  text: AsyncIterable<string> | Iterable<string>,
  { max = maxRowLength, line: firstLine = 1 } = {},
): AsyncGenerator<JsonValue, void> {
  let line = firstLine;
  let began = line;
  let before = 0;
  let parts: string[] = [];
  let length = 0;
  let depth = 0;
  /** Nesting depth of the values: 1 in an array. */
  let base = 0;
  let isFirst = true;
  let isInValue = false;
  let isInString = false;
  let isEscaped = false;
  const keep = (part: string): void => {
    length += part.length;
    if (length <= (base === 0 ? max : maxRowLength)) parts.push(part);
    else parts = [];
  };
  const take = (isWhole: boolean): JsonValue => {
    const value = { line: began, text: parts.join(''), length, isWhole };
    parts = [];
    length = 0;
    isInValue = false;
    return value;
  };
  for await (const piece of text) {
    let start = 0;
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (code === 0x0a ? before !== 0x0d : code === 0x0d) line++;
      before = code;
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (code === backslash) isEscaped = true;
        else if (code === quote) {
          isInString = false;
          if (depth === base) {
            keep(piece.slice(start, at + 1));
            yield take(true);
          }
        }
        continue;
      }
      const isBetween = code <= 0x20 || code === comma;
      if (!isInValue) {
        if (isBetween || code === 0xfeff) continue;
        if (isFirst && code === openArray) {
          base = 1;
          depth = 1;
          isFirst = false;
          continue;
        }
        isFirst = false;
        if (base === 1 && code === closeArray) {
          base = 0;
          depth = 0;
          continue;
        }
        isInValue = true;
        start = at;
        began = line;
      } else if (depth === base && (isBetween || (code === closeArray && base === 1))) {
        // A number, true, false or null ends before the first character that is not part of it.
        keep(piece.slice(start, at));
        yield take(true);
        if (code === closeArray) {
          base = 0;
          depth = 0;
        }
        continue;
      }
      if (code === quote) isInString = true;
      else if (code === openObject || code === openArray) depth++;
      else if (code === closeObject || code === closeArray) {
        depth--;
        if (depth > base) continue;
        depth = base;
        keep(piece.slice(start, at + 1));
        yield take(true);
      }
    }
    if (isInValue) keep(piece.slice(start));
  }
  if (isInValue) yield take(depth === base && !isInString && base === 0);
  else if (base === 1) yield { line, text: '', length: 0, isWhole: false };
}

/** Pure: valid JSON without the white space between its parts. */
export function compact(text: JsonText): JsonText {
  if (!/[\r\n]/.test(text)) return text.trim();
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const string = text.indexOf('"', at);
    const end = string === -1 ? text.length : string;
    parts.push(text.slice(at, end).replace(/\s+/g, ''));
    at = string === -1 ? text.length : endOfString(text, string);
    parts.push(text.slice(end, at));
  }
  return parts.join('');
}
