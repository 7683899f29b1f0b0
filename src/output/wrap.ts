const betweenFacts = ' · ';

/**
 * Pieces on as few lines as hold them, none of them torn apart: what is longer than a line is left for the terminal to wrap,
 * so that it can still be copied as the one line it is. No `width` (a file, a terminal that says 0) is one line.
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

/** Facts with ` · ` between them: an ID or an address that is cut can't be copied. */
export function foldFacts(text: string, width: number | undefined): string[] {
  return fillLines(text.split(betweenFacts), width, betweenFacts);
}

/** A command in backticks or bare, up to where its words end; an option with its number; a word. */
const units =
  /`[^`]*`\S*|(?:[A-Z_]+=\S+ )*leadpipe(?: (?:'[^']*'|"[^"]*"|[^\s'",;).]|[,;).](?=\S))+(?![^\s,;).]))+[,;).]*(?!\S)|--[a-z-]+ \d+\S*|\S+/g;

/**
 * Lines of a message, which break between words and not within a command. Other scripts than Latin have widths that take a
 * while to find out: they are left for the terminal to wrap.
 */
export function wrapMessage(text: string, width: number | undefined): string[] {
  if (!width || text.length <= width || !/^[ -~…·]*$/.test(text)) return [text];
  return fillLines(text.match(units) ?? [], width);
}
