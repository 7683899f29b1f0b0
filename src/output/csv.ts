import { stringify } from 'csv-stringify/sync';
import { JsonView } from '../json/text.ts';
import { csvCell, csvHeader } from './csv-cell.ts';
import type { Sink } from './sink.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

/** RFC 4180, with the header even when no row follows. */
export function createCsvWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const { columns } = options.layout;
  const raw = options.csvRaw ?? false;
  // A row of one empty cell would be a blank line, which readers skip.
  const style = {
    record_delimiter: options.lineEnd ?? '\r\n',
    quoted_empty: columns.length === 1,
    // The library quotes only cells that hold its own line end, and readers take any for one.
    quoted_match: /[\r\n]/,
  };
  let pendingHeader = options.continued || columns.length === 0 ? [] : [csvHeader(columns, raw)];
  return {
    async write(records) {
      if (records.length === 0) return;
      const rows = pendingHeader;
      pendingHeader = [];
      for (const record of records) {
        const view = new JsonView(record);
        rows.push(columns.map((column) => csvCell(column.value(view), raw)));
      }
      await sink.write(stringify(rows, style));
    },
    async end() {
      if (pendingHeader.length > 0) await sink.write(stringify(pendingHeader, style));
      pendingHeader = [];
    },
  };
}
