import type { ChalkInstance } from 'chalk';
import type { JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { betweenParts, foldParts } from './folded-parts.ts';
import { addressIn, linked } from './hyperlink.ts';
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
  links: boolean,
): string[] {
  const lines: string[] = [];
  const textOf = (column: TableColumn | undefined): string =>
    column === undefined ? '' : (column.long ?? column.text).call(column, record);

  const asideColumn = columns.find(({ role }) => role === 'aside');
  const aside = cutTo(textOf(asideColumn), Math.floor(width / 3));
  const titleWidth = aside === '' ? width : width - textWidth(aside) - 2;
  const title = cutTo(textOf(columns.find(({ role }) => role === 'title')), titleWidth);
  if (title !== '' || aside !== '') {
    lines.push(
      [title && chalk.bold(title), toned(asideColumn, aside, chalk)].filter((part) => part !== '').join('  '),
    );
  }
  for (const column of columns) {
    const text = textOf(column);
    if (text === '' || column.role === 'title' || column.role === 'aside') continue;
    if (column.role === undefined) {
      lines.push(...wrapWords(`${toTerminalText(column.header)}: ${text}`, width, otherLines));
    } else if (column.role === 'link') {
      const addresses = links ? addressesOf(column, record, text) : new Map<string, string>();
      for (const line of foldParts(text, width, textWidth)) {
        for (const part of wrapWords(line, width, otherLines)) lines.push(withLinks(part, addresses));
      }
    } else {
      lines.push(...wrapTo(text, width, column.wraps ? wholeLines : bodyLines));
    }
  }
  return lines.length > 0 ? lines : ['–'];
}

function toned(column: TableColumn | undefined, text: string, chalk: ChalkInstance): string {
  const tone = column?.tone?.(text);
  return tone === undefined ? text : chalk[tone](text);
}

/** Where the parts of a cell lead to. */
function addressesOf(column: TableColumn, record: JsonView, text: string): Map<string, string> {
  const values = column.values?.(record) ?? [];
  const parts = text.split(betweenParts);
  const found = values.map((value, at) => [parts[at] ?? '', addressIn(value)] as const);
  return new Map(found.filter((one): one is [string, string] => one[1] !== undefined));
}

/** A part that was cut or wrapped leads nowhere: what is left of it may be another's. */
function withLinks(line: string, addresses: ReadonlyMap<string, string>): string {
  if (addresses.size === 0) return line;
  return line
    .split(betweenParts)
    .map((part) => linked(part, addresses.get(part)))
    .join(betweenParts);
}
