/**
 * Text from the web is hostile. What a terminal would obey or not show is dropped, character by character and
 * without parsing escape sequences: without its ESC the rest of one is harmless, and a parser can be tricked.
 */

const plain = /^[\x20-\x7e]*$/;
// Line ends, tabs and the characters that some terminals treat as line ends.
const lineBreak = /[\t\n\v\f\r\u0085\u2028\u2029]/;
const whiteSpace = /[\s\u0085]+/g;
// Controls, bidirectional controls, everything that has no shape of its own, and interlinear annotation marks. Not
// the joiners and variation selectors, which emoji and several scripts need.
const invisible =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
// Between plain letters these join and select nothing, and only make two texts look the same.
const joiners = /(?:\u200c|\u200d)+/g;
const idleSelector = /(?<![^\0-\x7f]|[0-9#*])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
const loneSurrogate = /\p{Surrogate}/gu;

/** One line that is safe on a terminal, in an error or a request ID: line breaks and tabs become a space. */
export function toTerminalText(text: string): string {
  if (plain.test(text)) return text;
  const line = text.replace(whiteSpace, (run) => (lineBreak.test(run) ? ' ' : run));
  return wellFormed(line)
    .replace(invisible, '')
    .replace(joiners, (run, at: number, whole: string) =>
      isPlain(whole.charCodeAt(at - 1)) || isPlain(whole.charCodeAt(at + run.length)) ? '' : run.charAt(0),
    )
    .replace(idleSelector, '');
}

/** The same for text of several lines: each is safe, tabs are spaces, trailing space is gone. */
export function toTerminalLines(text: string): string[] {
  return text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/).map((line) => toTerminalText(line).trimEnd());
}

/** ASCII, or (as NaN) the beginning or end of the text. */
function isPlain(code: number): boolean {
  return !(code > 0x7f);
}

/** Halves of surrogate pairs can't be written as UTF-8. */
export function wellFormed(text: string): string {
  return text.replace(loneSurrogate, '\ufffd');
}
