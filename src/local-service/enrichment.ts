import { limits } from '../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { type Schema, sizeOfSchema } from '../json/schema-size.ts';
import { invalid } from './fields.ts';
import { answersOf, bareName, type Lead } from './lead.ts';
import { numberIn } from './objective.ts';

/** Checks `enrich_fields` of Enrich: a JSON Schema of limited size, depth and number of properties. */
export function toSchema(value: unknown, source: string): Schema {
  const refuse = (message: string) => invalid(`enrich_fields ${message}`);
  if (!isObject(value)) throw refuse('is required and must be a JSON Schema object');
  if (value.type !== 'object') throw refuse('must have "type": "object" at its root');
  if (!isObject(value.properties) || Object.keys(value.properties).length === 0)
    throw refuse('must have at least one entry in "properties" at its root');
  const { levels, properties } = sizeOfSchema(value);
  for (const [size, { unit, max }] of [
    [Buffer.byteLength(source), limits.enrichSchema],
    [levels, limits.enrichSchemaDepth],
    [properties, limits.enrichSchemaProperties],
  ] as const)
    if (size > max) throw refuse(`must have at most ${max} ${unit}, not ${size}`);
  return value;
}

/** Returns the known value of a property. */
type Source = (property: string) => string | undefined;

/** Fills a schema from a lead of the catalogue and the given context; undefined when nothing is known. */
export function fillSchema(schema: Schema, context: string, lead: Lead | undefined): object | undefined {
  const given = readContext(context);
  const answerOf = lead === undefined ? undefined : answersOf(lead);
  return fillObject(schema, (property) => given.get(bareName(property)) ?? answerOf?.(property)?.text);
}

/** An unknown property is null if that is allowed, else an empty text if it is required, else absent. */
function fillObject({ properties, required }: Schema, source: Source): object | undefined {
  if (!isObject(properties)) return undefined;
  const filled = Object.entries(properties).flatMap(([property, part]) => {
    const isText = isObject(part) && part.type === 'string' && part.enum === undefined;
    const isRequired = Array.isArray(required) && required.includes(property);
    const otherwise = mayBeNull(part) ? null : isText && isRequired ? '' : undefined;
    const value = fill(property, part, source) ?? otherwise;
    return value === undefined ? [] : [[property, value] as const];
  });
  const isEmpty = filled.every(([, value]) => value === null || value === '');
  return isEmpty ? undefined : Object.fromEntries(filled);
}

function mayBeNull(schema: unknown): boolean {
  if (!isObject(schema)) return schema !== false;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  return schema.type === undefined || [schema.type].flat().includes('null');
}

function fill(property: string, schema: unknown, source: Source): unknown {
  if (!isObject(schema)) return source(property);
  const types = [schema.type].flat();
  if (types.includes('object')) return fillObject(schema, source);
  const known = source(property);
  if (known === undefined || !types.includes('array'))
    return known === undefined ? known : toType(known, schema);
  const items = known.split(/[;|]|,(?=\s)/).map((item) => item.trim());
  const kind = isObject(schema.items) ? schema.items : {};
  return items.filter(Boolean).flatMap((item) => toType(item, kind) ?? []);
}

function toType(text: string, schema: Schema): unknown {
  if (Array.isArray(schema.enum)) {
    const name = bareName(text);
    // Objects are left out: one may have its own toString.
    const scalars = schema.enum.filter((value) => typeof value !== 'object');
    return scalars.find((value) => bareName(String(value)) === name);
  }
  const types = [schema.type].flat();
  if (types.includes('string') || types[0] === undefined) return text;
  if (types.includes('integer') || types.includes('number')) {
    const number = numberIn(text);
    return number === undefined || types.includes('number') ? number : Math.round(number);
  }
  const isBoolean = types.includes('boolean') && /^(true|yes|false|no)$/i.test(text);
  return isBoolean ? /^(true|yes)$/i.test(text) : undefined;
}

/** The values in the context: JSON members, or lines like `City: Berlin`. */
function readContext(context: string): Map<string, string> {
  const stated = new Map<string, string>();
  const note = (name: string, value: unknown): void => {
    if (isObject(value)) for (const [inner, part] of Object.entries(value)) note(inner, part);
    else if (value !== '' && ['string', 'number', 'boolean'].includes(typeof value))
      stated.set(bareName(name), String(value));
  };
  try {
    note('', JSON.parse(context));
  } catch {
    for (const line of context.split('\n')) for (const [name, value] of pairsOf(line)) note(name, value);
  }
  // The look-behind avoids a retry at each character of a long word without an @.
  const email = /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(context)?.[0];
  if (email !== undefined && !stated.has('email')) stated.set('email', email);
  return stated;
}

/** `City: Berlin`, or several in one line. A value ends at the next name. */
function pairsOf(line: string): [name: string, value: string][] {
  const names = [...line.matchAll(/(?:^|[;,])\s*(\p{L}[\p{L}\p{N} _-]{0,40}):\s/gu)];
  return names.map((match, index) => {
    const value = line.slice(match.index + match[0].length, names[index + 1]?.index);
    return [match[1] ?? '', value.trim()];
  });
}
