export const betweenParts = ' · ';

/**
 * Facts with ` · ` between them, on as many lines as keep each in one piece: an ID or an address that is cut can't be
 * copied. No `width` (a file, a terminal that says 0) is one line.
 */
export function foldParts(
  text: string,
  width: number | undefined,
  widthOf: (line: string) => number = (line) => line.length,
): string[] {
  if (!width) return [text];
  const lines: string[] = [];
  for (const fact of text.split(betweenParts)) {
    const longer = `${lines.at(-1)}${betweenParts}${fact}`;
    if (lines.length > 0 && widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(fact);
  }
  return lines;
}
