import type { JsonText } from '../json/text.ts';
import { recordLine } from './jsonl.ts';
import { pour } from './pour.ts';
import type { Sink } from './sink.ts';
import { arrayEnd, type RecordWriter, type WriterOptions } from './writer.ts';

/** One array that is written as the records come, or the one object of a single answer. */
export function createJsonWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const lineOf = recordLine(options.layout);
  const isList = options.shape === 'list';
  let begun = options.continued ?? false;

  function* lines(records: readonly JsonText[]): Generator<string, void> {
    for (const record of records) {
      if (isList) yield begun ? ',\n  ' : '[\n  ';
      begun = true;
      yield* lineOf(record);
      if (!isList) yield '\n';
    }
  }

  return {
    write: (records) => pour(sink, lines(records), options.signal),
    async end() {
      if (isList) await sink.write(begun ? arrayEnd : '[]\n');
    },
  };
}
