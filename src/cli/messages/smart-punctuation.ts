/**
 * Chats and word processors turn "…" into “…”, and the -- of an option into – or —. A shell takes these as letters: the quotes do not keep
 * words together, and the option becomes a text.
 */

const dash = /^[\u2010-\u2015\u2212]+(?=[a-z])/;
const opening = /^[“”„‟«»‘‚]/;
const closing = /[“”»’]$/;

/** Pure: the words as they were before a chat changed them: options with their hyphens, and a quoted text as one word. */
export function undoSmartPunctuation(words: readonly string[]): string[] {
  const plain: string[] = [];
  let quoted: string[] | undefined;
  for (const word of words) {
    // A word with white space was quoted in the shell.
    if (quoted === undefined && (/\s/.test(word) || !opening.test(word))) {
      plain.push(toHyphens(word));
      continue;
    }
    quoted = quoted === undefined ? [word.replace(opening, '')] : [...quoted, word];
    if (!closing.test(word)) continue;
    plain.push(quoted.join(' ').replace(closing, ''));
    quoted = undefined;
  }
  return quoted === undefined ? plain : [...plain, quoted.join(' ')];
}

/** Pure: the original flag of a word, such as `--limit` for `–limit`; undefined for any other word. */
export function toFlag(word: string): string | undefined {
  return dash.test(word) ? toHyphens(word).split('=')[0] : undefined;
}

function toHyphens(word: string): string {
  const rest = word.replace(dash, '');
  if (rest === word) return word;
  return `${/^[a-z](?:=|$)/.test(rest) ? '-' : '--'}${rest}`;
}
