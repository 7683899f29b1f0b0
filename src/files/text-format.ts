import { UsageError } from '../errors.ts';
import { allMembers } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { rowsIn } from './json-records.ts';
import { isMarkdownTable } from './markdown-table.ts';
import { foreignTableKind, nonListKind, proseKind } from './not-a-list.ts';
import { columnNamesOf, type ReadOptions, type RecordFormat, saveAs } from './reading.ts';
import { enough, type TextStart } from './text-begin.ts';
import { isTable, type TableView, viewAsColumn, viewAsTable } from './text-table.ts';

/** The format of a text. `column` is set if it is a single column below its name. */
export interface FoundFormat {
  readonly format: RecordFormat;
  readonly column?: TableView | undefined;
}

/** Recognises the format from the content, then from the extension. Throws UsageError if it is not a list. */
export async function findFormat(begin: TextStart, reading: ReadOptions): Promise<FoundFormat> {
  const { extension, headerRow, what } = reading;
  const noList = (kind: string): UsageError =>
    new UsageError(`${what} is not a list: it looks like ${kind}`, { is: 'no_list' });
  const { firstLine } = begin;
  if (firstLine.includes('|')) await begin.readLines(2);
  if (isMarkdownTable(begin.head)) return { format: 'md' };
  const table = foreignTableKind(begin.head.slice(0, enough), extension, columnNamesOf(reading));
  if (table !== undefined) throw new UsageError(`${what} is ${table}`, saveAs);
  const other = nonListKind(begin.head.slice(0, enough)) ?? ownKinds[extension];
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
  // A title may look like a column name, too.
  const isSure = view.place !== undefined && view.place.known > 1;
  const column = isSure ? undefined : await viewAsColumn(begin.head, reading);
  if (column !== undefined || isTable(view, reading)) return { format: 'csv', column };
  const page = proseKind(begin.head.slice(0, enough));
  if (page !== undefined) throw noList(page);
  return { format: 'text' };
}

/** Kinds of files by extension, unless they have a table. */
const ownKinds: Readonly<Record<string, string>> = {
  '.md': 'Markdown',
  '.markdown': 'Markdown',
  '.yaml': 'YAML',
  '.yml': 'YAML',
};

/** Pure: whether an object on one line contains rows and is not a row itself. */
function hasOnlyRows(line: string, isName: (cell: string) => boolean): boolean {
  return isJson(line) && !allMembers(line).some(([name]) => isName(name)) && rowsIn(line, isName).length > 0;
}

/**
 * Pure: whether a text that begins with an object is one JSON document; otherwise there is an object on each line, and the first may be damaged.
 * For a single line, `isWhole` decides.
 */
function isDocument(head: string, isWhole: boolean): boolean {
  const [first = '', second] = head.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  if (second === undefined) return isWhole;
  if (isJson(first)) return false;
  // A line that ends within an object or an array.
  if (/[{[,:]\s*$/.test(first)) return true;
  return !second.startsWith('{') && !/\}\s*$/.test(first);
}
