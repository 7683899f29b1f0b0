import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { entityTypes } from '../contract/types.ts';
import { reasonOf } from '../files/write-failure.ts';
import { isObject } from '../json/object.ts';
import { allMembers, type JsonText, objectOf, stringOf } from '../json/text.ts';
import { FileError, invalid, nullable, object, oneOf, readFields, text } from './fields.ts';
import type { NewLead } from './lead.ts';

/** The source of the leads of an index. */
export interface CatalogueSource {
  readonly of: 'catalogue' | 'demonstration';
  /** The kind of source, and its bytes. The index is built again when either has changed. */
  readonly kind: string;
  readonly content: Uint8Array;
  /** Whether it is the whole catalogue, not the leads of one type. */
  readonly isWhole: boolean;
  readonly leads: () => Iterable<FoundLead> | AsyncIterable<FoundLead>;
  /** The lead at this place of the catalogue, from 1; `text` is what the index stores of it. */
  readonly read: (place: number, text: string) => NewLead;
}

/** A lead, and the text that the index stores of it. */
export interface FoundLead {
  readonly lead: IndexedLead;
  readonly text: string;
}

/** The searched part of a lead. */
export type IndexedLead = Pick<NewLead, 'entityType' | 'name' | 'description' | 'links' | 'facts'>;

/**
 * The user's own leads, in any format that a list can have. Calls `tell` with warnings about the file. Throws FileError, and UsageError while the
 * leads are read.
 */
export function readCatalogueFile(
  path: string,
  tell: (line: string) => void,
  columns?: LeadColumns,
): CatalogueSource {
  try {
    const kind = extname(path).toLowerCase();
    const content = readFileSync(path);
    const leads = () => leadsOf(path, kind, content, tell, columns);
    return { of: 'catalogue', kind, content, isWhole: true, leads, read: (_, text) => JSON.parse(text) };
  } catch (error) {
    throw new FileError(`can't read ${path}: ${reasonOf(error)}`);
  }
}

async function* leadsOf(
  path: string,
  extension: string,
  content: Uint8Array,
  tell: (line: string) => void,
  { isKnown, hasName, nameOf }: LeadColumns = nameAlone,
): AsyncGenerator<FoundLead> {
  const reading = { extension, field: 'name', wanted: ['name'], isKnown, what: path, path };
  // An index is read in place of the file from the second time on.
  const { openFileRecords } = await import('../files/file-records.ts');
  const { columns, rows, note, warnings = [], noteAtEnd } = await openFileRecords(piecesOf(content), reading);
  for (const line of [...(note === undefined ? [] : [note]), ...warnings]) tell(line);
  if (columns !== undefined && columns.length > 0 && !hasName(columns)) {
    throw new FileError(`${path}: the file has no column "name": its columns are ${columns.join(', ')}`);
  }
  let count = 0;
  for await (const { line, isRow, record, flaw } of rows) {
    if (record === undefined || flaw !== undefined)
      throw new FileError(`${path}:${line}: the ${isRow ? 'row' : 'line'} ${flaw}`);
    count += 1;
    const json = withName(record, nameOf);
    try {
      const lead = toLead(columns === undefined ? json : toJson(json));
      yield { lead, text: JSON.stringify(lead) };
    } catch (error) {
      throw new FileError(`${path}:${line}: ${(error as Error).message}`);
    }
  }
  const left = noteAtEnd?.();
  if (left !== undefined) tell(left);
  if (count === 0) throw new FileError(`${path} contains no leads`);
}

/** The meanings of the columns of the user's file. */
export interface LeadColumns {
  /** Whether a column of this name is known. */
  readonly isKnown: (name: string) => boolean;
  /** Whether one of these columns holds the name of a lead. */
  readonly hasName: (columns: readonly string[]) => boolean;
  /** The name of a lead; undefined if no column has it. */
  readonly nameOf: (record: JsonText) => string | undefined;
}

const nameAlone: LeadColumns = {
  isKnown: () => false,
  hasName: (columns) => columns.includes('name'),
  nameOf: () => undefined,
};

/** The record with a member `name`, taken from another column if it has none. */
function withName(record: JsonText, nameOf: LeadColumns['nameOf']): JsonText {
  const members = allMembers(record);
  const name = members.some(([member]) => member === 'name') ? undefined : nameOf(record);
  if (name === undefined) return record;
  return objectOf([
    ['name', JSON.stringify(name)],
    ...members.filter(([member]) => member.toLowerCase() !== 'name'),
  ]);
}

