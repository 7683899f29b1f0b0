import { Chalk } from 'chalk';
import { type JsonText, JsonView, kindOf } from '../json/text.ts';
import { cardLines } from './cards.ts';
import { toTerminalText } from './clean.ts';
import { addressIn, linked } from './hyperlink.ts';
import { plainTable, type TableColumn } from './table-columns.ts';
import { defaultWidth, fittingColumns, gap, type PlannedColumn, planTable, type Seen } from './table-plan.ts';
import { cutTo, padFront, padTo, textWidth, wrapTo } from './text-width.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Rows that the widths are taken from. */
const enoughRows = 100;
/** Of a cell that goes on below. */
const wholeLines = 20;

/**
 * A table that begins with its first row and never looks back: the widths are fixed before it. Where the columns
 * don't fit side by side, each record is a card.
 */
export function createTableForm(options: WriterOptions): WriterForm {
  const columns = options.layout.table ?? plainTable(options.layout.columns);
  const width = options.width || defaultWidth;
  const chalk = new Chalk({ level: options.color ? 1 : 0 });
  let plan: PlannedColumn[] | 'cards' | undefined;
  /** Columns in which most of what was seen are numbers. */
  const numeric = new Set<TableColumn>();

  function header(planned: readonly PlannedColumn[]): string {
    const names = planned.map((each) => {
      const name = cutTo(toTerminalText(each.column.header), each.width);
      return numeric.has(each.column) ? padFront(name, each.width) : padTo(name, each.width);
    });
    const title = `${chalk.bold(lineOf(names).trimEnd())}\n`;
    return `${title}${chalk.dim(lineOf(planned.map((each) => '─'.repeat(each.width))))}\n`;
  }

  function row(planned: readonly PlannedColumn[], record: JsonView): string {
    const cells = planned.map(({ column, width }, index) => {
      const cut = firstLine(column, record, width);
      const address = options.links ? addressIn(column.value?.(record)) : undefined;
      const tone = column.tone?.(cut);
      const shown = linked(tone === undefined ? cut : chalk[tone](cut), address);
      const space = ' '.repeat(Math.max(0, width - textWidth(cut)));
      if (numeric.has(column)) return space + shown;
      return index === planned.length - 1 ? shown : shown + space;
    });
    return `${lineOf(cells).trimEnd()}\n`;
  }

  /** Where the last column goes on. */
  function* below(planned: readonly PlannedColumn[], record: JsonView): Generator<string, void> {
    const last = planned.at(-1);
    if (!last?.column.wraps) return;
    const [, ...more] = wrapTo(last.column.text(record), last.width, wholeLines);
    const indent = planned.slice(0, -1).reduce((sum, { width: taken }) => sum + taken + gap, 0);
    for (const line of more) yield `${' '.repeat(indent)}${line}\n`;
  }

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    const first = plan === undefined ? firstOf(records) : [];
    if (first.length > 0) {
      const fitting = fittingColumns(columns, width);
      plan = fitting === undefined ? 'cards' : yield* planFrom(fitting, first);
      if (plan !== 'cards' && !options.continued) yield header(plan);
    }
    for (const record of records) {
      const view = new JsonView(record);
      if (plan === 'cards')
        yield `${cardLines(columns, view, width, chalk, options.links === true).join('\n')}\n\n`;
      else if (plan !== undefined) {
        yield row(plan, view);
        yield* below(plan, view);
      }
    }
  }

  /** Writes nothing, but may take a while: others have their turn between two records. */
  function* planFrom(fitting: readonly TableColumn[], records: readonly JsonText[]) {
    const widthOf = (text: string): number => textWidth(cutTo(text, width));
    const all = fitting.map((column) => ({
      column,
      cells: 0,
      header: widthOf(toTerminalText(column.header)),
      numbers: 0,
      digits: 0,
      addresses: 0,
    }));
    for (const record of records) {
      const view = new JsonView(record);
      for (const one of all) {
        const text = one.column.text(view);
        one.cells = Math.max(one.cells, widthOf(text));
        const value = one.column.value?.(view);
        const kind = kindOf(value ?? 'null');
        one.numbers += kind === 'number' ? 1 : kind === 'null' ? 0 : -1;
        if (text === '') continue;
        one.digits += /^[+\d][\d .,:-]*$/.test(text) ? 1 : -1;
        one.addresses += addressIn(value) !== undefined || /^\S+@\S+$/.test(text) ? 1 : -1;
      }
      yield '';
    }
    for (const { column, numbers } of all) if (numbers > 0) numeric.add(column);
    const seen = all.map(({ cells, header, digits, addresses }): Seen => {
      return { cells, header, holds: digits > 0 ? 'numbers' : addresses > 0 ? 'addresses' : 'text' };
    });
    return planTable(fitting, width, seen, records.length);
  }

  return { lines };
}

function firstOf(records: Iterable<JsonText>): JsonText[] {
  const first: JsonText[] = [];
  for (const record of records) {
    if (first.push(record) === enoughRows) break;
  }
  return first;
}

/** All that a row has room for. */
function firstLine({ short, text, wraps }: TableColumn, record: JsonView, width: number): string {
  const whole = text(record);
  if (wraps) return wrapTo(whole, width, wholeLines).next().value ?? '';
  const cut = cutTo(whole, width);
  return short === undefined || cut === whole ? cut : cutTo(short(record), width);
}

function lineOf(cells: readonly string[]): string {
  return cells.join(' '.repeat(gap));
}
