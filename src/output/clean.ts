import { piecesOf } from '../json/text.ts';

/**
 * Text from the web is hostile. Characters that a terminal would obey or not show are removed one by one, without parsing escape sequences:
 * without its ESC the rest of a sequence is harmless, and a parser can be tricked.
 */

const plain = /^[\x20-\x7e]*$/;
// Line ends, tabs and the characters that some terminals treat as line ends.
const lineBreak = /[\t\n\v\f\r\u0085\u2028\u2029]/;
const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g;
const longestLine = 1 << 20;

const dropped = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Pure: a text without the characters that a terminal obeys, or that make it look like another one. Its lines and tabs stay. */
export function withoutControls(text: string): string {
  return text.replace(dropped, '').toWellFormed();
}

/** One line that is safe on a terminal, in an error or as a request ID: line breaks and tabs become spaces. */
export function toTerminalText(text: string): string {
  if (plain.test(text)) return text;
  // These expressions take a millisecond to compile, and most runs need none of them.
  return (
    text
      .replace(/[\s\u0085]+/g, (run) => (lineBreak.test(run) ? ' ' : run))
      .toWellFormed()
      // Controls, bidirectional controls, characters without a shape, interlinear annotation marks. Joiners and variation selectors stay,
      // since emoji and several scripts need them.
      .replace(
        /(?!\u200c|\u200d|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu,
        '',
      )
      // Joiners between plain letters do nothing, except make two texts look the same.
      .replace(/[\u200c\u200d]+/g, (run, at: number, whole: string) =>
        isPlain(whole.charCodeAt(at - 1)) || isPlain(whole.charCodeAt(at + run.length)) ? '' : run.charAt(0),
      )
      // Selectors after a plain letter, or after another selector. A repetition in the expression would overflow the stack on a long run.
      .replace(
        /(?<![^\0-\x7f]|[0-9#*])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|(?<=[\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu,
        '',
      )
  );
}

/**
 * As above, for text of several lines: tabs become spaces, and space at the end of a line is removed. A very long line becomes several.
 */
export function* toTerminalLines(text: string): Generator<string, void> {
  let start = 0;
  for (const { 0: end, index } of text.matchAll(lineEnd)) {
    yield* cleanLine(text.slice(start, index));
    start = index + end.length;
  }
  yield* cleanLine(text.slice(start));
}

function* cleanLine(line: string): Generator<string, void> {
  if (line === '') yield '';
  for (const piece of piecesOf(line, longestLine)) yield toTerminalText(piece).trimEnd();
}

/** ASCII, or the beginning or end of the text (NaN). */
function isPlain(code: number): boolean {
  return !(code > 0x7f);
}
