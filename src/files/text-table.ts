import { isBlank } from './blank.ts';
import { readCsv } from './csv.ts';
import { findHeader, type TableBegin, type TableRow } from './header.ts';
import { columnNamesOf, isOneOf, type ReadOptions } from './reading.ts';

/** The start of a text, read as a table. */
export interface TableView extends TableBegin {
  readonly delimiter: string;
  /** Whether its first line only declares the delimiter (`sep=;`). */
  readonly hasSepLine: boolean;
  /** Number of rows with the most frequent number of cells, and that number. */
  readonly regular: number;
  readonly width: number;
}

/** Maximum rows examined to find the delimiter and the header. */
export const rowsOfHead = 100;

/** In order of preference if they fit equally: commas occur in many texts, tabs in few. */
const delimiters = ['\t', ';', '|', ','];

/** The line that Excel writes and reads above a table: `sep=;`. */
const said = /^\s*"?sep=([^\w\s"]|\t)"?[ \t]*(?:[\r\n]|$)/i;

/** Reads the start of a text as a table, with the delimiter that gives the most known column names, then the most rows of equal length. */
export async function viewAsTable(text: string, reading: ReadOptions): Promise<TableView> {
  const given = said.exec(text)?.[1];
  const isName = columnNamesOf(reading);
  // All delimiters that do not occur give the same single column, so one of them is enough.
  const absent = delimiters.find((one) => !text.includes(one));
  const possible = delimiters.filter((one) => one === absent || text.includes(one));
  const views: TableView[] = [];
  for (const delimiter of given === undefined ? possible : [given]) {
    const head: TableRow[] = [];
    for await (const row of readCsv([text], delimiter)) {
      if (given !== undefined && row.line === 1) continue;
      head.push(row);
      if (head.length === rowsOfHead) break;
    }
    const place = findHeader(head, isName);
    views.push({ delimiter, hasSepLine: given !== undefined, head, place, ...regularity(head) });
  }
  const score = ({ place, regular, width }: TableView): readonly number[] => [
    place?.known ?? 0,
    // A known name above rows with more cells is the name of one column whose texts contain this delimiter.
    Number(place === undefined || place.known === 0 || place.width >= width),
    regular,
    width,
  ];
  return views.reduce((best, view) => (isMore(score(view), score(best)) ? view : best));
}

/** Pure: whether a text without such an extension is a table: its header is known, or most of its lines have tabs. */
export function isTable(
  { delimiter, head, hasSepLine, place, regular, width }: TableView,
  { wanted }: ReadOptions,
) {
  if (hasSepLine) return true;
  const first = head.find(({ cells }) => cells.some((cell) => !isBlank(cell)));
  if (first?.cells.some((cell) => isOneOf(cell.trim(), wanted))) return true;
  if (place !== undefined && place.known > 1) return true;
  return delimiter === '\t' && width > 1 && regular > 1 && regular * 3 >= head.length * 2;
}

/** A delimiter that no text contains, so each line is one cell. */
const noDelimiter = '\x1f';

/** Reads a text as one column below its name; undefined if the first line is not a name, or is the only one. */
export async function viewAsColumn(
  text: string,
  { isColumnName }: ReadOptions,
): Promise<TableView | undefined> {
  const head: TableRow[] = [];
  for await (const row of readCsv([text], noDelimiter)) {
    if (!row.cells.every(isBlank)) head.push(row);
    if (head.length === rowsOfHead) break;
  }
  const [first, second] = head;
  if (first === undefined || second === undefined) return undefined;
  if (!isColumnName?.(first.cells[0] ?? '', second.cells[0] ?? '')) return undefined;
  const place = { line: first.line, width: 1, known: 1, isLines: false };
  return { delimiter: noDelimiter, hasSepLine: false, head, place, regular: 0, width: 1 };
}

function regularity(rows: readonly TableRow[]): Pick<TableView, 'regular' | 'width'> {
  const counts = new Map<number, number>();
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  const [width, regular] = [...counts].reduce(
    (best, one) => (one[0] > 1 && isMore([one[1], one[0]], [best[1], best[0]]) ? one : best),
    [1, 0],
  );
  return { width, regular };
}

/** Pure: whether the first numbers that differ are larger. */
function isMore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((number, place) => number !== other[place]);
  return at !== -1 && (one[at] ?? 0) > (other[at] ?? 0);
}
