import { type CsvRow, readCsv } from './csv.ts';
import type { Reading, Records } from './reading.ts';
import { openTable } from './table-records.ts';
import { enough, type TextBegin } from './text-begin.ts';
import { rowsOfHead, type TableView, viewAsTable } from './text-table.ts';

/** The rows of a table of text; of a single column where it is seen as one. Throws UsageError. */
export async function openCsv(
  begin: TextBegin,
  reading: Reading,
  column: TableView | undefined,
): Promise<Records> {
  const table = column ?? (await tableOf(begin, reading));
  const { delimiter, isSaid } = table;
  async function* rows(): AsyncGenerator<CsvRow> {
    for await (const row of readCsv(begin.pieces(), delimiter)) if (!isSaid || row.line > 1) yield row;
  }
  const records = await openTable(rows(), table, reading, { delimiter });
  return { ...records, delimiter, ...(column === undefined ? {} : { isOneColumn: true }) };
}

/** A pipe may bring a line at a time. Where no name is known, the delimiter is the one that fits most rows. */
async function tableOf(begin: TextBegin, reading: Reading): Promise<TableView> {
  for (;;) {
    const table = await viewAsTable(begin.whole, reading);
    const isClear = table.place !== undefined && table.place.known > 0;
    if (isClear || begin.isOver || begin.head.length >= enough || table.head.length >= rowsOfHead)
      return table;
    await begin.readMore();
  }
}
