import type { JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import type { Styles } from './color.ts';
import type { GridCell } from './grid.ts';
import type { TableColumn } from './layout.ts';
import { cutTo, textWidth, wrapTo, wrapWords } from './text-width.ts';

const bodyLines = 3;
const otherLines = 2;

/** A record as a few lines, for terminals that are too narrow for a row: what is empty is left out. */
export function* cardRows(
  columns: readonly TableColumn[],
  record: JsonView,
  width: number,
  styles: Styles,
  links: boolean,
): Generator<GridCell[], void> {
  const textOf = (column: TableColumn | undefined): string =>
    column === undefined ? '' : (column.long ?? column.text).call(column, record);
  let isEmpty = true;
  const line = (text: string, address?: string): GridCell[] => {
    isEmpty = false;
    return [{ text, address: links ? address : undefined }];
  };

  const detailColumn = columns.find(({ role }) => role === 'detail');
  const detail = cutTo(textOf(detailColumn), Math.floor(width / 3));
  const titleWidth = detail === '' ? width : width - textWidth(detail) - 2;
  const title = cutTo(textOf(columns.find(({ role }) => role === 'title')), titleWidth);
  if (title !== '' || detail !== '') {
    const tone = detailColumn?.tone?.(detail);
    const parts = [title && styles.bold(title), tone === undefined ? detail : styles[tone](detail)];
    yield line(parts.filter((part) => part !== '').join('  '));
  }
  for (const column of columns) {
    if (column.role === 'title' || column.role === 'detail') continue;
    if (column.links !== undefined) {
      for (const { text, address } of column.links(record)) {
        // Where it can be followed, it needs not be copied.
        const parts =
          links && address !== undefined ? [cutTo(text, width)] : wrapWords(text, width, otherLines);
        for (const part of parts) yield line(part, address);
      }
      continue;
    }
    const text = textOf(column);
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
