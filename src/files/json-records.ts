import { UsageError } from '../errors.ts';
import { allMembers, type JsonText, kindOf, objectOf, piecesOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { lengthFlaw } from './csv.ts';
import { compact, type JsonValue, jsonValues } from './json-values.ts';
import type { FileRecord, Reading, Records } from './reading.ts';
import { behind, linesBefore } from './text-begin.ts';
import { lineRows, type ToRow, unreadable } from './text-lines.ts';

/** Characters of a JSON object that is a whole file, which is read as a whole. */
const longestDocument = 100 * 1024 * 1024;

const toJsonRow: ToRow = (text) => {
  if (!isJson(text)) return unreadable('is not valid JSON');
  return kindOf(text) === 'object' ? { record: compact(text) } : unreadable('is not a JSON object');
};

/** An object on each line. */
export function openJsonLines(text: AsyncIterable<string>): Records {
  return { format: 'jsonl', columns: undefined, rows: lineRows(text, toJsonRow) };
}

/**
 * The items of a JSON array, or objects that follow each other. A single object is the one array of objects that it has, or, without one, a
 * single record. Throws UsageError.
 */
export async function openJson(
  text: AsyncIterable<string>,
  reading: Reading,
  isArray: boolean,
): Promise<Records> {
  const { field, what, table } = reading;
  const values = jsonValues(text, { max: longestDocument });
  const head: JsonValue[] = [];
  for (let next = await values.next(); !next.done; next = await values.next()) {
    head.push(next.value);
    if (head.length === 2) break;
  }
  const toRow: ToRow = (value) =>
    kindOf(value) === 'string' && isJson(value) ? { record: objectOf([[field, value]]) } : toJsonRow(value);
  async function* rows(from: AsyncIterable<JsonValue>): AsyncGenerator<FileRecord> {
    for await (const { line, text: value, length, isWhole } of from) {
      const flaw =
        lengthFlaw(length) ?? (isWhole ? undefined : 'is incomplete: the file ends before the JSON does');
      yield { line, ...(flaw === undefined ? toRow(value) : unreadable(flaw)) };
    }
  }
  // An object that is alone in an array is a record.
  const [whole] = head.length === 1 && !isArray ? head : [];
  if (whole !== undefined && whole.length > longestDocument) {
    throw new UsageError(
      `${what} has more than ${longestDocument} characters, which is too much for one JSON object`,
      'Write its array alone, for example: jq ".leads" <file>',
    );
  }
  const arrays = whole?.isWhole ? arraysIn(whole.text) : [];
  const names = arrays.map(({ name }) => name);
  const array = arrays.find(({ name }) => table === undefined || name === table);
  if (table !== undefined && array === undefined) {
    throw new UsageError(
      `${what} has no array of objects "${table}"`,
      names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
    );
  }
  if (table === undefined && names.length > 1) {
    throw new UsageError(`${what} has several arrays: ${names.join(', ')}`, { is: 'several_tables', names });
  }
  if (whole === undefined || array === undefined) {
    return { format: 'jsonl', columns: undefined, rows: rows(behind(head, values)) };
  }
  const line = whole.line + linesBefore(whole.text, array.text);
  const items = jsonValues(piecesOf(array.text, 1 << 16), { line });
  return { format: 'jsonl', columns: undefined, rows: rows(items) };
}

/** Pure: the arrays of objects that an object has. */
function arraysIn(object: JsonText): { readonly name: string; readonly text: JsonText }[] {
  return allMembers(object).flatMap(([name, text]) => (/^\[\s*\{/.test(text) ? [{ name, text }] : []));
}
