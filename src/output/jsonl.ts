import { type JsonText, toLinePieces } from '../json/text.ts';
import { type Layout, toFlatObject } from './columns.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Each record as the service sent it, one per line; with chosen columns a flat object of these. */
export function createJsonlForm({ layout }: WriterOptions): WriterForm {
  const lineOf = recordLine(layout);

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    for (const record of records) {
      yield* lineOf(record);
      yield '\n';
    }
  }

  return { lines, takesLines: !layout.chosen };
}

/** How a record is written in JSONL and JSON, in pieces. */
export function recordLine({ chosen, columns }: Layout): (record: JsonText) => Iterable<string> {
  return chosen ? (record) => toLinePieces(toFlatObject(columns, record)) : toLinePieces;
}
