import { endOfString, type JsonText, toLine } from './text.ts';

/** Deeper levels begin where this one does: hostile nesting would be mostly spaces. */
const deepest = 40;

/** The same JSON with a member or item per line, for people. Numbers and strings stay as they were written. */
export function indented(text: JsonText): string {
  const source = toLine(text);
  let result = '';
  let depth = 0;
  const lineBreak = (): string => `\n${'  '.repeat(Math.min(depth, deepest))}`;
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at);
    switch (character) {
      case '"': {
        const end = endOfString(source, at);
        result += source.slice(at, end);
        at = end - 1;
        break;
      }
      case '{':
      case '[': {
        const empty = emptyEnd.exec(source.slice(at + 1, at + 1 + longestGap));
        if (empty !== null) {
          result += character + empty[1];
          at += empty[0].length;
          break;
        }
        depth++;
        result += character + lineBreak();
        break;
      }
      case '}':
      case ']':
        depth--;
        result += lineBreak() + character;
        break;
      case ',':
        result += character + lineBreak();
        break;
      case ':':
        result += ': ';
        break;
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        break;
      default:
        result += character;
    }
  }
  return result;
}

/** An empty object or array stays on one line. */
const emptyEnd = /^\s*([}\]])/;
const longestGap = 100;