/** Size of a piece, in bytes. */
const pieceLength = 1 << 16;

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceLength) yield bytes.subarray(at, at + pieceLength);
}

/** Members that a search does not return: it makes them itself, or they are private, or they are the position in an earlier search. */
const withheld = ['score', 'enrich_fields', 'entity_type', 'facts', 'contact', 'email', 'phone'];
withheld.push('leads_search_id', 'position');
const notFacts = [...withheld, 'name', 'description', 'links'];

const leadFields = {
  name: text({ unit: 'characters', min: 1, max: 10_000, trimmed: true }),
  description: nullable(text({ unit: 'characters', min: 0, max: 1_000_000 }), ''),
  entity_type: nullable(oneOf(entityTypes), null),
  links: nullable(object, {}),
};

function toLead(json: string): NewLead {
  const value = parsed(json);
  if (!isObject(value)) throw invalid('the line must be a JSON object');
  const { name, description, entity_type: entityType } = readFields(value, leadFields, 'open');
  const members = allMembers(json);
  const raw = new Map(members);
  const except = (names: readonly string[]) =>
    objectOf(members.filter(([member]) => !names.includes(member)));
  const facts = new Map([...scalarsOf(except(notFacts)), ...scalarsOf(raw.get('facts'))]);
  const sources = new Map<string, string>();
  for (const [field, answer] of allMembers(raw.get('enrich_fields') ?? '')) {
    const { content, reference } = Object.fromEntries(scalarsOf(answer));
    if (content !== undefined) facts.set(field, content);
    if (reference !== undefined) sources.set(field, reference);
  }
  const contact = scalarsOf(isObject(value.contact) ? raw.get('contact') : json);
  return {
    ...{ entityType, name, description, facts: [...facts], sources: [...sources] },
    links: [...scalarsOf(raw.get('links'))],
    // A carriage return between two values would end a line of the event stream.
    record: except(withheld).replaceAll('\r', ''),
    email: contact.get('email')?.trim() || null,
    phone: contact.get('phone')?.trim() || null,
  };
}

/** The texts and numbers of an object, numbers as they were written. Leaves out nested values. */
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

/** Columns that become no facts or links. The search makes its own score. */
const ownColumns = ['name', 'description', 'entity_type', 'email', 'phone', 'score', 'score_reason'];

/** A record with columns as a lead. */
function toJson(record: JsonText): JsonText {
  const row = new Map(allMembers(record).map(([name, text]) => [name, stringOf(text) ?? '']));
  const left = new Map([...row].filter(([column, value]) => value !== '' && !ownColumns.includes(column)));
  // Enriched fields: the CSV of a search has two columns for each, with a prefix if the name was taken.
  const enriched: [string, string][] = [];
  for (const column of row.keys()) {
    const field = /^(?:enrich_fields\.)*(.+)_reference$/.exec(column)?.[1] ?? '';
    const answer = [`enrich_fields.${field}`, field].find((one) => row.has(one));
    if (answer === undefined) continue;
    const [content, reference] = [left.get(answer), row.get(column)];
    if (content !== undefined) enriched.push([field, JSON.stringify({ content, reference })]);
    left.delete(answer);
    left.delete(column);
  }
  // The column `links` has all links as one JSON object; `website` and `linkedin_url` repeat two of them for readers.
  const written = left.get('links') ?? '';
  const isWritten = isObject(parsed(written));
  if (isWritten) left.delete('links');
  const links = new Map(isWritten ? allMembers(written) : []);
  const facts: [string, string][] = [];
  for (const [column, value] of left) {
    const isLink = /^website$|url$|(^|_)link$/i.test(column) || /^https?:\/\//i.test(value);
    if (!isLink) facts.push([column, JSON.stringify(value)]);
    else if (!links.has(column)) links.set(column, JSON.stringify(value));
  }
  const cell = (column: string) => [column, JSON.stringify(row.get(column)?.trim() || null)] as const;
  return objectOf([
    cell('name'),
    ['links', objectOf(links)],
    ['description', JSON.stringify(row.get('description') ?? '')],
    ...['entity_type', 'email', 'phone'].map(cell),
    ['facts', objectOf(facts)],
    ['enrich_fields', objectOf(enriched)],
  ]);
}
