const betweenFacts = ' · ';

/** Pure: facts on one line, without those that are empty or missing. */
export function toFacts(facts: readonly (string | false | undefined)[]): string {
  return facts.filter(Boolean).join(betweenFacts);
}

/**
 * Puts pieces on as few lines as possible, without breaking them: a piece that is longer than a line gets its own. Without a `width` (a file, a
 * terminal that reports 0) there is one line.
 */
export function fillLines(pieces: readonly string[], width: number | undefined, between = ' '): string[] {
  if (!width) return [pieces.join(between)];
  const lines: string[] = [];
  for (const piece of pieces) {
    const longer = `${lines.at(-1)}${between}${piece}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}

/** Facts with ` · ` between them. None is broken. */
export function foldFacts(text: string, width: number | undefined): string[] {
  return fillLines(text.split(betweenFacts), width, betweenFacts);
}

/** A command, in backticks or not, up to the end of its words; an option with its number; a word. */
const units =
  /`[^`]*`\S*|(?:[A-Z_]+=\S+ )*leadpipe(?: (?:'[^']*'|"[^"]*"|[^\s'",;).]|[,;).](?=\S))+(?![^\s,;).]))+[,;).]*(?!\S)|--[a-z-]+ \d+\S*|\S+/g;

/**
 * The lines of a message, broken between words, but not inside a command that fits on a line. Text in other scripts than Latin is left for
 * the terminal to wrap, since measuring it takes long.
 */
export function wrapMessage(text: string, width: number | undefined): string[] {
  if (!width || text.length <= width || !/^[ -~\u00c0-\u024f…·–—‘’“”≤]*$/.test(text)) return [text];
  return fillLines(text.match(units) ?? [], width).flatMap((line) =>
    line.length > width ? fillLines(line.split(' '), width) : [line],
  );
}
