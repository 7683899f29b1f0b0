import { Chalk } from 'chalk';
import { type JsonText, JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import type { Column } from './columns.ts';
import { addressIn, linked } from './hyperlink.ts';
import { readableLines } from './readable.ts';
import { defaultWidth, gap } from './table-plan.ts';
import { cutTo, textWidth, wrapWords } from './text-width.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Nobody reads more of an answer in a table, and the whole of it is in every other format. */
const mostLines = 500;
/** How many names are looked at before the first is written. */
const enoughNames = 500;
const none = '–';

/** A single answer: a line per column, its name on the left and its value, wrapped, on the right. */
export function createSheetForm(options: WriterOptions): WriterForm {
  const { layout } = options;
  const width = options.width || defaultWidth;
  const chalk = new Chalk({ level: options.color ? 1 : 0 });

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    for (const record of records) {
      const view = new JsonView(record);
      const columns = layout.sheet?.(view) ?? layout.columns;
      const nameWidth = columns
        .slice(0, enoughNames)
        .reduce((most, column) => Math.max(most, textWidth(nameOf(column, Math.floor(width * 0.4)))), 0);
      for (const column of columns) {
        const name = nameOf(column, nameWidth);
        let left = chalk.bold(name) + ' '.repeat(nameWidth - textWidth(name) + gap);
        const value = column.value(view);
        const address = options.links ? addressIn(value) : undefined;
        for (const line of valueLines(value, Math.max(1, width - gap - nameWidth))) {
          yield `${left}${linked(line, address)}`.trimEnd().concat('\n');
          left = ' '.repeat(nameWidth + gap);
        }
      }
    }
  }

  return { lines };
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
  if (count === 0) yield none;
}
