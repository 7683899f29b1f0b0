import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { entityTypes } from '../contract/types.ts';
import { csvRowsOf, delimiterOf } from '../files/csv.ts';
import { unguarded } from '../files/csv-guard.ts';
import { decodeText } from '../files/decoded.ts';
import { isObject } from '../json/object.ts';
import { allMembers, objectOf } from '../json/text.ts';
import type { NewLead } from './lead.ts';

/** Thrown for a catalogue file that can't be used; the message names the file and the line. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
};

/** The user's own leads: .jsonl, .ndjson, or .csv with a header. Throws CatalogueError, UsageError. */
export function readCatalogueFile(path: string) {
  const [, kind = ''] = /\.(jsonl|ndjson|csv)$/i.exec(path.toLowerCase()) ?? [];
  if (kind === '') throw new CatalogueError(`the name of ${path} must end in .jsonl, .ndjson or .csv`);
  try {
    const content = readFileSync(path);
    return { kind, content, leads: () => leadsOf(path, decodeText(content, path), kind) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CatalogueError(`can't read ${path}: ${unreadable[code] ?? code}`);
  }
}

export function* leadsOf(path: string, text: string, kind = 'jsonl'): Generator<NewLead> {
  let count = 0;
  for (const [line, json] of kind === 'csv' ? csvLines(path, text) : jsonLines(text)) {
    try {
      yield toLead(json);
    } catch (error) {
      throw new CatalogueError(`${path}:${line}: ${(error as Error).message}`);
    }
    count += 1;
  }
  if (count === 0) throw new CatalogueError(`${path} contains no leads`);
}

type Line = readonly [number: number, json: string];

function* jsonLines(text: string): Generator<Line> {
  let number = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? undefined : end).trim();
    at = end < 0 ? text.length : end + 1;
    number += 1;
    if (line !== '') yield [number, line];
  }
}

/**
 * Members that are not part of what a search returns: the search makes its own, they are private, or they say
 * where the lead stood in the search that it is from.
 */
const withheld = new Set([
  ...['score', 'enrich_fields', 'entity_type', 'facts', 'contact', 'email', 'phone'],
  ...['leads_search_id', 'position'],
]);
const notFacts = new Set([...withheld, 'name', 'description', 'links']);

function toLead(json: string): NewLead {
  const value = parsed(json);
  if (value === undefined) throw new Error('the line is not valid JSON');
  if (!isObject(value)) throw new Error('the line must be a JSON object');
  const { name, entity_type } = value;
  const description = value.description ?? '';
  const links = value.links ?? {};
  const entityType = entityTypes.find((type) => type === entity_type) ?? null;
  if (typeof name !== 'string' || name.trim() === '')
    throw new Error('name must be a text that is not empty');
  if (typeof description !== 'string') throw new Error('description must be a text');
  if (!isObject(links)) throw new Error('links must be an object');
  if (entityType === null && entity_type !== undefined && entity_type !== null)
    throw new Error(
      `entity_type is ${JSON.stringify(entity_type)}, but must be one of ${entityTypes.join(', ')}`,
    );
  const members = allMembers(json);
  const facts = new Map<string, string>();
  const sources = new Map<string, string>();
  for (const [member, raw] of members) {
    if (member === 'enrich_fields')
      for (const [field, answer] of allMembers(raw)) {
        const { content = 'null', reference = 'null' } = Object.fromEntries(allMembers(answer));
        addFact(facts, field, content);
        const source = parsed(reference);
        if (typeof source === 'string') sources.set(field, source);
      }
    else if (member === 'facts') for (const [field, fact] of allMembers(raw)) addFact(facts, field, fact);
    else if (!notFacts.has(member)) addFact(facts, member, raw);
  }
  const { email, phone } = isObject(value.contact) ? value.contact : value;
  return {
    ...{ entityType, name, description, facts, sources },
    links: new Map(
      Object.entries(links)
        .filter(([, link]) => typeof link === 'string' || typeof link === 'number')
        .map(([kind, link]) => [kind, String(link)]),
    ),
    // A carriage return between two values of it would end a line of the event stream.
    record: objectOf(members.filter(([member]) => !withheld.has(member))).replaceAll('\r', ''),
    email: typeof email === 'string' ? email.trim() || null : null,
    phone: typeof phone === 'string' ? phone.trim() || null : null,
  };
}

