import type { JsonText } from '../json/text.ts';
import { recordLine } from './jsonl.ts';
import { arrayEnd, type WriterForm, type WriterOptions } from './writer.ts';

/** One array that is written as the records come, or the one object of a single answer. */
export function createJsonForm(options: WriterOptions): WriterForm {
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

  const arrayText = (): string => (begun ? arrayEnd : '[]\n');
  return isList ? { lines, end: arrayText } : { lines };
}
