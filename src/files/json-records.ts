import { UsageError } from '../errors.ts';
import { allMembers, type JsonText, kindOf, objectMembers, objectOf, piecesOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';
import { lengthFlaw } from './csv.ts';
import { compact, type JsonValue, jsonValues } from './json-values.ts';
import { columnNamesOf, type FileRecord, type ReadOptions, type Records } from './reading.ts';
import { behind, linesBefore, linesIn } from './text-begin.ts';
import { lineRows, type ToRow, unreadable } from './text-lines.ts';

/** Maximum characters of a file that is one JSON object: it is held in memory. */
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
 * The items of a JSON array, or objects that follow each other. A single object stands for the one array of objects in it; without one it is a
 * record. Throws UsageError.
 */
export async function openJson(
  text: AsyncIterable<string>,
  reading: ReadOptions,
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
  const lists = whole?.isWhole ? rowsIn(whole.text, columnNamesOf(reading)) : [];
  const names = lists.flatMap(({ name }) => name ?? []);
  const list = lists.find(({ name }) => table === undefined || name === table);
  if (table !== undefined && list === undefined) {
    throw new UsageError(
      `${what} has no array of objects "${table}"`,
      names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
    );
  }
  if (table === undefined && names.length > 1) {
    throw new UsageError(`${what} has several arrays: ${names.join(', ')}`, { is: 'several_tables', names });
  }
  if (whole === undefined || list === undefined) {
    return { format: 'jsonl', columns: undefined, rows: rows(behind(head, values)) };
  }
  const line = whole.line + linesBefore(whole.text, list.text);
  if (list.name === undefined)
    return { format: 'jsonl', columns: undefined, rows: keyedRows(list.text, line) };
  const items = jsonValues(piecesOf(list.text, 1 << 16), { line });
  return { format: 'jsonl', columns: undefined, rows: rows(items) };
}

/** A list in an object: an array of objects, or, without a name, the objects that are its members. */
interface List {
  readonly name: string | undefined;
  readonly text: JsonText;
}

/** Maximum objects around a list. Answers of APIs have one or two; each is read again for the one inside it. */
const maxDepth = 4;

/**
 * Pure: the lists in an object: its arrays of objects. Without any, its members are a list if all are objects with a common key; otherwise the lists
 * are those in its members. If a member is named like a column, the object is one row with nested columns.
 */
export function rowsIn(object: JsonText, isName: (cell: string) => boolean, depth = 1): readonly List[] {
  const members = allMembers(object);
  const arrays = members.flatMap(([name, text]) => (/^\[\s*\{/.test(text) ? [{ name, text }] : []));
  if (arrays.length > 0 || members.some(([name]) => isName(name))) return arrays;
  const objects = members.filter(([, text]) => kindOf(text) === 'object');
  const [first, ...others] = objects.map(([, text]) => objectMembers(text));
  const isCommon = (name: string): boolean => others.every((one) => one.has(name));
  if (objects.length === members.length && others.length > 0 && [...(first?.keys() ?? [])].some(isCommon))
    return [{ name: undefined, text: object }];
  if (depth === maxDepth) return [];
  return objects.flatMap(([above, text]) =>
    rowsIn(text, isName, depth + 1).flatMap((one) =>
      one.name === undefined ? [] : [{ ...one, name: `${above}.${one.name}` }],
    ),
  );
}

async function* keyedRows(object: JsonText, firstLine: number): AsyncGenerator<FileRecord> {
  const members = allMembers(object);
  const own = members.some(([, text]) => objectMembers(text).has('key')) ? 'key_2' : 'key';
  let line = firstLine;
  let at = 0;
  for (const [name, text] of members) {
    const from = object.indexOf(text, at);
    line += linesIn(object.slice(at, from));
    yield { line, record: compact(objectOf([[own, JSON.stringify(name)], ...allMembers(text)])) };
    line += linesIn(text);
    at = from + text.length;
  }
}
