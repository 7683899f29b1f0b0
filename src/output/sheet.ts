import { type JsonText, JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { stylesOf } from './color.ts';
import { drawRows, type GridCell } from './grid.ts';
import { addressIn } from './hyperlink.ts';
import type { Column } from './layout.ts';
import { readableLines } from './readable.ts';
import { defaultWidth, gap } from './table-plan.ts';
import { cutTo, textWidth, wrapWords } from './text-width.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Nobody reads more of an answer in a table, and the whole of it is in every other format. */
const mostLines = 500;
/** The same of all that an answer has. */
const mostRows = 5_000;
/** How many names are looked at before the first is written. */
const enoughNames = 500;

/** A single answer: a line per column, its name on the left and its value, wrapped, on the right. */
export function createSheetForm({ layout, links, ...options }: WriterOptions): WriterForm {
  const width = options.width || defaultWidth;
  const styles = stylesOf(options.color ?? false);

  function* rows(view: JsonView, columns: readonly Column[], nameWidth: number): Generator<GridCell[], void> {
    let count = 0;
    for (const column of columns) {
      let name = styles.bold(nameOf(column, nameWidth));
      const value = column.value(view);
      const address = links ? addressIn(value) : undefined;
      for (const text of valueLines(value, Math.max(1, width - gap - nameWidth))) {
        if (++count > mostRows) return yield [{ text: '…' }, { text: '' }];
        yield [{ text: name }, { text, address }];
        name = '';
      }
    }
  }

  return {
    *lines(records) {
      for (const record of records) {
        const view = new JsonView(record);
        const columns = layout.sheet?.(view) ?? layout.columns;
        const names = columns.slice(0, enoughNames).map((column) => nameOf(column, Math.floor(width * 0.4)));
        const nameWidth = Math.max(1, ...names.map(textWidth));
        yield* drawRows([{ width: nameWidth }, {}], rows(view, columns, nameWidth));
      }
    },
  };
}

function nameOf({ header }: Column, width: number): string {
  return cutTo(toTerminalText(header), width);
}

function* valueLines(value: JsonText | undefined, width: number): Generator<string, void> {
  let count = 0;
  for (const line of readableLines(value)) {
    for (const part of line === '' ? [''] : wrapWords(line, width, mostLines + 1)) {
      if (part === '' && count === 0) continue;
      if (++count > mostLines) return yield '…';
      yield part;
    }
  }
  if (count === 0) yield '–';
}
