/*
 * What spreadsheets take for a formula when they open CSV. LibreOffice and Gnumeric: what begins with `=`. Excel: also what begins with `+`,
 * `-` or `@` and is no number, if it can be parsed as a formula; otherwise it is text. Google Sheets: `=` and `+`, with #ERROR! for what it
 * can't parse. Japanese versions take the full-width forms, too.
 */

// What a spreadsheet skips or drops before it looks for a formula: white space, control, format and unassigned characters, combining marks
// and fillers. A pattern that repeats these would overflow the stack on a few million of them.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@＝＋－＠﹢﹣﹦﹫−]/;

/** The signs of a formula that lists have at the begin of their lines. */
const ofLists = /^[+\-＋－﹢﹣﹫−]/;

/*
 * What begins like a formula and is left as it is, because no spreadsheet can calculate with it. A text of digits is arithmetic to Excel, and
 * guarded, where each of its numbers stands behind a sign for it: `+49-30-1234567`. It is a phone number where two of them stand beside each
 * other, with a space, a parenthesis, a dash that is no minus or the word for an extension between them, and a number where there is only one.
 */
const sign = '[+\\-＋－﹢﹣−]';
const between = '(?:\\s+\\(?|\\s*[()‐‑–]\\s*)';
const extension = ',?\\s*(?:x|ext(?:ension)?\\.?|#)\\s*\\d+';
const harmless: readonly RegExp[] = [
  // Signs alone have nothing to work on.
  new RegExp(`^${sign}[\\s+\\-＋－﹢﹣−]*$`),
  // A number in any notation: with separators, exponent, percent sign, currency or degrees. A pair of coordinates looks like one, too.
  new RegExp(
    `^${sign}\\s?\\p{Sc}?\\s?(?:\\p{Nd}+(?:[.,'’\\s]{1,2}\\p{Nd}+)*[.,]?|[.,]\\p{Nd}+)(?:E[+-]?\\d{1,3})?(?:\\s?(?:[%‰\\p{Sc}]|°[CF]?))?$`,
    'iu',
  ),
  // A phone number, or several.
  new RegExp(`^\\+(?=.*\\d(?:${between}\\d|${extension}$))\\d[\\d\\s()./,+‐‑–-]*\\d(?:${extension})?$`, 'i'),
  // A handle. A formula would need a parenthesis, an operator or a second word.
  /^@[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.·-]*(?:@[\p{L}\p{N}.-]+)?$/u,
];
/** UTF-16 units: what is longer is not looked at. */
const longestHarmless = 1000;

/** Pure: whether a spreadsheet would run a text of which nothing else is in its cell. */
function isFormula(text: string): boolean {
  const start = first.exec(text);
  if (start === null || !formula.test(start[0])) return false;
  const rest = text.slice(start.index).trimEnd();
  return rest.length > longestHarmless || !harmless.some((one) => one.test(rest));
}

/*
 * Where a spreadsheet may begin a cell within one: it splits at a semicolon in countries with a decimal comma, at a tab in pasted or imported
 * text. Quotes around the cell do not prevent it: they count only at the beginning of a field, and this reader's field began earlier. So it
 * also takes the end of a line for that of a row. Behind a delimiter nothing that begins like a formula is harmless, since the field goes on
 * into the next cell. A line further down that begins with a dash or a plus is left as it is: it is mostly one of a list. In a file with
 * another delimiter, the same is true of what stands behind a comma. No spreadsheet splits at | unless it is told to, and people use it in
 * their headlines.
 */
const breaks = /[;\t\r\n]/g;
const breaksAndCommas = /[;\t\r\n,]/g;
// The first character after more delimiters and skipped ones. Quotes are skipped, too: a doubled quote is an empty quoted text to such a
// reader. A line end is not.
const firstBehind = /[\r\n]|[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;
const apostrophes = /'*/y;

/**
 * Pure: the text with an apostrophe before what a spreadsheet would run, for a file with this delimiter. `unguarded` undoes it, whatever
 * apostrophes the text has itself.
 */
export function guarded(text: string, delimiter: string): string {
  const safe = changedWithin(text, delimiter, (found) => `'${found}`);
  return isFormula(text.slice(countApostrophes(text, 0))) ? `'${safe}` : safe;
}

/** Pure: the text without the apostrophes that leadpipe writes before formulas. */
export function unguarded(cell: string, delimiter: string): string {
  if (!cell.includes("'")) return cell;
  const text = changedWithin(cell, delimiter, (found) => (found === "'" ? '' : found));
  const count = countApostrophes(text, 0);
  return count > 0 && isFormula(text.slice(count)) ? text.slice(1) : text;
}

/** Pure: the text with `change` for the first character of each formula further down or behind a delimiter; of its apostrophes, if it has any. */
export function changedWithin(text: string, delimiter: string, change: (found: string) => string): string {
  const places = ';\t|'.includes(delimiter) ? breaksAndCommas : breaks;
  let changed = '';
  let taken = 0;
  places.lastIndex = 0;
  for (let at = places.exec(text)?.index; at !== undefined; at = places.exec(text)?.index) {
    firstBehind.lastIndex = at + 1;
    const found = firstBehind.exec(text);
    if (found === null) break;
    const isBreak = '\r\n,'.includes(found[0]);
    places.lastIndex = isBreak ? found.index : firstBehind.lastIndex;
    if (isBreak) continue;
    const start = found.index + countApostrophes(text, found.index);
    const isDelimiter = /[;\t]/.test(text.slice(at, found.index));
    if (!(isDelimiter ? formula.test(text.charAt(start)) : isFormulaOfLine(text, start))) continue;
    changed += text.slice(taken, found.index) + change(found[0]);
    taken = firstBehind.lastIndex;
  }
  return changed + text.slice(taken);
}

/** Pure: whether a line further down, or what stands behind a comma, begins with a formula here. */
function isFormulaOfLine(text: string, start: number): boolean {
  if (!formula.test(text.charAt(start)) || ofLists.test(text.charAt(start))) return false;
  const [line = ''] = text.slice(start, start + longestHarmless + 1).split(/[\r\n]/, 1);
  return isFormula(line);
}

function countApostrophes(text: string, from: number): number {
  apostrophes.lastIndex = from;
  return apostrophes.exec(text)?.[0].length ?? 0;
}
