import { type CsvRow, readCsv } from './csv.ts';
import type { ReadOptions, Records } from './reading.ts';
import { openTable } from './table-records.ts';
import { enough, type TextStart } from './text-begin.ts';
import { rowsOfHead, type TableView, viewAsTable } from './text-table.ts';

/** The rows of a CSV text, or of the single column that was found (`column`). Throws UsageError. */
export async function openCsv(
  begin: TextStart,
  reading: ReadOptions,
  column: TableView | undefined,
): Promise<Records> {
  const table = column ?? (await tableOf(begin, reading));
  const { delimiter, hasSepLine } = table;
  async function* rows(): AsyncGenerator<CsvRow> {
    for await (const row of readCsv(begin.pieces(), delimiter)) if (!hasSepLine || row.line > 1) yield row;
  }
  const records = await openTable(rows(), table, reading, { delimiter });
  return { ...records, delimiter, ...(column === undefined ? {} : { isOneColumn: true }) };
}

/** Reads on until a column name is known, since a pipe may deliver single lines. If none is known, the delimiter that fits most rows wins. */
async function tableOf(begin: TextStart, reading: ReadOptions): Promise<TableView> {
  for (;;) {
    const table = await viewAsTable(begin.whole, reading);
    const isClear = table.place !== undefined && table.place.known > 0;
    if (isClear || begin.isOver || begin.head.length >= enough || table.head.length >= rowsOfHead)
      return table;
    await begin.readMore();
  }
}
