import { limits } from '../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { type Schema, sizeOfSchema } from '../json/schema-size.ts';
import { invalid } from './answer.ts';
import { numberIn } from './conditions.ts';
import { answersOf, bareName, type Lead } from './lead.ts';

/** The rules for `enrich_fields` of Enrich: a JSON Schema of limited size, depth and number of properties. */
// rule: enrich.schema, enrich.schema-size
export function toSchema(value: unknown, source: string): Schema {
  if (!isObject(value)) throw invalid('enrich_fields is required and must be a JSON Schema object');
  const bytes = Buffer.byteLength(source);
  if (bytes > limits.enrichSchema.max)
    throw invalid(`enrich_fields must have at most ${limits.enrichSchema.max} bytes, not ${bytes}`);
  if (value.type !== 'object') throw invalid('the root of enrich_fields must have "type": "object"');
  if (!isObject(value.properties) || Object.keys(value.properties).length === 0)
    throw invalid('the root of enrich_fields must have at least one entry in "properties"');
  const { levels, properties } = sizeOfSchema(value);
  if (levels > limits.enrichSchemaDepth.max)
    throw invalid(`enrich_fields must have at most ${limits.enrichSchemaDepth.max} levels of nesting`);
  if (properties > limits.enrichSchemaProperties.max)
    throw invalid(
      `enrich_fields must have at most ${limits.enrichSchemaProperties.max} properties, not ${properties}`,
    );
  return value;
}

/** What may be known under the name of a property. */
type Source = (property: string) => string | undefined;

/** Fills a schema from a lead of the catalogue and the given context; undefined when nothing is known. */
// rule: enrich.answer
export function fillSchema(
  schema: Schema,
  context: string,
  lead: Lead | undefined,
): Record<string, unknown> | undefined {
  const given = readContext(context);
  const answerOf = lead === undefined ? undefined : answersOf(lead);
  const source: Source = (property) => given.get(bareName(property)) ?? answerOf?.(property)?.text;
  const filled = fillObject(schema, source);
  return isEmpty(filled) ? undefined : filled;
}

function isEmpty(filled: object): boolean {
  return Object.values(filled).every((value) => value === null || value === '');
}

/** What nothing is known of is null where it may be, else an empty text where there must be one, else absent. */
function fillObject(schema: Schema, source: Source): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  if (!isObject(schema.properties)) return filled;
  for (const [property, part] of Object.entries(schema.properties)) {
    const isText = isObject(part) && part.type === 'string' && part.enum === undefined;
    const isRequired = Array.isArray(schema.required) && schema.required.includes(property);
    const otherwise = mayBeNull(part) ? null : isText && isRequired ? '' : undefined;
    const value = fill(property, part, source) ?? otherwise;
    // A property may be called anything, `__proto__` too.
    if (value !== undefined) Object.defineProperty(filled, property, { value, enumerable: true });
  }
  return filled;
}

function mayBeNull(schema: unknown): boolean {
  if (!isObject(schema)) return schema !== false;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  return schema.type === undefined || [schema.type].flat().includes('null');
}

function fill(property: string, schema: unknown, source: Source): unknown {
  if (!isObject(schema)) return source(property);
  const types = [schema.type].flat();
  if (types.includes('object')) {
    const nested = fillObject(schema, source);
    return isEmpty(nested) ? undefined : nested;
  }
  const known = source(property);
  if (known === undefined || !types.includes('array'))
    return known === undefined ? known : toType(known, schema);
  return known
    .split(/[;|]|,(?=\s)/)
    .map((item) => item.trim())
    .filter(Boolean)
    .map((item) => toType(item, isObject(schema.items) ? schema.items : {}))
    .filter((item) => item !== undefined);
}

function toType(text: string, schema: Schema): unknown {
  if (Array.isArray(schema.enum)) {
    const asked = bareName(text);
    return schema.enum.find((value) => isScalar(value) && bareName(String(value)) === asked);
  }
  const types = [schema.type].flat();
  if (types.includes('string') || types[0] === undefined) return text;
  if (types.includes('integer') || types.includes('number')) {
    const number = numberIn(text);
    return number === undefined || types.includes('number') ? number : Math.round(number);
  }
  if (!types.includes('boolean')) return undefined;
  return /^(true|yes)$/i.test(text) ? true : /^(false|no)$/i.test(text) ? false : undefined;
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
      said.set(bareName(name), String(value));
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
