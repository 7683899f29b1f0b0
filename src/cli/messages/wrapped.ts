/** A command, an option with its number, or a word. */
const words =
  /`[^`]*`\S*|(?:[A-Z_]+=\S+ )*leadpipe(?: (?:'[^']*'|"[^"]*"|[^\s'",;).]|[,;).](?=\S))+)+[,;).]*|--[a-z-]+ \d+\S*|\S+/g;

/**
 * Pure: lines that break between words, and not within a command: where one is longer than a line, the terminal wraps it, and
 * it can still be copied as the one line it is. Other scripts than Latin have widths that take a while to find out.
 */
export function wrapped(text: string, columns: number | undefined): string[] {
  if (!columns || text.length <= columns || !/^[ -~…]*$/.test(text)) return [text];
  const lines: string[] = [];
  for (const word of text.match(words) ?? []) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
