import type { Column } from '../columns/layout.ts';
import { findingsOf } from '../columns/record-parts.ts';
import { indented } from '../json/indent.ts';
import { type JsonText, JsonView } from '../json/text.ts';
import { toTerminalLines, toTerminalText } from './clean.ts';
import { stylesOf } from './color.ts';
import type { WriterForm, WriterOptions } from './form.ts';
import { drawRows, type GridCell } from './grid.ts';
import { addressIn, readable, readableLines } from './readable.ts';
import { columnGap, cutTo, defaultWidth, fits, textWidth, wrapTo, wrapValue } from './text-width.ts';

/** Maximum lines of a value; all other formats have the whole value. */
const maxLines = 500;
/** Maximum lines of the whole answer. */
const maxRows = 5_000;
/** Number of names that decide the width of their column. */
const enoughNames = 500;
/** Longer lines are hard to read, even on a wide terminal. */
const widestProse = 100;

export function createAnswerForm(options: WriterOptions): WriterForm {
  return options.layout.prose ? createProseForm(options) : createSheetForm(options);
}

/** A single answer: for each column a line with its name on the left and its wrapped value on the right. */
function createSheetForm({ layout, links, styles = stylesOf(false), ...options }: WriterOptions): WriterForm {
  const width = options.width || defaultWidth;

  function* lines(view: JsonView, columns: readonly Column[], nameWidth: number): Generator<string, void> {
    const room = Math.max(1, width - columnGap - nameWidth);
    const grid = [{ width: nameWidth }, {}];
    let rows: GridCell[][] = [];
    let count = 0;
    for (const column of columns) {
      let name = styles.bold(nameOf(column, nameWidth));
      const value = view.find(column.from) ?? (column.none && JSON.stringify(column.none));
      const address = addressIn(value);
      const link = links ? address : undefined;
      for (const text of valueLines(value, room, address !== undefined)) {
        if (++count > maxRows) return yield* drawRows(grid, [...rows, [{ text: '…' }, { text: '' }]]);
        if (address === undefined || fits(text, room)) rows.push([{ text: name }, { text, address: link }]);
        else {
          // The address gets a line of its own, so that it can be copied.
          yield* drawRows(grid, [...rows, [{ text: name }, { text: '' }]]);
          yield* drawRows([{}], [[{ text, address: link }]]);
          rows = [];
        }
        name = '';
      }
    }
    yield* drawRows(grid, rows);
  }

  return {
    *lines(records) {
      for (const record of records) {
        const view = new JsonView(record);
        const columns = layout.sheet?.(view) ?? layout.columns;
        const names = columns.slice(0, enoughNames).map((column) => nameOf(column, Math.floor(width * 0.4)));
        yield* lines(view, columns, Math.max(1, ...names.map(textWidth)));
      }
    },
  };
}

function nameOf({ header }: Column, width: number): string {
  return cutTo(toTerminalText(header), width);
}

function* valueLines(
  value: JsonText | undefined,
  width: number,
  isAddress: boolean,
): Generator<string, void> {
  let count = 0;
  for (const line of readableLines(value)) {
    for (const part of line === '' ? [''] : wrapValue('', line, width, maxLines + 1, isAddress)) {
      if (part === '' && count === 0) continue;
      if (++count > maxLines) return yield '…';
      yield part;
    }
  }
  if (count === 0) yield '–';
}

/** A research answer for people: `Result` as text, then `Citations` with their numbers. An answer in another form is shown as JSON. */
function createProseForm(options: WriterOptions): WriterForm {
  const full = options.width || defaultWidth;
  const width = Math.min(full, widestProse);
  const { dim } = options.styles ?? stylesOf(false);
  return {
    *lines(records) {
      for (const [at, record] of records.entries()) {
        if (at > 0) yield '\n';
        const { result, citations, other } = findingsOf(record);
        if (other !== undefined) {
          yield* indented(other);
          yield '\n';
        }
        for (const line of result === undefined ? [] : toTerminalLines(result)) {
          if (line === '') yield '\n';
          for (const part of wrapTo(line, width, Number.POSITIVE_INFINITY)) yield `${part}\n`;
        }
        let number = 0;
        for (const citation of citations) {
          if (number === 0) yield '\n';
          const mark = `[${++number}]`;
          const address = addressIn(citation);
          for (const part of wrapValue(
            `${mark} `,
            readable(citation),
            full,
            maxLines,
            address !== undefined,
          )) {
            const text = part.startsWith(mark) ? part.slice(mark.length) : part;
            const shown = text.replace(/\S.*/, (words) => linked(words, options.links && address));
            yield `${text === part ? '' : dim(mark)}${shown}\n`;
          }
        }
      }
    },
  };
}

/** A text with a link, for terminals with OSC 8. The text is clean already. */
function linked(text: string, address: string | false | undefined): string {
  return !address || text === '' ? text : `\u001b]8;;${address}\u001b\\${text}\u001b]8;;\u001b\\`;
}
