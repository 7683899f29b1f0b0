import { Chalk } from 'chalk';
import { type JsonText, JsonView } from '../json/text.ts';
import { cardLines } from './cards.ts';
import { toTerminalText } from './clean.ts';
import { plainTable, type TableColumn } from './table-columns.ts';
import { defaultWidth, fittingColumns, gap, type PlannedColumn, planTable } from './table-plan.ts';
import { cutTo, padTo, textWidth, wrapTo } from './text-width.ts';
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

  function header(planned: readonly PlannedColumn[]): string {
    const names = planned.map((each) =>
      padTo(cutTo(toTerminalText(each.column.header), each.width), each.width),
    );
    const title = `${chalk.bold(lineOf(names).trimEnd())}\n`;
    // Without colours it may be read aloud, stroke by stroke.
    if (!options.color) return title;
    return `${title}${chalk.dim(lineOf(planned.map((each) => '─'.repeat(each.width))))}\n`;
  }

  function row(planned: readonly PlannedColumn[], record: JsonView): string {
    const cells = planned.map(({ column, width }, index) => {
      const cut = firstLine(column, record, width);
      return index === planned.length - 1 ? cut : padTo(cut, width);
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

  function* lines(records: readonly JsonText[]): Generator<string, void> {
    if (plan === undefined && records.length > 0) {
      const fitting = fittingColumns(columns, width);
      plan = fitting === undefined ? 'cards' : yield* planFrom(fitting, records.slice(0, enoughRows));
      if (plan !== 'cards' && !options.continued) yield header(plan);
    }
    for (const record of records) {
      const view = new JsonView(record);
      if (plan === 'cards') yield `${cardLines(columns, view, width, chalk).join('\n')}\n\n`;
      else if (plan !== undefined) {
        yield row(plan, view);
        yield* below(plan, view);
      }
    }
  }

  /** Writes nothing, but may take a while: others have their turn between two records. */
  function* planFrom(fitting: readonly TableColumn[], records: readonly JsonText[]) {
    const widthOf = (text: string): number => textWidth(cutTo(text, width));
    let seen = fitting.map(({ header: name }) => widthOf(toTerminalText(name)));
    for (const record of records) {
      const view = new JsonView(record);
      seen = fitting.map((column, at) => Math.max(seen[at] as number, widthOf(column.text(view))));
      yield '';
    }
    return planTable(fitting, width, seen, records.length);
  }

  return { lines };
}

/** All that a row has room for. */
function firstLine({ text, wraps }: TableColumn, record: JsonView, width: number): string {
  const [first = ''] = wraps ? wrapTo(text(record), width, wholeLines) : [cutTo(text(record), width)];
  return first;
}

function lineOf(cells: readonly string[]): string {
  return cells.join(' '.repeat(gap));
}
