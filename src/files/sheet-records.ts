import { UsageError } from '../errors.ts';
import { isBlank } from './blank.ts';
import type { CsvRow } from './csv.ts';
import { findHeader } from './header.ts';
import { columnNamesOf, maxWorkbook, type ReadOptions, type Records, readAll } from './reading.ts';
import { maxCells, type Oddity, openWorkbook, type Sheet, type SheetRow } from './sheets.ts';
import { openTable } from './table-records.ts';
import { rowsOfHead } from './text-table.ts';

/** The rows of one sheet of a workbook, as the texts that it shows. Throws UsageError. */
export async function openSheet(
  bytes: AsyncIterable<Uint8Array | string>,
  reading: ReadOptions,
): Promise<Records> {
  const { what, sheet, table } = reading;
  if (table !== undefined)
    throw new UsageError(`${what} is a workbook: it has sheets to choose from, no tables`);
  const workbook = await readAll(
    bytes,
    maxWorkbook,
    `${what} has more than ${maxWorkbook} bytes, which is too much for a workbook`,
    'Save it as CSV (in Excel: "CSV UTF-8").',
  );
  const isName = columnNamesOf(reading);
  const chosen = chooseSheet(workbook, what, sheet, isName);
  const { before, width, note } = chosen;
  function* rows(): Generator<CsvRow> {
    for (const { line, cells } of chosen.rows()) {
      const filled = Array.from({ length: width - before }, (_, at) => cells[before + at] ?? '');
      if (cells.length > before) yield { line, cells: filled, flaw: undefined };
    }
  }
  const head: CsvRow[] = [];
  for (const row of rows()) if (head.push(row) === rowsOfHead) break;
  const place = findHeader(head, isName);
  const records = await openTable(rows(), { head, place }, reading, { isSheet: true });
  const warnings = chosen.warnings(reading.headerRow ?? place?.line ?? 0);
  const notes = [note, records.note].filter((one) => one !== undefined);
  return { ...records, note: notes.length === 0 ? undefined : notes.join('\n'), warnings };
}

/** The rows of one sheet, and what the user should know before they are used. */
interface ChosenSheet {
  readonly rows: () => Generator<SheetRow, void>;
  /** Number of columns up to the last filled one, and of empty ones before the first. */
  readonly width: number;
  readonly before: number;
  /** Which sheet is read, if there are several. */
  readonly note: string | undefined;
  /** Warns of hidden rows below the `header`: only those are read. */
  warnings(header: number): readonly string[];
}

/** Maximum rows examined to decide whether a sheet has a table. */
const looked = 100;
/** Maximum names of sheets in a message. */
const maxNames = 5;

/**
 * The sheet of this name or number, else the first visible one that has a table: rows of several cells, or a column under a header that
 * `isHeader` knows. `what` is the workbook in messages. Throws UsageError.
 */
function chooseSheet(
  bytes: Uint8Array,
  what: string,
  wanted: string | undefined,
  isHeader: (cell: string) => boolean,
): ChosenSheet {
  const sheets = openWorkbook(bytes, what);
  const chosen = wanted === undefined ? firstTable(sheets, isHeader) : findSheet(sheets, wanted, what);
  const rows = chosen === undefined ? function* () {} : () => chosen.rows();
  const others = sheets.filter((sheet) => sheet !== chosen);
  const note =
    chosen === undefined || others.length === 0
      ? undefined
      : `Only the sheet "${chosen.name}" of ${what} is read, not ${namesOf(others)}.`;
  return { rows, note, ...scanRows(rows(), what) };
}

function findSheet(sheets: readonly Sheet[], wanted: string, what: string): Sheet {
  const found =
    sheets.find(({ name }) => name === wanted) ??
    sheets.find(({ name }) => name.trim().toLowerCase() === wanted.trim().toLowerCase()) ??
    (/^\d+$/.test(wanted) ? sheets[Number(wanted) - 1] : undefined);
  if (found !== undefined) return found;
  throw new UsageError(`${what} has no sheet "${wanted}"`, `It has ${namesOf(sheets)}.`);
}

