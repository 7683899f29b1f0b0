import { limits } from '../contract/limits.ts';
import type { EnrichRequest } from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { isExact } from '../json/number.ts';
import { isObject } from '../json/object.ts';
import { sizeOfSchema } from '../json/schema-size.ts';
import { clip } from './closed-list.ts';
import { checkSize } from './within-limits.ts';

/** The `enrich_fields` of Enrich: a JSON Schema whose root is an object with properties. */
export type EnrichSchema = EnrichRequest['enrich_fields'];

const fieldTypes = ['string', 'number', 'integer', 'boolean'] as const;
const fieldForm = 'name, name:type or name:type=description';

/**
 * Pure: the schema of fields like `headcount:integer=number of employees`, or of several with commas between them: `headcount:integer,city`.
 * `given` is the word for a field in messages. Throws UsageError.
 */
export function toFieldSchema(fields: readonly string[], given: string): EnrichSchema {
  const properties = new Map<string, EnrichSchema>();
  for (const field of fields.flatMap(toFields)) {
    const [name, property] = toProperty(field, given);
    if (properties.has(name)) throw new UsageError(`${given} ${name} is given twice`);
    properties.set(name, property);
  }
  // Made from entries, because a field may be called __proto__.
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** Splits at commas. The text after the first = is the description of the last field, with its commas. */
function toFields(given: string): string[] {
  const [names = '', ...description] = given.split(/(?==)/);
  const fields = names.split(',');
  return fields.with(-1, [fields.at(-1), ...description].join(''));
}

function toProperty(field: string, given: string): [name: string, property: EnrichSchema] {
  const [, name = '', type = 'string', description = ''] =
    /^\s*([^:=]*?)\s*(?::\s*([^=]*?)\s*)?(?:=\s*(.*?)\s*)?$/s.exec(field) ?? [];
  if (name === '') throw new UsageError(`${given} has no name: write ${fieldForm}`);
  const isList = type.endsWith('[]');
  const plain = isList ? type.slice(0, -2) : type;
  if (!fieldTypes.some((one) => one === plain)) {
    throw new UsageError(
      `${given} ${name} has the unknown type "${type.slice(0, 40)}"`,
      `The types are ${fieldTypes.join(', ')}. Add [] for a list, for example string[].`,
    );
  }
  const shape = isList ? { type: 'array', items: { type: plain } } : { type: plain };
  return [name, description === '' ? shape : { ...shape, description }];
}

/** Pure: the schema in a file. Only checks that it is JSON which can be sent as it is; `source` names the file. Throws UsageError. */
export function parseSchema(text: string, source: string): unknown {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${source} is not valid JSON: ${(error as Error).message}`);
  }
  for (const [number] of text.matchAll(stringOrNumber)) {
    if (number.startsWith('"') || isExact(number)) continue;
    throw new UsageError(
      `${source} has the number ${clip(number)}, which leadpipe can't send without rounding it`,
      'A number in a schema can have 15 digits. Write a longer one as a text, or leave it out.',
    );
  }
  return schema;
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Checks a schema against the limits of the interface. Throws UsageError. */
export function checkSchemaLimits(value: unknown): EnrichSchema {
  if (!isObject(value) || value.type !== 'object') {
    throw new UsageError('the root of the schema must have "type": "object"');
  }
  if (!isObject(value.properties) || Object.keys(value.properties).length === 0) {
    throw new UsageError('the schema has no properties: its root needs at least one');
  }
  const { levels, properties } = sizeOfSchema(value);
  const { enrichSchemaDepth, enrichSchemaProperties, enrichSchema } = limits;
  checkSize('the schema', levels, { ...enrichSchemaDepth, unit: 'levels of nesting' });
  checkSize('the schema', properties, { ...enrichSchemaProperties, unit: 'properties in all' });
  checkSize('the schema', Buffer.byteLength(textOf(value)), enrichSchema);
  return value;
}

/** The text that will be sent. The limit counts its bytes. */
function textOf(schema: EnrichSchema): string {
  try {
    return JSON.stringify(schema);
  } catch {
    throw new UsageError('the schema is nested too deeply to be sent');
  }
}
