import { stringify } from 'csv-stringify/sync';
import { type JsonText, JsonView } from '../json/text.ts';
import { csvCell, csvHeader } from './csv-cell.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Enough for the library to be quick, and few enough to hold: a list can have ten columns of its own in each row. */
const cellsAtOnce = 4096;

/** RFC 4180, with the header even when no row follows. */
export function createCsvForm(options: WriterOptions): WriterForm {
  const { columns } = options.layout;
  const raw = options.csvRaw ?? false;
  // A row of one empty cell would be a blank line, which readers skip.
  const style = {
    record_delimiter: options.lineEnd ?? '\r\n',
    quoted_empty: columns.length === 1,
    // The library quotes only cells that hold its own line end and delimiter, and readers take others for one.
    quoted_match: /[\r\n;\t|]/,
  };
  let pendingHeader = options.continued || columns.length === 0 ? [] : [csvHeader(columns, raw)];

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    let rows = pendingHeader;
    pendingHeader = [];
    for (const record of records) {
      const view = new JsonView(record);
      rows.push(columns.map((column) => csvCell(column.value(view), raw)));
      if (rows.length * columns.length < cellsAtOnce) continue;
      yield stringify(rows, style);
      rows = [];
    }
    if (rows.length > 0) yield stringify(rows, style);
  }

  return { lines, end: () => [...lines([])].join('') };
}
