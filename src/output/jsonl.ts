import { type JsonText, toLine } from '../json/text.ts';
import { type Layout, toFlatObject } from './columns.ts';
import type { Sink } from './sink.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

/** Each record as the service sent it, one per line; with chosen columns a flat object of these. */
export function createJsonlWriter(sink: Sink, { layout }: Pick<WriterOptions, 'layout'>): RecordWriter {
  const lineOf = recordLine(layout);
  return {
    async write(records) {
      if (records.length === 0) return;
      let text = '';
      for (const record of records) text += `${lineOf(record)}\n`;
      await sink.write(text);
    },
    async end() {},
  };
}

/** How a record is written in JSONL and JSON. */
export function recordLine(layout: Layout): (record: JsonText) => string {
  return layout.chosen ? (record) => toLine(toFlatObject(layout.columns, record)) : toLine;
}
