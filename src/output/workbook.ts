import { Zip, ZipDeflate } from 'fflate';
import { createYielder } from '../event-loop.ts';
import { linesIn } from '../files/own-file.ts';
import type { JsonText } from '../json/text.ts';
import type { Making } from './file-sink.ts';
import { createRowsToMake, type WriterForm, type WriterOptions } from './form.ts';
import { type Cell, findColumns } from './workbook-columns.ts';
import {
  cellXml,
  columnName,
  contentTypes,
  relations,
  rootRelations,
  sheetEnd,
  sheetHead,
  styles,
  workbookXml,
} from './workbook-xml.ts';

/** The limits of a sheet in Excel. */
const ofExcel = { rows: 1_048_576, columns: 16_384, links: 65_530 };
/** Characters of a sheet: a part of a zip file must be smaller than 4 GiB. */
const longestSheet = 1 << 30;
/** How many characters are compressed at once. */
const pieceLength = 1 << 16;

type Write = (bytes: Uint8Array) => Promise<void>;

/** The rows of a workbook: the header and the records. */
export function createWorkbookRows(options: WriterOptions): WriterForm {
  return createRowsToMake(
    options,
    options.layout.columns.map(({ header }) => JSON.stringify(header)),
  );
}

export function toWorkbook(signal: AbortSignal): Making {
  const write: Making['write'] = async (rows, to) => {
    const unfit = await writeWorkbook(
      () => linesIn(rows),
      (bytes) => to.appendFile(bytes),
      { signal },
    );
    const kept = 'csv and jsonl keep';
    const notes: string[] = [];
    if (unfit.cells > 0) {
      const limit = 'a cell of a workbook holds up to 32767 characters';
      notes.push(`${limit}: longer texts were cut (${unfit.cells}); ${kept} them whole`);
    }
    if (unfit.columns > 0) {
      notes.push(`a workbook has up to 16384 columns: ${unfit.columns} were left out; ${kept} all of them`);
    }
    return notes;
  };
  return { write, what: 'a workbook' };
}

/**
 * Writes rows, the header first, as a workbook. The rows are read twice, so that only a piece is in memory. Rows that do not fit on a sheet
 * continue on another, under the same header. Returns the number of cut cells and of omitted columns. Throws what `write` throws, and the
 * outcome of the signal.
 */
export async function writeWorkbook(
  read: () => AsyncIterable<JsonText>,
  write: Write,
  { signal, maxSize = ofExcel }: { readonly signal?: AbortSignal; readonly maxSize?: typeof ofExcel } = {},
): Promise<{ readonly cells: number; readonly columns: number }> {
  const yielder = createYielder(signal);
  const made: Uint8Array[] = [];
  const zip = new Zip((error, bytes) => {
    if (error) throw error;
    made.push(bytes);
  });
  const passOn = async (): Promise<void> => {
    for (const bytes of made.splice(0)) await write(bytes);
    if (yielder.isDue()) await yielder.yield();
  };
  const begin = (name: string): ZipDeflate => {
    const file = new ZipDeflate(name);
    // The same rows make the same file.
    file.mtime = new Date(1980, 0, 1);
    zip.add(file);
    return file;
  };
  const add = (name: string, text: string): void => void begin(name).push(Buffer.from(text), true);
  add('[Content_Types].xml', contentTypes);
  add('_rels/.rels', rootRelations);
  add('xl/styles.xml', styles);

  const { head, widths, cellsOf } = await findColumns(read(), yielder);
  const columns = Math.min(maxSize.columns, head?.length ?? 0);
  const sheets: number[] = [];
  let cut = 0;
  const rows = read()[Symbol.asyncIterator]();
  // Skip the header.
  await rows.next();
  let next = await rows.next();
  do {
    const number = sheets.push(sheets.length + 1);
    const file = begin(`xl/worksheets/sheet${number}.xml`);
    const links: [at: string, address: string][] = [];
    let text = sheetHead(widths.slice(0, columns));
    let length = 0;
    let row = 0;
    const addRow = (cells: readonly Cell[]): void => {
      text += `<row r="${++row}">`;
      for (const [index, cell] of cells.slice(0, columns).entries()) {
        if (cell.isCut) cut++;
        const at = `${columnName(index)}${row}`;
        const isLink = cell.link !== undefined && links.length < maxSize.links;
        if (isLink) links.push([at, cell.link as string]);
        text += cellXml(at, cell, isLink);
      }
      text += '</row>';
    };
    if (head !== undefined) addRow(head);
    for (; !next.done && row < maxSize.rows && length <= longestSheet; next = await rows.next()) {
      addRow(cellsOf(next.value));
      if (text.length < pieceLength) continue;
      length += text.length;
      file.push(Buffer.from(text));
      text = '';
      await passOn();
    }
    const range = columns === 0 ? undefined : `A1:${columnName(columns - 1)}${row}`;
    file.push(Buffer.from(text + sheetEnd(range, links)), true);
    if (links.length > 0) add(`xl/worksheets/_rels/sheet${number}.xml.rels`, relations(links));
  } while (!next.done);
  add('xl/workbook.xml', workbookXml(sheets));
  add('xl/_rels/workbook.xml.rels', relations([], sheets));
  zip.end();
  await passOn();
  return { cells: cut, columns: (head?.length ?? 0) - columns };
}
