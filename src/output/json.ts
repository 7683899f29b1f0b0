import { recordLine } from './jsonl.ts';
import type { Sink } from './sink.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

/** One array that is written as the records come, or the one object of a single answer. */
export function createJsonWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const lineOf = recordLine(options.layout);
  if (options.shape === 'single') {
    return {
      async write(records) {
        if (records.length > 0) await sink.write(`${records.map(lineOf).join('\n')}\n`);
      },
      async end() {},
    };
  }
  let begun = options.continued ?? false;
  return {
    async write(records) {
      if (records.length === 0) return;
      const opening = begun ? ',\n  ' : '[\n  ';
      begun = true;
      await sink.write(opening + records.map(lineOf).join(',\n  '));
    },
    async end() {
      await sink.write(begun ? '\n]\n' : '[]\n');
    },
  };
}
