import type { TableColumn } from '../columns/layout.ts';
import { JsonView, kindOf, type Records } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { type Styles, stylesOf } from './color.ts';
import type { WriterForm, WriterOptions } from './form.ts';
import { drawRows, type GridCell } from './grid.ts';
import { addressIn } from './readable.ts';
import { entityTable, plainTable, textOf } from './table-columns.ts';
import { cannotFit, type PlannedColumn, planTable, type Seen } from './table-plan.ts';
import { columnGap, cutTo, defaultWidth, fits, textWidth, wrapTo, wrapValue } from './text-width.ts';

/** The rows that decide the widths. */
const enoughRows = 100;
/** Lines of a card for each part of a record. */
const cardLines = 3;
/** Lines of a link that was bought for a row: it is cut last of all. */
const linkLines = 4;

/**
 * A table that is written row by row, so its widths are fixed before the first. Where the columns don't fit, or cards were asked for, each
 * record is a card.
 */
export function createTableForm(options: WriterOptions, wantsCards = false): WriterForm {
  const { enrichFields, table } = options.layout;
  const { links = false, mustBeTable = false, styles = stylesOf(false) } = options;
  const width = options.width || defaultWidth;
  const all = table?.() ?? (enrichFields ? entityTable(enrichFields) : plainTable(options.layout.columns));
  const columns = mustBeTable ? all.slice(0, Math.ceil((width + columnGap) / (1 + columnGap))) : all;
  /** Undefined before the first records are known. */
  let plan: readonly PlannedColumn[] | 'cards' | undefined =
    wantsCards || (!mustBeTable && cannotFit(columns, width)) ? 'cards' : undefined;
  let isBegun = false;

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
      plan ??= planTable(width, yield* see(columns, width, records.slice(0, enoughRows)), mustBeTable);
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
    return { column, cells: 0, header, numbers: 0, exact: 0, links: 0 };
  });
  for (const record of records) {
    const view = new JsonView(record);
    for (const one of seen) {
      const text = textOf(one.column, view);
      const { lines = 1, max, role } = one.column;
      // A link that is cut in any case takes no room from others; JSON in an optional column is unreadable in a cell.
      if (role === 'link' && !fits(text, lines * max)) continue;
      if (one.column.yields && /^[[{]/.test(text)) continue;
      one.cells = Math.max(one.cells, widthOf(text));
      const value = one.column.value?.(view);
      const kind = kindOf(value ?? 'null');
      one.numbers += kind === 'number' ? 1 : kind === 'null' ? 0 : -1;
      if (text === '') continue;
      one.exact += isExact(text) ? 1 : -1;
      one.links += addressIn(value) !== undefined ? 1 : -1;
    }
    yield '';
  }
  return seen;
}

const isEmail = /^[!-?A-~]+@[!-?A-~]+\.[!-?A-~]+$/;
/** Longer texts with a number in them are sentences. */
const longestAmount = 24;

/** Pure: whether a text is an email address or several, or a phone number, an amount, a date and the like. */
function isExact(text: string): boolean {
  if (text.includes('@') && text.split(/,? /).every((part) => isEmail.test(part))) return true;
  return text.length <= longestAmount && /^[^\p{L}]*\d[^\p{L}]*(?:\p{L}{1,3}[^\p{L}]*)?$/u.test(text);
}

/** The lines of a cell, as far as there is room. */
function cellLines({ column, lines, tears, width }: PlannedColumn, record: JsonView): readonly string[] {
  const whole = textOf(column, record);
  if (fits(whole, width)) return [whole];
  if (lines === 1) return [cutTo(whole, width)];
  if (addressIn(column.value?.(record)) === undefined) {
    const wrapped = [...wrapTo(whole, width, lines, tears)];
    const short = wrapped.at(-1)?.endsWith('…') ? column.short?.(record) : undefined;
    return short === undefined ? wrapped : [...wrapTo(short, width, lines, tears)];
  }
  const isBought = column.share === undefined && !column.yields;
  return [...wrapTo(whole, width, isBought ? linkLines : lines)];
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

  const titleColumn = columns.find(({ role }) => role === 'title');
  const detailColumn = columns.find(({ role }) => role === 'detail');
  const [title, detail] = [fullText(titleColumn), fullText(detailColumn)];
  const toned = (text: string): string => {
    const tone = detailColumn?.tone?.(detail);
    return tone === undefined ? text : styles[tone](text);
  };
  if (title !== '' && detail !== '' && fits(`${title}  ${detail}`, width)) {
    yield line(`${styles.bold(title)}  ${toned(detail)}`);
  } else {
    for (const part of wrapTo(title, width, cardLines)) yield line(styles.bold(part));
    for (const part of wrapTo(detail, width, cardLines)) yield line(toned(part));
  }
  for (const column of columns) {
    if (column === titleColumn || column === detailColumn) continue;
    const label = `${toTerminalText(column.header)}: `;
    if (column.links !== undefined) {
      for (const { text, address } of column.links(record)) {
        const isAddress = address !== undefined;
        // If the link is clickable, the address need not be copied.
        const parts =
          links && isAddress
            ? [cutTo(label + text, width)]
            : wrapValue(label, text, width, cardLines, isAddress);
        for (const part of parts) yield line(part, address);
      }
      continue;
    }
    const text = fullText(column);
    if (text === '') continue;
    const isAddress =
      !fits(label + text, width) && (isEmail.test(text) || addressIn(column.value?.(record)) !== undefined);
    for (const part of wrapValue(label, text, width, Math.max(cardLines, column.lines ?? 1), isAddress)) {
      yield line(part);
    }
  }
  if (isEmpty) yield line('–');
}
