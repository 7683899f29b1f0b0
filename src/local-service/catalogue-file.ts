import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { type EntityType, entityTypes } from '../contract/types.ts';
import type { CatalogueEntity } from './catalogue-entity.ts';
import { rawMembers, rawObject } from './raw-json.ts';

/** A lead as the catalogue keeps it: `record` is what a search returns, byte for byte, without its score. */
export interface CatalogueRecord {
  /** Absent: found under every type. */
  readonly entityType: EntityType | undefined;
  readonly name: string;
  readonly description: string;
  readonly links: Readonly<Record<string, string>>;
  readonly record: string;
  /** By name; numbers as they were written. */
  readonly facts: Readonly<Record<string, string>>;
  readonly email: string | null;
  readonly phone: string | null;
}

/** Thrown for a catalogue file that can't be used; the message names the file and the line. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

export function fromEntity({ entity_type, entity, facts, contact }: CatalogueEntity): CatalogueRecord {
  return {
    entityType: entity_type,
    name: entity.name,
    description: entity.description ?? '',
    links: textsOf(entity.links ?? {}),
    record: JSON.stringify(entity),
    facts: textsOf(facts),
    email: contact.email,
    phone: contact.phone,
  };
}

/** Reads the user's own leads: .jsonl or .ndjson, else CSV with a header. Throws CatalogueError. */
export function readCatalogueFile(path: string): { content: Buffer; records: () => CatalogueRecord[] } {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw new CatalogueError(`${path} can't be read: ${(error as NodeJS.ErrnoException).code ?? error}`);
  }
  const kind = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase();
  if (kind !== 'jsonl' && kind !== 'ndjson' && kind !== 'csv')
    throw new CatalogueError(`${path} is neither .jsonl, .ndjson nor .csv`);
  return {
    content,
    records() {
      const text = decode(path, content);
      const records = kind === 'csv' ? fromCsv(path, text) : fromJsonLines(path, text);
      if (records.length === 0) throw new CatalogueError(`${path} holds no leads`);
      return records;
    },
  };
}

function decode(path: string, content: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw new CatalogueError(`${path} is not UTF-8 text`);
  }
}

function fromJsonLines(path: string, text: string): CatalogueRecord[] {
  const records: CatalogueRecord[] = [];
  text.split('\n').forEach((line, index) => {
    if (line.trim() !== '') records.push(fromJson(line.trim(), `${path}:${index + 1}`));
  });
  return records;
}

/** Members that are not part of what a search returns: the search makes its own, or they are private. */
const withheld = new Set(['score', 'enrich_fields', 'entity_type', 'facts', 'contact', 'email', 'phone']);

function fromJson(line: string, where: string): CatalogueRecord {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line);
  } catch {
    throw new CatalogueError(`${where}: this is not valid JSON`);
  }
  if (!isObject(value)) throw new CatalogueError(`${where}: a lead is a JSON object`);
  const { name, description, links } = value;
  if (typeof name !== 'string' || name.trim() === '')
    throw new CatalogueError(`${where}: name is missing or not a text`);
  if (description !== undefined && description !== null && typeof description !== 'string')
    throw new CatalogueError(`${where}: description is not a text`);
  if (links !== undefined && links !== null && !isObject(links))
    throw new CatalogueError(`${where}: links is not an object`);

  const members = rawMembers(line);
  const facts: Record<string, string> = {};
  for (const [member, raw] of members) {
    if (member === 'enrich_fields')
      for (const [field, answer] of nestedMembers(raw)) {
        const content = nestedMembers(answer).find(([part]) => part === 'content')?.[1];
        addFact(facts, field, content ?? 'null');
      }
    else if (member === 'facts') for (const [field, fact] of nestedMembers(raw)) addFact(facts, field, fact);
    else if (!withheld.has(member) && !['name', 'description', 'links'].includes(member))
      addFact(facts, member, raw);
  }
  const contact = isObject(value.contact) ? value.contact : value;
  return {
    entityType: toEntityType(value.entity_type, where),
    name,
    description: description ?? '',
    links: textsOf((links as Record<string, unknown> | null) ?? {}),
    record: rawObject(members.filter(([member]) => !withheld.has(member))),
    facts,
    email: textOrNull(contact.email),
    phone: textOrNull(contact.phone),
  };
}

function nestedMembers(raw: string): [string, string][] {
  return raw.startsWith('{') ? rawMembers(raw) : [];
}

/** Texts and numbers are facts, the latter as they were written; nested values are not. */
function addFact(facts: Record<string, string>, name: string, raw: string): void {
  if (raw.startsWith('"')) facts[name] = JSON.parse(raw) as string;
  else if (/^[-\dtf]/.test(raw)) facts[name] = raw;
}

function fromCsv(path: string, text: string): CatalogueRecord[] {
  let rows: { record: Record<string, string>; info: { lines: number } }[];
  try {
    rows = parse(text, {
      bom: true,
      columns: (header: string[]) => header.map((column) => column.trim()),
      info: true,
      relax_column_count_less: true,
      skip_empty_lines: true,
    }) as unknown as typeof rows;
  } catch (error) {
    const { message, lines } = error as Error & { lines?: number };
    throw new CatalogueError(`${path}:${lines ?? 1}: ${message}`);
  }
  return rows.map(({ record, info }) => fromCsvRow(record, `${path}:${info.lines}`));
}

function fromCsvRow(row: Record<string, string>, where: string): CatalogueRecord {
  const name = row.name?.trim();
  if (name === undefined) throw new CatalogueError(`${where}: there is no column called name`);
  if (name === '') throw new CatalogueError(`${where}: the name is empty`);
  const links: Record<string, string> = {};
  const facts: Record<string, string> = {};
  for (const [column, value] of Object.entries(row)) {
    if (value === '' || ['name', 'description', 'entity_type', 'email', 'phone'].includes(column)) continue;
    if (isLinkColumn(column) || /^https?:\/\//i.test(value)) links[column] = value;
    else if (column !== 'score' && column !== 'score_reason') facts[column] = value;
  }
  const description = row.description ?? '';
  return {
    entityType: toEntityType(row.entity_type || undefined, where),
    name,
    description,
    links,
    record: JSON.stringify({ name, links, description }),
    facts,
    email: textOrNull(row.email),
    phone: textOrNull(row.phone),
  };
}

function isLinkColumn(column: string): boolean {
  return /^website$|url$|(^|_)link$/i.test(column);
}

function toEntityType(value: unknown, where: string): EntityType | undefined {
  if (value === undefined || value === null) return undefined;
  const known = entityTypes.find((type) => type === value);
  if (known === undefined)
    throw new CatalogueError(
      `${where}: entity_type is ${JSON.stringify(value)}, not one of ${entityTypes.join(', ')}`,
    );
  return known;
}

function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(values))
    if (typeof value === 'string' || typeof value === 'number') texts[name] = String(value);
  return texts;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