function namesOf(sheets: readonly Sheet[]): string {
  const names = sheets
    .slice(0, maxNames)
    .map(({ name, isHidden }) => `"${name}"${isHidden ? ' (hidden)' : ''}`);
  return `${names.join(', ')}${sheets.length > maxNames ? ` and ${sheets.length - maxNames} more` : ''}`;
}

function firstTable(sheets: readonly Sheet[], isHeader: (cell: string) => boolean): Sheet | undefined {
  const visible = sheets.filter(({ isHidden }) => !isHidden);
  const lengths = new Map<Sheet, number>();
  for (const sheet of visible) {
    const head: string[][] = [];
    for (const row of sheet.rows()) {
      const cells = row.cells.filter((cell) => !isBlank(cell));
      if (cells.length > 0 && head.push(cells) === looked) break;
    }
    const isWide = head.filter((cells) => cells.length > 1).length > 1;
    if (isWide || head.slice(0, -1).some((cells) => cells.some(isHeader))) return sheet;
    lengths.set(sheet, head.length);
  }
  const atLeast = (length: number) => visible.find((sheet) => (lengths.get(sheet) ?? 0) >= length);
  return atLeast(2) ?? atLeast(1) ?? visible[0];
}

/** Scans all rows once: oddities must be known before anything is bought, and a sheet's own dimensions can be wrong. */
function scanRows(
  rows: Iterable<SheetRow>,
  what: string,
): Pick<ChosenSheet, 'width' | 'before' | 'warnings'> {
  const found = new Map<Oddity['is'], { readonly first: Oddity; count: number }>();
  const hidden: number[] = [];
  let count = 0;
  let width = 0;
  let before = Number.POSITIVE_INFINITY;
  for (const { line, cells, oddities, isHidden } of rows) {
    if (isHidden && cells.length > 0) hidden.push(line);
    if (cells.length > 0) count++;
    width = Math.max(width, cells.length);
    if (cells.length > 0)
      before = Math.min(
        before,
        cells.findIndex((cell) => cell !== ''),
      );
    for (const oddity of oddities) {
      const known = found.get(oddity.is);
      if (known === undefined) found.set(oddity.is, { first: oddity, count: 1 });
      else known.count += 1;
    }
  }
  const warnings = (header: number): string[] => {
    const odd = [...found.values()].map(({ first, count }) => toWarning(first, count));
    const read = hidden.filter((line) => line > header);
    return [...odd, ...hiddenRowWarnings(read)].map((text) => `${what}: ${text}`);
  };
  before = Math.min(before, width);
  if (count * (width - before) > maxCells) {
    throw new UsageError(
      `${what} has ${count} rows of ${width - before} columns, most of them empty, which is too much for a workbook`,
      'Remove the cells far from the table, or save it as CSV (in Excel: "CSV UTF-8").',
    );
  }
  return { width, before, warnings };
}

function hiddenRowWarnings([first, ...others]: readonly number[]): string[] {
  if (first === undefined) return [];
  const rows =
    others.length === 0
      ? `row ${first} is hidden, but it is read too`
      : `${others.length + 1} rows are hidden, and are read too; the first is row ${first}`;
  return [`${rows}. To leave out what a filter hides, copy the visible rows to another sheet.`];
}

function toWarning({ is, cell, text }: Oddity, count: number): string {
  const isOne = count === 1;
  const place = isOne ? `in ${cell}` : `the first in ${cell}`;
  switch (is) {
    case 'rounded':
      return `${isOne ? 'a number has' : `${count} numbers have`} over 15 digits, ${place}: ${text}. Excel keeps 15, so its last digits are probably wrong.`;
    case 'unstored':
      return `${isOne ? 'a formula has no stored result and counts' : `${count} formulas have no stored result and count`} as empty, ${place}. Open the file in Excel, and save it.`;
    case 'error':
      return `${isOne ? 'a cell has an error' : `${count} cells have an error`}, ${place}: ${text}`;
  }
}
