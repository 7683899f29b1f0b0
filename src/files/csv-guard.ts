// What a spreadsheet skips before it looks for a formula, and what its import drops: any white space, control,
// format or unassigned character, combining mark, filler. What comes after them is searched for: a pattern that repeats
// them would overflow the stack on a few million.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@|＝＋－＠｜﹢﹣﹦﹫−]/;
// Where a spreadsheet splits or trims at the first character, what follows is what it runs.
const leadingBreak = /^[\t\r\n]/;

/** Pure: whether a spreadsheet would run the text. */
export function isFormula(text: string): boolean {
  return formula.test(first.exec(text)?.[0] ?? '') || leadingBreak.test(text);
}

// Where a spreadsheet splits without being asked: at a semicolon in countries whose decimal sign is a comma, at a tab in
// pasted or imported text, and then at line ends too. The quotes around the cell do not stop it: they count only where
// a field begins, and for that reader the field began before them. Nobody splits at | without choosing it, and people
// write it in their headlines.
const delimiter = /[;\t\r\n]/g;
// What comes after more delimiters and what is skipped. So are quotes: a quote is written twice, which to that reader
// is an empty quoted text in front of what it runs.
const firstBehind = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;

/** Pure: the text with every formula behind a delimiter changed: `disarm` gets the character that begins it. */
export function behindDelimiters(text: string, disarm: (start: string) => string): string {
  return replacedBehind(text, (start) => (formula.test(start) ? disarm(start) : undefined));
}

/** Pure: the text that stands behind the apostrophes with which leadpipe writes what would be a formula. */
export function unguarded(cell: string): string {
  if (!cell.includes("'")) return cell;
  const text = replacedBehind(cell, (start, at) =>
    start === "'" && formula.test(cell.charAt(at + 1)) ? '' : undefined,
  );
  return text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text;
}

/** Asks what each text behind a delimiter is to begin with; undefined leaves it. */
function replacedBehind(text: string, replace: (start: string, at: number) => string | undefined): string {
  let safe = '';
  let taken = 0;
  delimiter.lastIndex = 0;
  while (delimiter.test(text)) {
    firstBehind.lastIndex = delimiter.lastIndex;
    const found = firstBehind.exec(text);
    if (found === null) break;
    delimiter.lastIndex = firstBehind.lastIndex;
    const start = replace(found[0], found.index);
    if (start === undefined) continue;
    safe += text.slice(taken, found.index) + start;
    taken = firstBehind.lastIndex;
  }
  return safe + text.slice(taken);
}
