import { toFlatObject } from '../columns/columns.ts';
import { indented } from '../json/indent.ts';
import { toLinePieces } from '../json/text.ts';
import type { WriterForm, WriterOptions } from './form.ts';

/**
 * Each record as the service sent it, one per line (JSONL, and the one object of a single answer), or one array that is written as
 * the records come. With chosen columns, a record is a flat object of these. Indented on a terminal; with colours, names are
 * in cyan, texts in green and all other values in yellow.
 */
export function createJsonForm(options: WriterOptions, isArray: boolean): WriterForm {
  const { onTerminal, styles } = options;
  const { chosen, columns } = options.layout;
  const paints = styles && { name: styles.cyan, text: styles.green, other: styles.yellow };
  let begun = false;

  return {
    *lines(records) {
      for (const record of records) {
        if (isArray) yield begun ? ',\n  ' : '[\n  ';
        begun = true;
        const text = chosen ? toFlatObject(columns, record) : record;
        yield* onTerminal ? indented(text, isArray ? 1 : 0, paints) : toLinePieces(text);
        if (!isArray) yield '\n';
      }
    },
    end: () => (!isArray ? '' : begun ? '\n]\n' : '[]\n'),
  };
}