/** Texts and numbers are facts, the latter as they were written; nested values are not. */
function addFact(facts: Map<string, string>, name: string, raw: string): void {
  if (raw.startsWith('"')) facts.set(name, JSON.parse(raw) as string);
  else if (/^[-\dtf]/.test(raw)) facts.set(name, raw);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Each row as the JSON line that says the same. */
function* csvLines(path: string, text: string): Generator<Line> {
  const [header = ''] = /^[^\n\r]*/.exec(text.trimStart()) ?? [];
  const rows = csvRowsOf(
    parse,
    text,
    delimiterOf(header, (cell) => cell === 'name'),
  );
  const columns = (rows[0]?.cells ?? []).map((column) => unguarded(column.trim()));
  if (!columns.includes('name')) throw new CatalogueError(`${path}: the file has no column "name"`);
  const enriched = enrichedColumns(columns);
  for (const [number, { cells, line, flaw }] of rows.entries()) {
    const tooMany = `has ${cells.length} cells, but the header has ${columns.length}`;
    const why = flaw ?? (cells.length > columns.length ? tooMany : undefined);
    if (why !== undefined) throw new CatalogueError(`${path}:${line}: the line ${why}`);
    const row = new Map(columns.map((column, index) => [column, unguarded(cells[index] ?? '')]));
    if (number > 0) yield [line, toJson(row, enriched)];
  }
}

/** The columns of enriched fields: a search's own CSV has two for each, with a prefix where the name was taken already. */
function enrichedColumns(columns: readonly string[]) {
  const enriched = new Map<string, { readonly field: string; readonly reference: string }>();
  for (const reference of columns) {
    const field = /^(?:enrich_fields\.)*(.+)_reference$/.exec(reference)?.[1];
    const column = [`enrich_fields.${field}`, `${field}`].find((one) => columns.includes(one));
    if (field !== undefined && column !== undefined) enriched.set(column, { field, reference });
  }
  return enriched;
}

/** The search makes its own score. */
const ownColumns = new Set(['name', 'description', 'entity_type', 'email', 'phone', 'score', 'score_reason']);

function toJson(row: ReadonlyMap<string, string>, enriched: ReturnType<typeof enrichedColumns>): string {
  const references = new Set([...enriched.values()].map(({ reference }) => reference));
  // All links as one JSON object; `website` and `linkedin_url` beside it are there for reading.
  const written = row.get('links') ?? '';
  const isWritten = isObject(parsed(written));
  const links = new Map(isWritten ? allMembers(written) : []);
  const facts: [string, string][] = [];
  const answers: [string, string][] = [];
  for (const [column, value] of row) {
    if (value === '' || ownColumns.has(column) || references.has(column)) continue;
    if (column === 'links' && isWritten) continue;
    const { field, reference = '' } = enriched.get(column) ?? {};
    const isLink = /^website$|url$|(^|_)link$/i.test(column) || /^https?:\/\//i.test(value);
    if (field !== undefined)
      answers.push([field, JSON.stringify({ content: value, reference: row.get(reference) })]);
    else if (!isLink) facts.push([column, JSON.stringify(value)]);
    else if (!links.has(column)) links.set(column, JSON.stringify(value));
  }
  const texts = ['entity_type', 'email', 'phone'].filter((column) => row.get(column));
  return objectOf([
    ['name', JSON.stringify(row.get('name')?.trim())],
    ['links', objectOf(links)],
    ['description', JSON.stringify(row.get('description') ?? '')],
    ...texts.map((column) => [column, JSON.stringify(row.get(column))] as const),
    ['facts', objectOf(facts)],
    ['enrich_fields', objectOf(answers)],
  ]);
}
