import { type JsonText, JsonView, kindOf } from '../json/text.ts';
import { cardRows } from './cards.ts';
import { toTerminalText } from './clean.ts';
import { stylesOf } from './color.ts';
import { drawRows, type GridCell, type GridColumn } from './grid.ts';
import { addressIn } from './hyperlink.ts';
import type { TableColumn } from './layout.ts';
import { plainTable } from './table-columns.ts';
import { cannotFit, defaultWidth, type PlannedColumn, planTable, type Seen } from './table-plan.ts';
import { cutTo, textWidth, wrapTo } from './text-width.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Rows that the widths are taken from. */
const enoughRows = 100;

interface Plan {
  readonly columns: readonly PlannedColumn[];
  readonly grid: readonly GridColumn[];
}

/**
 * A table that begins with its first row and never looks back: the widths are fixed before it. Where the columns
 * don't fit side by side, or where they are wanted, each record is a card.
 */
export function createTableForm(options: WriterOptions, wantsCards = false): WriterForm {
  const columns = options.layout.table ?? plainTable(options.layout.columns);
  const width = options.width || defaultWidth;
  const styles = stylesOf(options.color ?? false);
  let plan: Plan | 'cards' | undefined = wantsCards ? 'cards' : undefined;
  let isBegun = options.continued ?? false;

  function* headerRows({ columns: planned }: Plan): Generator<GridCell[], void> {
    yield planned.map((each) => ({
      text: styles.bold(cutTo(toTerminalText(each.column.header), each.width)),
    }));
    yield planned.map((each) => ({ text: styles.dim('─'.repeat(each.width)) }));
  }

  function* rowsOf({ columns: planned }: Plan, record: JsonView): Generator<GridCell[], void> {
    const cells = planned.map((each) => {
      const lines = cellLines(each, record);
      const tone = each.column.tone?.(lines[0] ?? '');
      return {
        lines: tone === undefined ? lines : lines.map((line) => styles[tone](line)),
        address: options.links ? addressIn(each.column.value?.(record)) : undefined,
      };
    });
    const height = Math.max(1, ...cells.map(({ lines }) => lines.length));
    for (let at = 0; at < height; at++) {
      yield cells.map(({ lines, address }) => ({ text: lines[at] ?? '', address }));
    }
  }

  function* gridRows(at: Plan, records: Iterable<JsonText>): Generator<readonly GridCell[], void> {
    if (!isBegun) yield* headerRows(at);
    isBegun = true;
    for (const record of records) yield* rowsOf(at, new JsonView(record));
  }

  function* cards(records: Iterable<JsonText>): Generator<readonly GridCell[], void> {
    for (const record of records) {
      if (isBegun) yield [{ text: '' }];
      isBegun = true;
      yield* cardRows(columns, new JsonView(record), width, styles, options.links === true);
    }
  }

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    if (plan === undefined && cannotFit(columns, width)) plan = 'cards';
    if (plan === undefined) {
      const first = firstOf(records);
      if (first.length > 0) plan = (yield* planFrom(columns, width, first)) ?? 'cards';
    }
    if (plan === 'cards') yield* drawRows([{}], cards(records));
    else if (plan !== undefined) yield* drawRows(plan.grid, gridRows(plan, records));
  }

  return { lines };
}

/** Writes nothing, but may take a while: others have their turn between two records. */
function* planFrom(
  columns: readonly TableColumn[],
  width: number,
  records: readonly JsonText[],
): Generator<string, Plan | undefined> {
  const widthOf = (text: string): number => textWidth(cutTo(text, width));
  const all = columns.map(({ header }) => {
    return { cells: 0, header: widthOf(toTerminalText(header)), numbers: 0, digits: 0, addresses: 0 };
  });
  for (const record of records) {
    const view = new JsonView(record);
    for (const [at, column] of columns.entries()) {
      const one = all[at] as (typeof all)[number];
      const text = column.text(view);
      one.cells = Math.max(one.cells, widthOf(text));
      const value = column.value?.(view);
      const kind = kindOf(value ?? 'null');
      one.numbers += kind === 'number' ? 1 : kind === 'null' ? 0 : -1;
      if (text === '') continue;
      one.digits += /^[+\d][\d .,:-]*$/.test(text) ? 1 : -1;
      one.addresses += addressIn(value) !== undefined || /^\S+@\S+$/.test(text) ? 1 : -1;
    }
    yield '';
  }
  const seen = all.map(({ cells, header, digits, addresses }): Seen => {
    return { cells, header, holds: digits > 0 ? 'numbers' : addresses > 0 ? 'addresses' : 'text' };
  });
  const planned = planTable(columns, width, seen);
  if (planned === undefined) return undefined;
  const grid = planned.map(({ column, width: wide }): GridColumn => {
    const isNumeric = (all[columns.indexOf(column)]?.numbers ?? 0) > 0;
    return { width: wide, align: isNumeric ? 'right' : 'left' };
  });
  return { columns: planned, grid };
}

function firstOf(records: Iterable<JsonText>): JsonText[] {
  const first: JsonText[] = [];
  for (const record of records) {
    if (first.push(record) === enoughRows) break;
  }
  return first;
}

/** All that a cell has room for. */
function cellLines({ column, width }: PlannedColumn, record: JsonView): string[] {
  const whole = column.text(record);
  // What is to be read whole is: also a path that is longer than a line.
  if (column.lines !== undefined) return [...wrapTo(whole, width, column.lines, column.lines > 2)];
  const cut = cutTo(whole, width);
  return [column.short === undefined || cut === whole ? cut : cutTo(column.short(record), width)];
}
