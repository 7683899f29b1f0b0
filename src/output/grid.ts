import Table from 'cli-table3';
import { columnGap, textWidth } from './text-width.ts';

/** One clean line of text, cut to its column and coloured. `address`: where it leads, on a terminal with links. */
export interface GridCell {
  readonly text: string;
  readonly address?: string | undefined;
}

export interface GridColumn {
  /** Undefined for a last column that is as wide as its lines. */
  readonly width?: number;
  readonly align?: 'left' | 'right';
}

const borders = ['top', 'bottom', 'left', 'right', 'mid'];
const none = borders.flatMap((one) => [one, `${one}-mid`, `${one}-left`, `${one}-right`]);
const chars = { ...Object.fromEntries(none.map((name) => [name, ''])), middle: ' '.repeat(columnGap) };

/**
 * A table without borders, for one batch of rows: the library only writes when it has all rows, and looks at each cell several times, so a
 * long cell would take a minute. For the same reason, two lines of a cell are two rows.
 */
function drawGrid(columns: readonly GridColumn[], rows: readonly (readonly GridCell[])[]): string {
  if (rows.length === 0) return '';
  const table = new Table({
    chars,
    // With a mark of ten columns, the library skips a slow attempt to shorten each cell.
    truncate: '…'.repeat(10),
    colWidths: columns.map(({ width }) => width ?? widest(rows)),
    colAligns: columns.map(({ align = 'left' }) => align),
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  });
  for (const row of rows) {
    table.push(
      row.map(({ text, address }) =>
        address === undefined || text === '' ? text : { content: text, href: address },
      ),
    );
  }
  const lines = table.toString().split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function widest(rows: readonly (readonly GridCell[])[]): number {
  return rows.reduce((max, row) => Math.max(max, textWidth(row.at(-1)?.text ?? '')), 1);
}

/** How many rows are drawn at once: the library's time grows with their square. */
const atOnce = 40;

/** The text of rows, some at a time. */
export function* drawRows(
  columns: readonly GridColumn[],
  rows: Iterable<readonly GridCell[]>,
): Generator<string, void> {
  let some: (readonly GridCell[])[] = [];
  for (const row of rows) {
    if (some.push(row) < atOnce) continue;
    yield drawGrid(columns, some);
    some = [];
  }
  yield drawGrid(columns, some);
}
