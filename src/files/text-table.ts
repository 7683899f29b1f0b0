import { isBlank } from './blank.ts';
import { readCsv } from './csv.ts';
import { findHeader, type TableBegin, type TableRow } from './header.ts';
import { columnNamesOf, isOneOf, type Reading } from './reading.ts';

/** What the begin of a text is as a table. */
export interface TableView extends TableBegin {
  readonly delimiter: string;
  /** Whether its first line says the delimiter, and nothing else. */
  readonly isSaid: boolean;
  /** How many of these rows have the most frequent number of cells, and how many cells that is. */
  readonly regular: number;
  readonly width: number;
}

/** The number of rows by which a delimiter and a header are found. */
export const rowsOfHead = 100;

/** In the order in which they are preferred where they fit equally: a comma stands in many texts, a tab in few. */
const delimiters = ['\t', ';', '|', ','];

/** What Excel writes and reads in front of a table: `sep=;`. */
const said = /^\s*"?sep=([^\w\s"]|\t)"?[ \t]*(?:[\r\n]|$)/i;

/** The begin of a text as a table, with the delimiter that makes most of it: names of columns that are known, or rows of the same length. */
export async function viewAsTable(text: string, reading: Reading): Promise<TableView> {
  const given = said.exec(text)?.[1];
  const isName = columnNamesOf(reading);
  // With all that do not stand in it, it is the same single column.
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
    views.push({ delimiter, isSaid: given !== undefined, head, place, ...regularity(head) });
  }
  const score = ({ place, regular, width }: TableView): readonly number[] => [
    place?.known ?? 0,
    // A known name above rows with more cells is that of one column, whose texts have this delimiter.
    Number(place === undefined || place.known === 0 || place.width >= width),
    regular,
    width,
  ];
  return views.reduce((best, view) => (isMore(score(view), score(best)) ? view : best));
}

/** Pure: whether a text that has no extension for it is a table: its header is known, or it has tabs in all its lines. */
export function isTable({ delimiter, head, isSaid, place, regular, width }: TableView, { wanted }: Reading) {
  if (isSaid) return true;
  const first = head.find(({ cells }) => cells.some((cell) => !isBlank(cell)));
  if (first?.cells.some((cell) => isOneOf(cell.trim(), wanted))) return true;
  if (place !== undefined && place.known > 1) return true;
  return delimiter === '\t' && width > 1 && regular > 1 && regular * 3 >= head.length * 2;
}

/** Stands in no text, so that a line is one cell. */
const noDelimiter = '\x1f';

/** The begin of a text as one column below its name; undefined where the first line is none, or is alone. */
export async function viewAsColumn(text: string, { isColumnName }: Reading): Promise<TableView | undefined> {
  const head: TableRow[] = [];
  for await (const row of readCsv([text], noDelimiter)) {
    if (!row.cells.every(isBlank)) head.push(row);
    if (head.length === rowsOfHead) break;
  }
  const [first, second] = head;
  if (first === undefined || second === undefined) return undefined;
  if (!isColumnName?.(first.cells[0] ?? '', second.cells[0] ?? '')) return undefined;
  const place = { line: first.line, width: 1, known: 1, isLines: false };
  return { delimiter: noDelimiter, isSaid: false, head, place, regular: 0, width: 1 };
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
