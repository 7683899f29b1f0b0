/*
 * Formulas in CSV, as spreadsheets see them. LibreOffice and Gnumeric: text that begins with `=`. Excel: also text that begins with `+`, `-` or `@`,
 * is not a number and parses as a formula. Google Sheets: `=` and `+`, with #ERROR! if it does not parse. Japanese versions also accept full-width
 * forms.
 */

// The first character that a spreadsheet does not skip: it ignores white space, control, format and unassigned characters, combining marks and
// fillers. A pattern that repeats these would overflow the stack on a few million of them.
const first = /[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u;
const formula = /^[=+\-@＝＋－＠﹢﹣﹦﹫−]/;

/** Formula signs that also mark the items of a list at the start of a line. */
const listMarker = /^[+\-＋－﹢﹣﹫−]/;

/*
 * Texts that begin like a formula but stay unguarded, because no spreadsheet can calculate with them. Digits are arithmetic to Excel, and guarded, if
 * a sign precedes each number: `+49-30-1234567`. They are a phone number if two numbers are separated by a space, a parenthesis, a semicolon, a dash
 * that is not a minus, or the word for an extension; a single number is just a number.
 */
const sign = '[+\\-＋－﹢﹣−]';
const between = '(?:\\s+\\(?|\\s*[()‐‑–]\\s*|\\s*;\\s*\\+?)';
const extension = ',?\\s*(?:x|ext(?:ension)?\\.?|#)\\s*\\d+';
const harmless: readonly RegExp[] = [
  // Only signs: there is nothing to calculate.
  new RegExp(`^${sign}[\\s+\\-＋－﹢﹣−]*$`),
  // A number in any notation: with separators, exponent, percent sign, currency or degrees. A pair of coordinates looks like one, too.
  new RegExp(
    `^${sign}\\s?\\p{Sc}?\\s?(?:\\p{Nd}+(?:[.,'’\\s]{1,2}\\p{Nd}+)*[.,]?|[.,]\\p{Nd}+)(?:E[+-]?\\d{1,3})?(?:\\s?(?:[%‰\\p{Sc}]|°[CF]?))?$`,
    'iu',
  ),
  // A phone number, or several.
  new RegExp(
    `^\\+\\s?\\(?(?=.*\\d(?:${between}\\d|${extension}$))\\d[\\d\\s()./,;+‐‑–-]*\\d(?:${extension})?$`,
    'i',
  ),
  // A handle. A formula would need a parenthesis, an operator or a second word.
  /^@[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.·-]*(?:@[\p{L}\p{N}.-]+)?$/u,
];
/** UTF-16 units. A longer text is always guarded. */
const maxCheckedLength = 1000;

/** Pure: whether a spreadsheet would run a cell that has only this text. */
function isFormula(text: string): boolean {
  const start = first.exec(text);
  if (start === null || !formula.test(start[0])) return false;
  const rest = text.slice(start.index).trimEnd();
  return rest.length > maxCheckedLength || !harmless.some((one) => one.test(rest));
}

/*
 * Places inside a cell where a spreadsheet may start a new one: a semicolon in countries with a decimal comma, a tab in pasted or imported text.
 * Quotes around the cell do not help: they count only at the start of a field, and for such a reader the field began earlier; a line end also ends
 * its row. The cell is quoted in the file, so what follows it there begins with a quote, and continues no number. A dash or a plus at the start of
 * a later line stays: it is mostly a list item. In a file with another delimiter, so does one after a comma. No spreadsheet splits at | unless told
 * to, and people use it in headlines.
 */
const breaks = /[;\t\r\n]/g;
const breaksAndCommas = /[;\t\r\n,]/g;
// The next character that is not skipped. Delimiters and quotes are skipped too (a doubled quote is an empty quoted text to such a reader);
// a line end is not.
const nextVisible = /[\r\n]|[^\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}";]/gu;
const apostrophes = /'*/y;

/**
 * Pure: the text with an apostrophe before each formula, for a file with this delimiter. `unguarded` reverses it, even if the text has apostrophes
 * of its own.
 */
export function guarded(text: string, delimiter: string): string {
  const safe = replaceFormulaStarts(text, delimiter, (found) => `'${found}`);
  return isFormula(text.slice(countApostrophes(text, 0))) ? `'${safe}` : safe;
}

/** Pure: the text without the apostrophes that leadpipe writes before formulas. */
export function unguarded(cell: string, delimiter: string): string {
  if (!cell.includes("'")) return cell;
  const text = replaceFormulaStarts(cell, delimiter, (found) => (found === "'" ? '' : found));
  const count = countApostrophes(text, 0);
  return count > 0 && isFormula(text.slice(count)) ? text.slice(1) : text;
}

/** Pure: applies `change` to the first character (or the first apostrophe) of each formula on a later line or after a delimiter. */
export function replaceFormulaStarts(
  text: string,
  delimiter: string,
  change: (found: string) => string,
): string {
  const places = ';\t|'.includes(delimiter) ? breaksAndCommas : breaks;
  let changed = '';
  let taken = 0;
  places.lastIndex = 0;
  for (let at = places.exec(text)?.index; at !== undefined; at = places.exec(text)?.index) {
    nextVisible.lastIndex = at + 1;
    const found = nextVisible.exec(text);
    if (found === null) break;
    const isBreak = '\r\n,'.includes(found[0]);
    places.lastIndex = isBreak ? found.index : nextVisible.lastIndex;
    if (isBreak) continue;
    const start = found.index + countApostrophes(text, found.index);
    const isList = !/[;\t]/.test(text.slice(at, found.index)) && listMarker.test(text.charAt(start));
    if (isList || !isFormulaOfLine(text, start)) continue;
    changed += text.slice(taken, found.index) + change(found[0]);
    taken = nextVisible.lastIndex;
  }
  return changed + text.slice(taken);
}

/** Pure: whether the rest of the line is a formula. */
function isFormulaOfLine(text: string, start: number): boolean {
  if (!formula.test(text.charAt(start))) return false;
  const [line = ''] = text.slice(start, start + maxCheckedLength + 1).split(/[\r\n]/, 1);
  return isFormula(line);
}

function countApostrophes(text: string, from: number): number {
  apostrophes.lastIndex = from;
  return apostrophes.exec(text)?.[0].length ?? 0;
}
