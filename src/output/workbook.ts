import { Zip, ZipDeflate } from 'fflate';
import { createYielder } from '../event-loop.ts';
import type { JsonText } from '../json/text.ts';
import { type Cell, columnName, xmlOf } from './workbook-cell.ts';
import { findColumns } from './workbook-columns.ts';
import {
  contentTypes,
  relations,
  rootRelations,
  sheetEnd,
  sheetHead,
  styles,
  workbookXml,
} from './workbook-parts.ts';

/** What a sheet takes in Excel. */
const ofExcel = { rows: 1_048_576, columns: 16_384, links: 65_530 };
/** Characters of a sheet: a part of a zip file has less than 4 GiB. */
const longestSheet = 1 << 30;
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
 * Writes rows, the header first, as a workbook; however many there are, only a piece of it is in memory: they are read twice.
 * Rows that do not fit on a sheet go on with another one, under the same header. Throws what `write` throws, and what the
 * signal says.
 */
export async function writeWorkbook(
  rows: AsyncIterable<JsonText>,
  write: (bytes: Uint8Array) => Promise<void>,
  { signal, most = ofExcel }: { readonly signal?: AbortSignal; readonly most?: typeof ofExcel } = {},
): Promise<Unfit> {
  const unfit: Unfit = { cells: 0, columns: 0 };
  const yielder = createYielder(signal);
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

  const { head, widths, cellsOf } = await findColumns(rows, yielder);
  const columns = Math.min(most.columns, head?.length ?? 0);
  unfit.columns = (head?.length ?? 0) - columns;
  let text = '';

  const beginSheet = (number: number): Sheet => {
    const file = begin(`xl/worksheets/sheet${number}.xml`);
    text = sheetHead(widths.slice(0, columns));
    const next = { number, file, links: [], rows: 0, length: 0 };
    if (head !== undefined) addRow(next, head);
    return next;
  };
  const addRow = (to: Sheet, cells: readonly Cell[]): void => {
    const row = ++to.rows;
    let line = `<row r="${row}">`;
    for (const [index, cell] of cells.slice(0, columns).entries()) {
      if (cell.isCut) unfit.cells++;
      const at = `${columnName(index)}${row}`;
      const isLink = cell.link !== undefined && to.links.length < most.links;
      if (isLink) to.links.push([at, cell.link as string]);
      line += xmlOf(at, cell, isLink);
    }
    text += `${line}</row>`;
  };
  const endSheet = ({ file, links, number, rows: count }: Sheet): void => {
    const range = columns === 0 ? undefined : `A1:${columnName(columns - 1)}${count}`;
    file.push(Buffer.from(text + sheetEnd(range, links)), true);
    text = '';
    if (links.length > 0) add(`xl/worksheets/_rels/sheet${number}.xml.rels`, relations(links));
  };
  let sheet = beginSheet(1);
  let isHead = true;
  for await (const row of rows) {
    if (isHead) {
      isHead = false;
      continue;
    }
    if (sheet.rows === most.rows || sheet.length > longestSheet) {
      endSheet(sheet);
      sheet = beginSheet(sheet.number + 1);
    }
    addRow(sheet, cellsOf(row));
    if (text.length < pieceLength) continue;
    sheet.length += text.length;
    sheet.file.push(Buffer.from(text));
    text = '';
    await passOn();
    if (yielder.isDue()) await yielder.yield();
  }
  endSheet(sheet);
  const numbers = Array.from({ length: sheet.number }, (_, index) => index + 1);
  add('xl/workbook.xml', workbookXml(numbers));
  add('xl/_rels/workbook.xml.rels', relations([], numbers));
  zip.end();
  await passOn();
  return unfit;
}
