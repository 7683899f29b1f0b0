import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { type EntityType, entityTypes } from '../contract/types.ts';
import { csvRowsOf, delimiterOf } from '../files/csv.ts';
import { unguarded } from '../files/csv-guard.ts';
import { decodeText } from '../files/decoded.ts';
import { isObject } from '../json/object.ts';
import { allMembers, objectOf } from '../json/text.ts';
import type { CatalogueRecord } from './lead.ts';

/** Thrown for a catalogue file that can't be used; the message names the file and the line. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
};

/** Reads the user's own leads: .jsonl, .ndjson, or .csv with a header. Throws CatalogueError, UsageError. */
export function readCatalogueFile(path: string): {
  content: Buffer;
  records: () => Iterable<CatalogueRecord>;
} {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code ?? error);
    throw new CatalogueError(`can't read ${path}: ${unreadable[code] ?? code}`);
  }
  const kind = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase();
  if (kind !== 'jsonl' && kind !== 'ndjson' && kind !== 'csv')
    throw new CatalogueError(`the name of ${path} must end in .jsonl, .ndjson or .csv`);
  return {
    content,
    records: () => fromText(path, decodeText(content, path), kind === 'csv'),
  };
}

export function* fromText(path: string, text: string, isCsv = false): Generator<CatalogueRecord> {
  let count = 0;
  for (const record of isCsv ? fromCsv(path, text) : fromJsonLines(path, text)) {
    yield record;
    count += 1;
  }
  if (count === 0) throw new CatalogueError(`${path} contains no leads`);
}

function* fromJsonLines(path: string, text: string): Generator<CatalogueRecord> {
  let lineNumber = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? undefined : end).trim();
    at = end < 0 ? text.length : end + 1;
    lineNumber += 1;
    if (line !== '') yield fromJson(line, `${path}:${lineNumber}`);
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

function fromJson(line: string, where: string): CatalogueRecord {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    throw new CatalogueError(`${where}: the line is not valid JSON`);
  }
  if (!isObject(value)) throw new CatalogueError(`${where}: the line must be a JSON object`);
  const { name, description, links } = value;
  if (typeof name !== 'string' || name.trim() === '')
    throw new CatalogueError(`${where}: name must be a text that is not empty`);
  if (description !== undefined && description !== null && typeof description !== 'string')
    throw new CatalogueError(`${where}: description must be a text`);
  if (links !== undefined && links !== null && !isObject(links))
    throw new CatalogueError(`${where}: links must be an object`);

  const members = allMembers(line);
  const facts = new Map<string, string>();
  const sources = new Map<string, string>();
  for (const [member, raw] of members) {
    if (member === 'enrich_fields')
      for (const [field, answer] of allMembers(raw)) {
        const parts = new Map(allMembers(answer));
        addFact(facts, field, parts.get('content') ?? 'null');
        const source = JSON.parse(parts.get('reference') ?? 'null');
        if (typeof source === 'string') sources.set(field, source);
      }
    else if (member === 'facts') for (const [field, fact] of allMembers(raw)) addFact(facts, field, fact);
    else if (!withheld.has(member) && !['name', 'description', 'links'].includes(member))
      addFact(facts, member, raw);
  }
  const contact = isObject(value.contact) ? value.contact : value;
  return {
    entityType: toEntityType(value.entity_type, where),
    name,
    description: description ?? '',
    links: textsOf((links as Record<string, unknown> | null) ?? {}),
    // A carriage return between two values of it would end a line of the event stream.
    record: objectOf(members.filter(([member]) => !withheld.has(member))).replaceAll('\r', ''),
    facts,
    sources,
    email: textOrNull(contact.email),
    phone: textOrNull(contact.phone),
  };
}

/** Texts and numbers are facts, the latter as they were written; nested values are not. */
function addFact(facts: Map<string, string>, name: string, raw: string): void {
  if (raw.startsWith('"')) facts.set(name, JSON.parse(raw) as string);
  else if (/^[-\dtf]/.test(raw)) facts.set(name, raw);
}

