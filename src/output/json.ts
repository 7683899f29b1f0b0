import { indented } from '../json/indent.ts';
import { type JsonText, toLinePieces } from '../json/text.ts';
import { toFlatObject } from './columns.ts';
import type { Layout } from './layout.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** One array that is written as the records come, or the one object of a single answer. Indented on a terminal. */
export function createJsonForm(options: WriterOptions): WriterForm {
  const isList = options.shape === 'list';
  const lineOf = options.onTerminal ? indentedLine(options, isList ? 1 : 0) : recordLine(options.layout);
  let begun = options.continued ?? false;

  return {
    *lines(records) {
      for (const record of records) {
        if (isList) yield begun ? ',\n  ' : '[\n  ';
        begun = true;
        yield* lineOf(record);
        if (!isList) yield '\n';
      }
    },
    end: () => (!isList ? '' : begun ? '\n]\n' : '[]\n'),
  };
}

/** With colours, names are in cyan, texts in green and all other values in yellow. */
function indentedLine({ layout, styles }: WriterOptions, depth: number) {
  const { chosen, columns } = layout;
  const paints = styles && { name: styles.cyan, text: styles.green, other: styles.yellow };
  return (record: string): Iterable<string> =>
    indented(chosen ? toFlatObject(columns, record) : record, depth, paints);
}

/** Each record as the service sent it, one per line; with chosen columns a flat object of these. */
export function createJsonlForm({ layout }: WriterOptions): WriterForm {
  const lineOf = recordLine(layout);

  return {
    *lines(records) {
      for (const record of records) {
        yield* lineOf(record);
        yield '\n';
      }
    },
  };
}

/** How a record is written in JSONL and JSON, in pieces. */
export function recordLine({ chosen, columns }: Layout): (record: JsonText) => Iterable<string> {
  return chosen ? (record) => toLinePieces(toFlatObject(columns, record)) : toLinePieces;
}
