/*
 * What spreadsheets take for a formula when they open CSV. LibreOffice and Gnumeric: what begins with `=`. Excel: also what begins with `+`,
 * `-` or `@` and is no number, if it can be parsed as a formula; otherwise it is text. Google Sheets: `=` and `+`, with #ERROR! for what it
 * can't parse. Japanese versions take the full-width forms, too.
 */

// What a spreadsheet skips or drops before it looks for a formula: white space, control, format and unassigned characters, combining marks
// and fillers. A pattern that repeats these would overflow the stack on a few million of them.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@＝＋－＠﹢﹣﹦﹫−]/;

const sign = '[+\\-＋－﹢﹣−]';
/** What begins like a formula and is none, however it is written. */
const harmless: readonly RegExp[] = [
  // Signs alone have nothing to work on.
  new RegExp(`^${sign}[\\s+\\-＋－﹢﹣−]*$`),
  // A number, with any separators, exponent, percent sign or currency. A phone number in groups looks like one, too.
  new RegExp(
    `^${sign}\\s?\\p{Sc}?\\s?(?:\\p{Nd}+(?:[.,'’\\s]\\p{Nd}+)*|[.,]\\p{Nd}+)(?:E[+-]?\\d{1,3})?(?:\\s?[%‰\\p{Sc}])?$`,
    'iu',
  ),
  // A phone number, unless it is arithmetic: two numbers beside each other, without an operator, can't be calculated.
  /^(?=.*\d(?:\s+\(?|\s*[()]\s*)\d)\+\d[\d\s()./-]*\d(?:\s*(?:ext\.?|x)\s*\d+)?$/i,
  // A handle. A formula would need a parenthesis, an operator or a second word.
  /^@[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.·-]*(?:@[\p{L}\p{N}.-]+)?$/u,
];
/** UTF-16 units: what is longer is not looked at. */
const longestHarmless = 1000;

/** Pure: whether a spreadsheet would run the text. */
function isFormula(text: string): boolean {
  const start = first.exec(text);
  if (start === null || !formula.test(start[0])) return false;
  const rest = text.slice(start.index).trimEnd();
  return rest.length > longestHarmless || !harmless.some((one) => one.test(rest));
}

/*
 * Where a spreadsheet may split a cell by itself: at a semicolon in countries with a decimal comma, at a tab in pasted or imported text. Quotes
 * around the cell do not prevent it: they count only at the beginning of a field, and this reader's field began earlier. Its field goes on
 * into the next cell, so nothing that begins like a formula is harmless here. No spreadsheet splits at | unless it is told to, and people use
 * it in their headlines. A line further down belongs to its cell: people begin the lines of a list with a dash.
 */
const delimiter = /[;\t]/g;
// The first character after more delimiters and skipped ones. Quotes are skipped, too: a doubled quote is an empty quoted text to such a
// reader. A line end is not.
const firstBehind = /[\r\n]|[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;
const apostrophes = /'*/y;

/** Pure: the text with an apostrophe before what a spreadsheet would run. `unguarded` undoes it, whatever apostrophes the text has itself. */
export function guarded(text: string): string {
  const safe = changedBehind(text, (found) => `'${found}`);
  return isFormula(text.slice(countApostrophes(text, 0))) ? `'${safe}` : safe;
}

/** Pure: the text without the apostrophes that leadpipe writes before formulas. */
export function unguarded(cell: string): string {
  if (!cell.includes("'")) return cell;
  const text = changedBehind(cell, (found) => (found === "'" ? '' : found));
  const count = countApostrophes(text, 0);
  return count > 0 && isFormula(text.slice(count)) ? text.slice(1) : text;
}

/** Pure: the text with `change` for the first character of each formula behind a delimiter; of its apostrophes, if it has any. */
export function changedBehind(text: string, change: (found: string) => string): string {
  let changed = '';
  let taken = 0;
  delimiter.lastIndex = 0;
  while (delimiter.test(text)) {
    firstBehind.lastIndex = delimiter.lastIndex;
    const found = firstBehind.exec(text);
    if (found === null) break;
    delimiter.lastIndex = firstBehind.lastIndex;
    if (!formula.test(text.charAt(found.index + countApostrophes(text, found.index)))) continue;
    changed += text.slice(taken, found.index) + change(found[0]);
    taken = firstBehind.lastIndex;
  }
  return changed + text.slice(taken);
}

function countApostrophes(text: string, from: number): number {
  apostrophes.lastIndex = from;
  return apostrophes.exec(text)?.[0].length ?? 0;
}
