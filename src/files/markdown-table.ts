import { UsageError } from '../errors.ts';
import { type CsvRow, lengthFlaw } from './csv.ts';
import type { ReadOptions, Records } from './reading.ts';
import { openTable } from './table-records.ts';
import { linesBefore, type TextStart } from './text-begin.ts';
import { linesOf } from './text-lines.ts';

/*
 * Markdown tables: a line per row, bars between the cells, and a line of dashes below the header. In a cell, a backslash escapes special characters,
 * <br> is a line break, and &#32; is a space at the start or the end.
 */

const dashes = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** Pure: whether a text begins with the header of a table and its line of dashes. */
export function isMarkdownTable(begin: string): boolean {
  const [header = '', below = ''] = begin.trimStart().split(/[\r\n]+/, 2);
  if (!header.includes('|') || !below.includes('|') || !dashes.test(below)) return false;
  return cellsOf(header).length === cellsOf(below).length;
}

/** Throws UsageError for a text that does not begin with a table. */
export async function openMarkdown(begin: TextStart, reading: ReadOptions): Promise<Records> {
  if (!isMarkdownTable(begin.head)) {
    throw new UsageError(`${reading.what} does not begin with a Markdown table`);
  }
  const headerRow = 1 + linesBefore(begin.head, begin.firstLine);
  const own = { ...reading, headerRow };
  return await openTable(readMarkdown(begin.pieces()), { head: [], place: undefined }, own);
}

/** The rows of a table, the header first. It may be repeated, with its dashes. A line without a bar is a row with a flaw. */
export async function* readMarkdown(text: AsyncIterable<string>): AsyncGenerator<CsvRow, void> {
  let header: string | undefined;
  let above: string | undefined;
  for await (const { line, text: row, length } of linesOf(text)) {
    header ??= row;
    const isBelowHeader = above === header;
    above = row;
    if (isBelowHeader && dashes.test(row)) continue;
    const flaw = lengthFlaw(length) ?? (row.includes('|') ? undefined : 'is not a row of the table');
    yield { line, cells: flaw === undefined ? cellsOf(row) : [], flaw };
  }
}

function cellsOf(row: string): string[] {
  const text = row.trim();
  const cells: string[] = [];
  let start = text.startsWith('|') ? 1 : 0;
  for (const { 0: found, index } of text.matchAll(/\\.|\|/g)) {
    if (index < start || found !== '|') continue;
    cells.push(toText(text.slice(start, index)));
    start = index + 1;
  }
  if (start < text.length) cells.push(toText(text.slice(start)));
  return cells;
}

const written = /\\([\\|`[\]*~_])|&#(\d{1,5});|&lt;|&amp;|<br>/g;
const meanings: Readonly<Record<string, string>> = { '&lt;': '<', '&amp;': '&', '<br>': '\n' };

/** The text of a cell, as it was before it was written as Markdown. */
function toText(cell: string): string {
  const text = cell.trim();
  const address = /^<(https?:[^<>\s]+)>$/i.exec(text)?.[1];
  if (address !== undefined) return address;
  return text.replace(
    written,
    (found, escaped?: string, code?: string) =>
      escaped ?? (code === undefined ? meanings[found] : String.fromCharCode(Number(code))) ?? found,
  );
}