function* fromCsv(path: string, text: string): Generator<CatalogueRecord> {
  const rows = csvRowsOf(
    parse,
    text,
    delimiterOf(firstLineOf(text), (cell) => cell === 'name'),
  );
  const columns = (rows[0]?.cells ?? []).map((column) => unguarded(column.trim()));
  const enriched = enrichedColumns(columns);
  for (const [number, { cells, line, flaw }] of rows.entries()) {
    const tooMany = `has ${cells.length} cells, but the header has ${columns.length}`;
    const why = flaw ?? (cells.length > columns.length ? tooMany : undefined);
    if (why !== undefined) throw new CatalogueError(`${path}:${line}: the line ${why}`);
    if (number === 0) continue;
    const row = new Map(columns.map((column, index) => [column, unguarded(cells[index] ?? '')]));
    yield fromCsvRow(row, enriched, `${path}:${line}`);
  }
}

function firstLineOf(text: string): string {
  return /^\s*([^\n\r]*)/.exec(text)?.[1] ?? '';
}

interface EnrichedColumn {
  readonly field: string;
  readonly reference: string;
}

/** A search's own CSV has two columns for an enrich field, with a prefix where the name was taken already. */
function enrichedColumns(columns: readonly string[]): Map<string, EnrichedColumn> {
  const enriched = new Map<string, EnrichedColumn>();
  for (const reference of columns) {
    const field = /^(?:enrich_fields\.)*(.+)_reference$/.exec(reference)?.[1];
    if (field === undefined) continue;
    const column = [`enrich_fields.${field}`, field].find((one) => columns.includes(one));
    if (column !== undefined) enriched.set(column, { field, reference });
  }
  return enriched;
}

/** Neither links nor facts; the search makes its own score. */
const otherColumns = ['name', 'description', 'entity_type', 'email', 'phone', 'score', 'score_reason'];

function fromCsvRow(
  row: ReadonlyMap<string, string>,
  enriched: ReadonlyMap<string, EnrichedColumn>,
  where: string,
): CatalogueRecord {
  const name = row.get('name')?.trim();
  if (name === undefined) throw new CatalogueError(`${where}: the file has no column "name"`);
  if (name === '') throw new CatalogueError(`${where}: the name is empty`);
  // All links as one JSON object; `website` and `linkedin_url` beside it are there for reading.
  const written = jsonObjectOf(row.get('links') ?? '');
  const rawLinks = new Map(written === undefined ? [] : allMembers(written));
  const facts = new Map<string, string>();
  const sources = new Map<string, string>();
  const done = new Set([...otherColumns, ...[...enriched.values()].map(({ reference }) => reference)]);
  if (written !== undefined) done.add('links');
  for (const [column, value] of row) {
    if (value === '' || done.has(column)) continue;
    const { field, reference } = enriched.get(column) ?? {};
    if (field !== undefined && reference !== undefined) {
      facts.set(field, value);
      sources.set(field, row.get(reference) ?? '');
    } else if (!isLinkColumn(column) && !/^https?:\/\//i.test(value)) facts.set(column, value);
    else if (!rawLinks.has(column)) rawLinks.set(column, JSON.stringify(value));
  }
  const description = row.get('description') ?? '';
  const links = objectOf(rawLinks).replaceAll('\r', '');
  return {
    entityType: toEntityType(row.get('entity_type') || undefined, where),
    name,
    description,
    links: textsOf(JSON.parse(links)),
    record: objectOf([
      ['name', JSON.stringify(name)],
      ['links', links],
      ['description', JSON.stringify(description)],
    ]),
    facts,
    sources,
    email: textOrNull(row.get('email')),
    phone: textOrNull(row.get('phone')),
  };
}

function jsonObjectOf(text: string): string | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

function isLinkColumn(column: string): boolean {
  return /^website$|url$|(^|_)link$/i.test(column);
}

function toEntityType(value: unknown, where: string): EntityType | null {
  if (value === undefined || value === null) return null;
  const known = entityTypes.find((type) => type === value);
  if (known === undefined)
    throw new CatalogueError(
      `${where}: entity_type is ${JSON.stringify(value)}, but must be one of ${entityTypes.join(', ')}`,
    );
  return known;
}

function textsOf(values: Readonly<Record<string, unknown>>): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(values))
    if (typeof value === 'string' || typeof value === 'number') texts.set(name, String(value));
  return texts;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
