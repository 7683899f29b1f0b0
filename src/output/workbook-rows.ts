import { createReadStream } from 'node:fs';
import { type JsonText, JsonView, toLine } from '../json/text.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/**
 * What stands in the .part of a workbook, which can't be added to: a line for each row, an array of its cells as the
 * service sent them, the header first. A run that was cut goes on with it, and the workbook is made of it at the end.
 */
export function createWorkbookRows({ layout: { columns }, continued }: WriterOptions): WriterForm {
  let isBegun = continued ?? false;

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    if (!isBegun) yield toRow(columns.map(({ header }) => JSON.stringify(header)));
    isBegun = true;
    for (const record of records) {
      const view = new JsonView(record);
      yield toRow(columns.map((column) => column.value(view) ?? 'null'));
    }
  }

  return { lines, end: () => [...lines([])].join('') };
}

function toRow(cells: readonly JsonText[]): string {
  return `${toLine(`[${cells.join(',')}]`)}\n`;
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
