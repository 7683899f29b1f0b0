import { UsageError } from '../errors.ts';
import { allMembers } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { rowsIn } from './json-records.ts';
import { isMarkdownTable } from './markdown-table.ts';
import { otherTable, pageOrProse, seemsToBe } from './not-a-list.ts';
import { columnNamesOf, type Reading, type RecordFormat, saveAs } from './reading.ts';
import { enough, type TextBegin } from './text-begin.ts';
import { isTable, type TableView, viewAsColumn, viewAsTable } from './text-table.ts';

/** The format of a text; with the view of a single column where it is one below its name. */
export interface FoundFormat {
  readonly format: RecordFormat;
  readonly column?: TableView | undefined;
}

/** What a text is, from its content, then from its extension. Throws UsageError for what is no list. */
export async function findFormat(begin: TextBegin, reading: Reading): Promise<FoundFormat> {
  const { extension, headerRow, what } = reading;
  const noList = (kind: string): UsageError =>
    new UsageError(`${what} is no list: it looks like ${kind}`, { is: 'no_list' });
  const { firstLine } = begin;
  if (firstLine.includes('|')) await begin.readLines(2);
  if (isMarkdownTable(begin.head)) return { format: 'md' };
  const table = otherTable(begin.head.slice(0, enough), extension, columnNamesOf(reading));
  if (table !== undefined) throw new UsageError(`${what} is ${table}`, saveAs);
  const other = seemsToBe(begin.head.slice(0, enough)) ?? ownKinds[extension];
  if (other !== undefined && !begin.isEmpty) throw noList(other);
  if (/^\s*\[\s*([{"[\]]|$)/.test(begin.head)) return { format: 'json' };
  if (firstLine.startsWith('{')) {
    const isLine = /^\.(?:jsonl|ndjson)$/.test(extension);
    const isWhole = extension === '.json' || (!isLine && hasOnlyRows(firstLine, columnNamesOf(reading)));
    if (isWhole || !isJson(firstLine)) await begin.readLines(2);
    return { format: isDocument(begin.head, isWhole) ? 'json' : 'jsonl' };
  }
  if (extension === '.csv' || extension === '.tsv' || headerRow !== undefined) return { format: 'csv' };
  if (extension === '.jsonl' || extension === '.ndjson') return { format: 'jsonl' };
  if (extension === '.json' && !begin.isEmpty) return { format: 'json' };
  // The first line of a pipe may be the name of a column, if there is another below it.
  if (reading.isColumnName?.(firstLine, '@')) await begin.readLines(2);
  const view = await viewAsTable(begin.whole, reading);
  // A title may be such a name, too.
  const isSure = view.place !== undefined && view.place.known > 1;
  const column = isSure ? undefined : await viewAsColumn(begin.head, reading);
  if (column !== undefined || isTable(view, reading)) return { format: 'csv', column };
  const page = pageOrProse(begin.head.slice(0, enough));
  if (page !== undefined) throw noList(page);
  return { format: 'text' };
}

/** What files with these extensions are, unless they have a table. */
const ownKinds: Readonly<Record<string, string>> = {
  '.md': 'Markdown',
  '.markdown': 'Markdown',
  '.yaml': 'YAML',
  '.yml': 'YAML',
};

/** Pure: whether an object on one line is no row, but has rows. */
function hasOnlyRows(line: string, isName: (cell: string) => boolean): boolean {
  return isJson(line) && !allMembers(line).some(([name]) => isName(name)) && rowsIn(line, isName).length > 0;
}

/**
 * Pure: whether a text that begins with an object is one JSON text: where that is a line alone, `isWhole` says. Otherwise there is an object
 * on each line, the first of which may be damaged.
 */
function isDocument(head: string, isWhole: boolean): boolean {
  const [first = '', second] = head.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  if (second === undefined) return isWhole;
  if (isJson(first)) return false;
  // A line that ends within an object or an array.
  if (/[{[,:]\s*$/.test(first)) return true;
  return !second.startsWith('{') && !/\}\s*$/.test(first);
}
