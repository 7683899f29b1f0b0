import { Zip, ZipDeflate } from 'fflate';
import { eachItem, type JsonText } from '../json/text.ts';
import { createTurns } from '../turns.ts';
import { type Cell, columnName, header, toCell, xmlOf } from './workbook-cell.ts';
import {
  contentTypes,
  linksXml,
  relations,
  rootRelations,
  sheetHead,
  styles,
  workbookXml,
} from './workbook-parts.ts';

/** What a sheet takes in Excel. */
const ofExcel = { rows: 1_048_576, columns: 16_384, links: 65_530 };
/** Characters of a sheet: a part of a zip file has less than 4 GiB. */
const longestSheet = 1 << 30;
/** Rows by which the widths of the columns are chosen. */
const looked = 200;
/** Characters that are compressed at once. */
const pieceLength = 1 << 16;

/** What did not fit into a workbook. */
export interface Unfit {
  /** Cells that are cut. */
  cells: number;
  /** Columns that are left out. */
  columns: number;
}

interface Sheet {
  readonly number: number;
  readonly file: ZipDeflate;
  readonly links: [at: string, address: string][];
  rows: number;
  length: number;
}

/**
 * Writes rows, the header first, as a workbook; however many there are, only a piece of it is in memory. Rows that do not
 * fit on a sheet go on with another one, under the same header. Throws what `write` throws, and what the signal says.
 */
export async function writeWorkbook(
  rows: AsyncIterable<JsonText>,
  write: (bytes: Uint8Array) => Promise<void>,
  { signal, most = ofExcel }: { readonly signal?: AbortSignal; readonly most?: typeof ofExcel } = {},
): Promise<Unfit> {
  const unfit: Unfit = { cells: 0, columns: 0 };
  const turns = createTurns(signal);
  const made: Uint8Array[] = [];
  const zip = new Zip((error, bytes) => {
    if (error) throw error;
    made.push(bytes);
  });
  const passOn = async (): Promise<void> => {
    for (const bytes of made.splice(0)) await write(bytes);
  };
  const begin = (name: string): ZipDeflate => {
    const file = new ZipDeflate(name);
    // The same rows are the same file.
    file.mtime = new Date(1980, 0, 1);
    zip.add(file);
    return file;
  };
  const add = (name: string, text: string): void => void begin(name).push(Buffer.from(text), true);
  add('[Content_Types].xml', contentTypes);
  add('_rels/.rels', rootRelations);
  add('xl/styles.xml', styles);

  let head: readonly Cell[] | undefined;
  let widths: readonly number[] = [];
  let waiting: (readonly Cell[])[] = [];
  let sheet: Sheet | undefined;
  let text = '';

  const beginSheet = (number: number): Sheet => {
    const file = begin(`xl/worksheets/sheet${number}.xml`);
    text = sheetHead(widths);
    const next = { number, file, links: [], rows: 0, length: 0 };
    if (head !== undefined) addRow(next, head);
    return next;
  };
  const addRow = (to: Sheet, cells: readonly Cell[]): void => {
    const row = ++to.rows;
    let line = `<row r="${row}">`;
    for (const [index, cell] of cells.entries()) {
      const at = `${columnName(index)}${row}`;
      const isLink = cell.link !== undefined && to.links.length < most.links;
      if (isLink) to.links.push([at, cell.link as string]);
      line += xmlOf(at, cell, isLink);
    }
    text += `${line}</row>`;
  };
  const endSheet = ({ file, links, number }: Sheet): void => {
    file.push(Buffer.from(`${text}</sheetData>${linksXml(links)}</worksheet>`), true);
    text = '';
    if (links.length > 0) add(`xl/worksheets/_rels/sheet${number}.xml.rels`, relations(links));
  };
  const put = async (cells: readonly Cell[]): Promise<void> => {
    if (sheet !== undefined && (sheet.rows === most.rows || sheet.length > longestSheet)) {
      endSheet(sheet);
      sheet = beginSheet(sheet.number + 1);
    }
    sheet ??= beginSheet(1);
    addRow(sheet, cells);
    if (text.length < pieceLength) return;
    sheet.length += text.length;
    sheet.file.push(Buffer.from(text));
    text = '';
    await passOn();
    if (turns.isDue()) await turns.take();
  };
  const putWaiting = async (): Promise<void> => {
    widths = widthsOf([...(head === undefined ? [] : [head]), ...waiting]);
    const some = waiting;
    waiting = [];
    for (const cells of some) await put(cells);
  };

  for await (const row of rows) {
    const all: Cell[] = [];
    let columns = 0;
    for (const value of eachItem(row)) {
      if (++columns > most.columns) continue;
      const cell = head === undefined ? header(value) : toCell(value);
      if (cell.isCut) unfit.cells++;
      all.push(cell);
    }
    unfit.columns = Math.max(unfit.columns, columns - most.columns);
    if (head === undefined) head = all;
    else if (sheet === undefined && waiting.length < looked) waiting.push(all);
    else {
      if (sheet === undefined) await putWaiting();
      await put(all);
    }
  }
  if (sheet === undefined) await putWaiting();
  const last: Sheet = sheet ?? beginSheet(1);
  endSheet(last);
  const numbers = Array.from({ length: last.number }, (_, index) => index + 1);
  add('xl/workbook.xml', workbookXml(numbers));
  add('xl/_rels/workbook.xml.rels', relations([], numbers));
  zip.end();
  await passOn();
  return unfit;
}

/** Characters: so much of each column can be read, and none takes the whole screen. */
function widthsOf(rows: readonly (readonly Cell[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, { text }] of row.entries()) {
      const line = /^[^\n]{0,60}/.exec(text)?.[0] ?? '';
      // East Asian characters take two places.
      const places = line.length + (line.match(/[\u1100-\uffdc]/g)?.length ?? 0);
      widths[index] = Math.min(60, Math.max(widths[index] ?? 8, places + 2));
    }
  }
  return widths;
}
