import { readFileSync } from 'node:fs';
import { entityTypes } from '../contract/types.ts';
import { delimiterOf, readCsv } from '../files/csv.ts';
import { unguarded } from '../files/csv-guard.ts';
import { decodeText } from '../files/decoded.ts';
import { reasonOf } from '../files/write-failure.ts';
import { isObject } from '../json/object.ts';
import { allMembers, objectOf, piecesOf } from '../json/text.ts';
import { FileError, invalid, nullable, object, oneOf, readFields, text } from './fields.ts';
import type { NewLead } from './lead.ts';

/** A catalogue as it is stored: its kind, its bytes, and its text. */
export type CatalogueFile = ReturnType<typeof readCatalogueFile>;

/** The user's own leads: .jsonl, .ndjson, or .csv with a header. Throws FileError, UsageError. */
export function readCatalogueFile(path: string) {
  const [, kind = ''] = /\.(jsonl|ndjson|csv)$/i.exec(path.toLowerCase()) ?? [];
  if (kind === '') throw new FileError(`the name of ${path} must end in .jsonl, .ndjson or .csv`);
  try {
    const content = readFileSync(path);
    return { path, kind, content, text: () => decodeText(content, path) };
  } catch (error) {
    throw new FileError(`can't read ${path}: ${reasonOf(error)}`);
  }
}

export async function* leadsOf({ path, kind, text }: CatalogueFile): AsyncGenerator<NewLead> {
  let count = 0;
  for await (const [line, json] of kind === 'csv' ? csvLines(path, text()) : jsonLines(text())) {
    try {
      yield toLead(json);
    } catch (error) {
      throw new FileError(`${path}:${line}: ${(error as Error).message}`);
    }
    count += 1;
  }
  if (count === 0) throw new FileError(`${path} contains no leads`);
}

type Line = readonly [number: number, json: string];

function* jsonLines(text: string): Generator<Line> {
  for (const [index, line] of text.split('\n').entries())
    if (line.trim() !== '') yield [index + 1, line.trim()];
}

/** Members that a search does not return: it makes its own, they are private, or they give the position in an earlier search. */
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

/** How many characters are parsed as CSV at once. */
const pieceLength = 1 << 16;

/** Each row as a line of JSON. */
async function* csvLines(path: string, text: string): AsyncGenerator<Line> {
  const [header = ''] = /^[^\n\r]*/.exec(text.trimStart()) ?? [];
  const delimiter = delimiterOf(header, (cell) => cell === 'name');
  const flawed = (line: number, flaw: string) => new FileError(`${path}:${line}: the line ${flaw}`);
  let columns: readonly string[] = [];
  for await (const { cells, line, flaw } of readCsv(piecesOf(text, pieceLength), delimiter)) {
    if (flaw !== undefined) throw flawed(line, flaw);
    if (columns.length === 0) {
      columns = cells.map((column) => unguarded(column.trim()));
      if (!columns.includes('name')) break;
    } else if (cells.length > columns.length)
      throw flawed(line, `has ${cells.length} cells, but the header has ${columns.length}`);
    else yield [line, toJson(new Map(columns.map((column, at) => [column, unguarded(cells[at] ?? '')])))];
  }
  if (!columns.includes('name')) throw new FileError(`${path}: the file has no column "name"`);
}

/** The search makes its own score. */
const ownColumns = ['name', 'description', 'entity_type', 'email', 'phone', 'score', 'score_reason'];

function toJson(row: ReadonlyMap<string, string>): string {
  const left = new Map([...row].filter(([column, value]) => value !== '' && !ownColumns.includes(column)));
  // The columns of enriched fields: the CSV of a search has two for each, with a prefix where the name is taken.
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
  // All links as one JSON object. `website` and `linkedin_url` are repeated beside it for people.
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
