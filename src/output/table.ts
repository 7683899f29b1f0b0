import type { TableColumn } from '../columns/layout.ts';
import { JsonView, kindOf, type Records } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { type Styles, stylesOf } from './color.ts';
import type { WriterForm, WriterOptions } from './form.ts';
import { drawRows, type GridCell } from './grid.ts';
import { addressIn } from './readable.ts';
import { entityTable, plainTable, textOf } from './table-columns.ts';
import { cannotFit, type PlannedColumn, planTable, type Seen } from './table-plan.ts';
import { cutTo, defaultWidth, textWidth, wrapTo, wrapWords } from './text-width.ts';

/** The rows that decide the widths. */
const enoughRows = 100;
/** Lines of a card for running text, and for anything else. */
const bodyLines = 3;
const otherLines = 2;

/**
 * A table that is written row by row, so its widths are fixed before the first. Where the columns don't fit, or cards were asked for, each
 * record is a card.
 */
export function createTableForm(options: WriterOptions, wantsCards = false): WriterForm {
  const { enrichFields, table } = options.layout;
  const columns =
    table?.() ?? (enrichFields ? entityTable(enrichFields) : plainTable(options.layout.columns));
  const { links = false, styles = stylesOf(false) } = options;
  const width = options.width || defaultWidth;
  /** Undefined before the first records are known. */
  let plan: readonly PlannedColumn[] | 'cards' | undefined =
    wantsCards || cannotFit(columns, width) ? 'cards' : undefined;
  let isBegun = options.continued ?? false;

  function* rowsOf(planned: readonly PlannedColumn[], record: JsonView): Generator<GridCell[], void> {
    const cells = planned.map((each) => {
      const lines = cellLines(each, record);
      const tone = each.column.tone?.(lines[0] ?? '');
      return {
        lines: tone === undefined ? lines : lines.map((line) => styles[tone](line)),
        address: links ? addressIn(each.column.value?.(record)) : undefined,
      };
    });
    const height = Math.max(1, ...cells.map(({ lines }) => lines.length));
    for (let at = 0; at < height; at++) {
      yield cells.map(({ lines, address }) => ({ text: lines[at] ?? '', address }));
    }
  }

  function* rows(planned: readonly PlannedColumn[], records: Records): Generator<GridCell[], void> {
    if (!isBegun) {
      yield planned.map(({ column, width }) => ({
        text: styles.bold(cutTo(toTerminalText(column.header), width)),
      }));
      yield planned.map(({ width }) => ({ text: styles.dim('─'.repeat(width)) }));
    }
    isBegun = true;
    for (const record of records) yield* rowsOf(planned, new JsonView(record));
  }

  function* cards(records: Records): Generator<GridCell[], void> {
    for (const record of records) {
      if (isBegun) yield [{ text: '' }];
      isBegun = true;
      yield* cardRows(columns, new JsonView(record), width, styles, links);
    }
  }

  return {
    *lines(records) {
      plan ??= planTable(width, yield* see(columns, width, records.slice(0, enoughRows)));
      yield* plan === 'cards' ? drawRows([{}], cards(records)) : drawRows(plan, rows(plan, records));
    },
  };
}

/** Measures records. It writes nothing, but may take long, so it pauses between records. */
function* see(
  columns: readonly TableColumn[],
  width: number,
  records: Records,
): Generator<string, readonly Seen[]> {
  const widthOf = (text: string): number => textWidth(cutTo(text, width));
  const seen = columns.map((column) => {
    const header = widthOf(toTerminalText(column.header));
    return { column, cells: 0, header, numbers: 0, digits: 0, addresses: 0 };
  });
  for (const record of records) {
    const view = new JsonView(record);
    for (const one of seen) {
      const text = textOf(one.column, view);
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
  return seen;
}

/** The lines of a cell, as far as there is room. */
function cellLines({ column, width }: PlannedColumn, record: JsonView): string[] {
  const whole = textOf(column, record);
  // Text that must be readable in full is wrapped, even a path that is longer than a line.
  if (column.lines !== undefined) return [...wrapTo(whole, width, column.lines, column.lines > 2)];
  const cut = cutTo(whole, width);
  return [column.short === undefined || cut === whole ? cut : cutTo(column.short(record), width)];
}

/** A record as a few lines, for terminals that are too narrow for a row. Empty values are left out. */
function* cardRows(
  columns: readonly TableColumn[],
  record: JsonView,
  width: number,
  styles: Styles,
  links: boolean,
): Generator<GridCell[], void> {
  const fullText = (column: TableColumn | undefined): string =>
    column === undefined ? '' : (column.long?.(record) ?? textOf(column, record));
  let isEmpty = true;
  const line = (text: string, address?: string): GridCell[] => {
    isEmpty = false;
    return [{ text, address: links ? address : undefined }];
  };

  const detailColumn = columns.find(({ role }) => role === 'detail');
  const detail = cutTo(fullText(detailColumn), Math.floor(width / 3));
  const titleWidth = detail === '' ? width : width - textWidth(detail) - 2;
  const title = cutTo(fullText(columns.find(({ role }) => role === 'title')), titleWidth);
  if (title !== '' || detail !== '') {
    const tone = detailColumn?.tone?.(detail);
    const parts = [title && styles.bold(title), tone === undefined ? detail : styles[tone](detail)];
    yield line(parts.filter((part) => part !== '').join('  '));
  }
  for (const column of columns) {
    if (column.role === 'title' || column.role === 'detail') continue;
    if (column.links !== undefined) {
      for (const { text, address } of column.links(record)) {
        // If the link can be followed, nobody needs to copy the address.
        const parts =
          links && address !== undefined ? [cutTo(text, width)] : wrapWords(text, width, otherLines);
        for (const part of parts) yield line(part, address);
      }
      continue;
    }
    const text = fullText(column);
    if (text === '') continue;
    const label = column.role === undefined ? `${toTerminalText(column.header)}: ` : '';
    const parts =
      column.role === 'body'
        ? wrapTo(text, width, Math.max(bodyLines, column.lines ?? 1))
        : wrapWords(label + text, width, otherLines);
    for (const part of parts) yield line(part);
  }
  if (isEmpty) yield line('–');
}
