import { endOfValue, type JsonText, skipSpace, toLine, toLinePieces } from './text.ts';

/** The deepest level that is indented: with hostile nesting, the text would be mostly spaces. */
const deepest = 40;
/** The characters of a piece. */
const pieceLength = 1 << 16;

/**
 * The same JSON in pieces, with a member or item per line, for people. Numbers and strings stay as they were written. `within` is its depth
 * in other JSON; `paints` are the colours of names, of strings and of other values.
 */
export function* indented(
  text: JsonText,
  within = 0,
  paints?: Readonly<Record<'name' | 'text' | 'other', (text: string) => string>>,
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
        const value = text.slice(at, end);
        if (value.length > pieceLength) {
          yield piece;
          piece = '';
          yield* toLinePieces(value);
        } else if (paints === undefined) {
          piece += toLine(value);
        } else {
          const isName = text[skipSpace(text, end)] === ':';
          piece += paints[character !== '"' ? 'other' : isName ? 'name' : 'text'](toLine(value));
        }
      }
    }
    at = end;
  }
  yield piece;
}
