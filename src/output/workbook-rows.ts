import { createReadStream } from 'node:fs';
import { type JsonText, toLine } from '../json/text.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './writer.ts';

/**
 * What stands in the .part of a workbook, which can't be added to: a line for each row, an array of its cells as the
 * service sent them, the header first. A run that was cut goes on with it, and the workbook is made of it at the end.
 */
export function createWorkbookRows(options: WriterOptions): WriterForm {
  const header = options.layout.columns.map((column) => JSON.stringify(column.header));
  const toText = (rows: readonly (readonly JsonText[])[]): string =>
    rows.map((cells) => `${toLine(`[${cells.join(',')}]`)}\n`).join('');
  return createRowsForm(options, [header], (value = 'null') => value, toText);
}

/** The rows of a .part, one by one, as often as they are asked for. Throws what reading throws. */
export function readWorkbookRows(path: string): AsyncIterable<JsonText> {
  return {
    async *[Symbol.asyncIterator]() {
      let rest = '';
      for await (const piece of createReadStream(path, 'utf8')) {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        yield* lines;
      }
    },
  };
}
