import type { ChalkInstance } from 'chalk';
import type { JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { foldParts } from './folded-parts.ts';
import type { TableColumn } from './table-columns.ts';
import { cutTo, textWidth, wrapTo, wrapWords } from './text-width.ts';

const bodyLines = 3;
/** Of what is to be read whole. */
const wholeLines = 20;
const otherLines = 2;

/** A record as a few lines, for terminals that are too narrow for a row: what is empty is left out. */
export function cardLines(
  columns: readonly TableColumn[],
  record: JsonView,
  width: number,
  chalk: ChalkInstance,
): string[] {
  const lines: string[] = [];
  const textOf = (column: TableColumn | undefined): string =>
    column === undefined ? '' : (column.long ?? column.text).call(column, record);

  const aside = cutTo(textOf(columns.find(({ role }) => role === 'aside')), Math.floor(width / 3));
  const titleWidth = aside === '' ? width : width - textWidth(aside) - 2;
  const title = cutTo(textOf(columns.find(({ role }) => role === 'title')), titleWidth);
  if (title !== '' || aside !== '') {
    lines.push([title && chalk.bold(title), aside].filter((part) => part !== '').join('  '));
  }
  for (const column of columns) {
    const text = textOf(column);
    if (text === '' || column.role === 'title' || column.role === 'aside') continue;
    if (column.role === undefined) {
      lines.push(...wrapWords(`${toTerminalText(column.header)}: ${text}`, width, otherLines));
    } else if (column.role === 'link') {
      for (const line of foldParts(text, width, textWidth)) lines.push(...wrapWords(line, width, otherLines));
    } else {
      lines.push(...wrapTo(text, width, column.wraps ? wholeLines : bodyLines));
    }
  }
  return lines.length > 0 ? lines : ['–'];
}
