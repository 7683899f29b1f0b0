import { endOfValue, type JsonText, skipSpace, toLine, toLinePieces } from './text.ts';

/** Deeper levels begin where this one does: hostile nesting would be mostly spaces. */
const deepest = 40;
/** Characters that are gathered for a piece. */
const pieceLength = 1 << 16;

/** What can be set apart: names of members, strings, and what is neither (numbers, true, false, null). */
export type Paint = 'name' | 'text' | 'other';

/**
 * The same JSON with a member or item per line, for people, in pieces. Numbers and strings stay as they were written. `within`
 * is how deep it stands in other JSON; `paints` are what stands before and after each kind.
 */
export function* indented(
  text: JsonText,
  within = 0,
  paints?: Readonly<Record<Paint, readonly [before: string, after: string]>>,
): Generator<string, void> {
  let piece = '';
  let depth = within;
  const lineBreak = (): string => `\n${'  '.repeat(Math.min(depth, deepest))}`;
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    if (piece.length > pieceLength) {
      yield piece;
      piece = '';
    }
    const character = text.charAt(at);
    let end = at + 1;
    switch (character) {
      case '{':
      case '[': {
        const next = skipSpace(text, end);
        if (text[next] === '}' || text[next] === ']') {
          // An empty object or array stays on one line.
          piece += character + text[next];
          end = next + 1;
          break;
        }
        depth++;
        piece += character + lineBreak();
        break;
      }
      case '}':
      case ']':
        depth--;
        piece += lineBreak() + character;
        break;
      case ',':
        piece += character + lineBreak();
        break;
      case ':':
        piece += ': ';
        break;
      default: {
        end = Math.max(end, endOfValue(text, at));
        const [before, after] = paints?.[paintOf(text, at, end)] ?? ['', ''];
        piece += before;
        if (end - at > pieceLength) {
          yield piece;
          piece = '';
          yield* toLinePieces(text.slice(at, end));
        } else {
          piece += toLine(text.slice(at, end));
        }
        piece += after;
      }
    }
    at = end;
  }
  yield piece;
}

function paintOf(text: JsonText, at: number, end: number): Paint {
  if (text[at] !== '"') return 'other';
  return text[skipSpace(text, end)] === ':' ? 'name' : 'text';
}
