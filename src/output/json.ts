import { indented, type Paint } from '../json/indent.ts';
import type { JsonText } from '../json/text.ts';
import { toFlatObject } from './columns.ts';
import { recordLine } from './jsonl.ts';
import { arrayEnd, type WriterForm, type WriterOptions } from './writer.ts';

/** Names in cyan, texts in green, all other values in yellow: of the basic palette, which every theme has readable. */
const colours: Readonly<Record<Paint, readonly [string, string]>> = {
  name: ['\u001b[36m', '\u001b[39m'],
  text: ['\u001b[32m', '\u001b[39m'],
  other: ['\u001b[33m', '\u001b[39m'],
};

/** One array that is written as the records come, or the one object of a single answer. Indented on a terminal. */
export function createJsonForm(options: WriterOptions): WriterForm {
  const isList = options.shape === 'list';
  const lineOf = options.onTerminal ? indentedLine(options, isList ? 1 : 0) : recordLine(options.layout);
  let begun = options.continued ?? false;

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    for (const record of records) {
      if (isList) yield begun ? ',\n  ' : '[\n  ';
      begun = true;
      yield* lineOf(record);
      if (!isList) yield '\n';
    }
  }

  const arrayText = (): string => (begun ? arrayEnd : '[]\n');
  return isList ? { lines, end: arrayText } : { lines };
}

function indentedLine({ layout, color }: WriterOptions, depth: number) {
  const { chosen, columns } = layout;
  return (record: string): Iterable<string> =>
    indented(chosen ? toFlatObject(columns, record) : record, depth, color ? colours : undefined);
}
