export interface BashLine {
  /** After the name of the command; the last one is the unfinished one. */
  readonly words: readonly string[];
  /** What bash has to be given to complete the last word to this value; undefined when it can't become it. */
  reply(value: string): string | undefined;
}

/**
 * Pure: a line of bash up to the cursor. Bash hands its completions words that are cut at `breaks` too (`=`, `:`) and
 * quoted as they were typed, and puts a reply in the place of the last piece only, as it is.
 */
export function readBashLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  let pieceAt = 0;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] as string;
    const isQuote = quote === '' ? char === '"' || char === "'" : char === quote;
    if (isQuote) {
      quote = quote === '' ? char : '';
      word ??= '';
      pieceAt = word.length;
    } else if (char === '\\' && quote !== "'") {
      word = (word ?? '') + (line[++at] ?? '');
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      pieceAt = 0;
    } else {
      word = (word ?? '') + char;
      if (quote === '' && breaks.includes(char)) pieceAt = word.length;
    }
  }
  const last = word ?? '';
  return {
    words: [...words.slice(1), last],
    reply: (value) => (value.startsWith(last) ? quoted(value.slice(pieceAt), quote) : undefined),
  };
}

/** Pure: a text for a place inside this quote, or outside of any; undefined where it can't stand. */
function quoted(text: string, quote: string): string | undefined {
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&');
  if (quote === "'") return text.includes("'") ? undefined : text;
  return text.replace(/[^\w@%+=:,./\u0080-\u{10ffff}-]/gu, '\\$&');
}
