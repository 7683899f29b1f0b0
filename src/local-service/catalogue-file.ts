import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { entityTypes } from '../contract/types.ts';
import { csvRowsOf, delimiterOf } from '../files/csv.ts';
import { unguarded } from '../files/csv-guard.ts';
import { decodeText } from '../files/decoded.ts';
import { isObject } from '../json/object.ts';
import { allMembers, objectOf } from '../json/text.ts';
import { FieldError, nullable, object, oneOf, readFields, text } from './fields.ts';
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

export function* leadsOf(path: string, content: string, kind = 'jsonl'): Generator<NewLead> {
  let count = 0;
  for (const [line, json] of kind === 'csv' ? csvLines(path, content) : jsonLines(content)) {
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

const leadFields = {
  name: text({ unit: 'characters', min: 1, max: 10_000, trimmed: true }),
  description: nullable(text({ unit: 'characters', min: 0, max: 1_000_000 }), ''),
  entity_type: nullable(oneOf(entityTypes), null),
  links: nullable(object, {}),
};

function toLead(json: string): NewLead {
  const value = parsed(json);
  if (!isObject(value)) throw new FieldError('the line must be a JSON object');
  const { name, description, entity_type: entityType } = readFields(value, leadFields, 'open');
  const members = allMembers(json);
  const raw = new Map(members);
  const others = members.filter(([member]) => !notFacts.has(member));
  const facts = new Map([...scalarsOf(objectOf(others)), ...scalarsOf(raw.get('facts'))]);
  const sources = new Map<string, string>();
  for (const [field, answer] of allMembers(raw.get('enrich_fields') ?? '')) {
    const { content, reference } = Object.fromEntries(scalarsOf(answer));
    if (content !== undefined) facts.set(field, content);
    if (reference !== undefined) sources.set(field, reference);
  }
  const contact = scalarsOf(isObject(value.contact) ? raw.get('contact') : json);
  return {
    ...{ entityType, name, description, facts, sources },
    links: scalarsOf(raw.get('links')),
    // A carriage return between two values of it would end a line of the event stream.
    record: objectOf(members.filter(([member]) => !withheld.has(member))).replaceAll('\r', ''),
    email: contact.get('email')?.trim() || null,
    phone: contact.get('phone')?.trim() || null,
  };
}

/** The texts and numbers of an object, the latter as they were written; nested values are neither. */
function scalarsOf(json = ''): Map<string, string> {
  const scalars = allMembers(json).filter(([, raw]) => /^["\dtf-]/.test(raw));
  return new Map(scalars.map(([name, raw]) => [name, raw.startsWith('"') ? JSON.parse(raw) : raw]));
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
  const delimiter = delimiterOf(header, (cell) => cell === 'name');
  const rows = csvRowsOf(parse, text, delimiter);
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
  const cell = (column: string) => [column, JSON.stringify(row.get(column)?.trim() || null)] as const;
  return objectOf([
    cell('name'),
    ['links', objectOf(links)],
    ['description', JSON.stringify(row.get('description') ?? '')],
    ...['entity_type', 'email', 'phone'].map(cell),
    ['facts', objectOf(facts)],
    ['enrich_fields', objectOf(answers)],
  ]);
}
