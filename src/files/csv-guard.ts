// The first character that a spreadsheet does not skip or drop before it looks for a formula: it skips white space, control, format and
// unassigned characters, combining marks and fillers. A pattern that repeats these would overflow the stack on a few million of them.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@|＝＋－＠｜﹢﹣﹦﹫−]/;
// A spreadsheet that splits or trims at such a first character runs what follows it.
const leadingBreak = /^[\t\r\n]/;

/** Pure: whether a spreadsheet would run the text. */
export function isFormula(text: string): boolean {
  return formula.test(first.exec(text)?.[0] ?? '') || leadingBreak.test(text);
}

// Where a spreadsheet may split by itself: at a semicolon in countries with a decimal comma, at a tab in pasted or imported text, and then
// at line ends, too. Quotes around the cell do not prevent it: they only count at the beginning of a field, and this reader's field began
// earlier. No spreadsheet splits at | unless it is told to, and people use it in their headlines.
const delimiter = /[;\t\r\n]/g;
// The first character after more delimiters and skipped ones. Quotes are skipped, too: a doubled quote is an empty quoted text to such a
// reader.
const firstBehind = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;

/** Pure: the text with each formula behind a delimiter changed. `disarm` gets its first character, and returns what to write. */
export function behindDelimiters(text: string, disarm: (start: string) => string): string {
  return replacedBehind(text, (start) => (formula.test(start) ? disarm(start) : undefined));
}

/** Pure: the text without the apostrophes that leadpipe writes before formulas. */
export function unguarded(cell: string): string {
  if (!cell.includes("'")) return cell;
  const text = replacedBehind(cell, (start, at) =>
    start === "'" && formula.test(cell.charAt(at + 1)) ? '' : undefined,
  );
  return text.startsWith("'") && isFormula(text.slice(1)) ? text.slice(1) : text;
}

/** Asks what to write for the first character of each text behind a delimiter; undefined leaves it. */
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
