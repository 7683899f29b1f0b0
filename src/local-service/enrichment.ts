import { isObject } from '../json/object.ts';
import type { Schema } from '../json/schema-size.ts';
import { numberIn } from './conditions.ts';
import { answersOf, type Lead } from './lead.ts';

/** What may be known under the name of a property. */
type Source = (property: string) => string | undefined;

/** Fills a schema from a lead of the catalogue and the given context; undefined when nothing is known. */
export function fillSchema(
  schema: Schema,
  context: string,
  lead: Lead | undefined,
): Record<string, unknown> | undefined {
  const given = readContext(context);
  const answerOf = lead === undefined ? undefined : answersOf(lead);
  const source: Source = (property) => given.get(plain(property)) ?? answerOf?.(property)?.text;
  const filled = fillObject(schema, source);
  return Object.values(filled).every((value) => value === null) ? undefined : filled;
}

/** Every property of the schema is there, null where nothing is known. */
function fillObject(schema: Schema, source: Source): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  if (!isObject(schema.properties)) return filled;
  // A property may be called anything, `__proto__` too.
  for (const [property, part] of Object.entries(schema.properties))
    Object.defineProperty(filled, property, { value: fill(property, part, source), enumerable: true });
  return filled;
}

function fill(property: string, schema: unknown, source: Source): unknown {
  if (!isObject(schema)) return source(property) ?? null;
  const types = [schema.type].flat();
  if (types.includes('object')) {
    const nested = fillObject(schema, source);
    return Object.values(nested).some((value) => value !== null) ? nested : null;
  }
  const known = source(property);
  if (known === undefined) return null;
  if (types.includes('array')) {
    const items = known.split(/[;|]|,(?=\s)/).map((item) => item.trim());
    return items
      .filter(Boolean)
      .map((item) => toType(item, isObject(schema.items) ? schema.items : {}))
      .filter((item) => item !== null);
  }
  return toType(known, schema);
}

function toType(text: string, schema: Schema): unknown {
  if (Array.isArray(schema.enum)) {
    const asked = plain(text);
    return schema.enum.find((value) => isScalar(value) && plain(String(value)) === asked) ?? null;
  }
  const types = [schema.type].flat();
  if (types.includes('string') || types[0] === undefined) return text;
  if (types.includes('integer') || types.includes('number')) {
    const number = numberIn(text);
    if (number === undefined) return null;
    return types.includes('number') ? number : Math.round(number);
  }
  if (types.includes('boolean'))
    return /^(true|yes)$/i.test(text) ? true : /^(false|no)$/i.test(text) ? false : null;
  return null;
}

/** An object may have a toString of its own. */
function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** What the context says in so many words: JSON members, or lines like `City: Berlin`. */
function readContext(context: string): Map<string, string> {
  const said = new Map<string, string>();
  const note = (name: string, value: unknown) => {
    if (
      (typeof value === 'string' && value !== '') ||
      typeof value === 'number' ||
      typeof value === 'boolean'
    )
      said.set(plain(name), String(value));
    else if (isObject(value)) for (const [inner, part] of Object.entries(value)) note(inner, part);
  };
  try {
    note('', JSON.parse(context));
  } catch {
    for (const line of context.split('\n')) for (const [name, value] of pairsOf(line)) note(name, value);
  }
  // The look-behind keeps a long word without an @ from being tried at each of its characters.
  const email = /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(context)?.[0];
  if (email !== undefined && !said.has('email')) said.set('email', email);
  return said;
}

/** `City: Berlin`, or several of them in a line; a value goes on until the next name. */
function pairsOf(line: string): [name: string, value: string][] {
  const names = [...line.matchAll(/(?:^|[;,])\s*(\p{L}[\p{L}\p{N} _-]{0,40}):\s/gu)];
  return names.map((match, index) => {
    const value = line.slice(match.index + match[0].length, names[index + 1]?.index);
    return [match[1] ?? '', value.trim()];
  });
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
