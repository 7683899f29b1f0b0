import { limits } from '../contract/limits.ts';
import { invalid } from './refusal.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The rules for `enrich_fields` of Enrich: a JSON Schema of limited size, depth and number of properties. */
export function toSchema(value: unknown, source: string): Schema {
  if (!isSchema(value)) throw invalid('enrich_fields is required and must be a JSON Schema object');
  const bytes = Buffer.byteLength(source);
  if (bytes > limits.enrichSchema.max)
    throw invalid(`enrich_fields must have at most ${limits.enrichSchema.max} bytes, not ${bytes}`);
  if (value.type !== 'object') throw invalid('the root of enrich_fields must have "type": "object"');
  if (!isSchema(value.properties) || Object.keys(value.properties).length === 0)
    throw invalid('the root of enrich_fields must have at least one entry in "properties"');
  const size = { levels: 0, properties: 0 };
  measure(value, 1, size);
  if (size.levels > limits.enrichSchemaDepth.max)
    throw invalid(`enrich_fields must have at most ${limits.enrichSchemaDepth.max} levels of nesting`);
  if (size.properties > limits.enrichSchemaProperties.max)
    throw invalid(
      `enrich_fields must have at most ${limits.enrichSchemaProperties.max} properties, not ${size.properties}`,
    );
  return value;
}

/** A level is a schema with schemas inside; what counts as a level is not documented, and this is the mildest reading. */
function measure(schema: Schema, level: number, size: { levels: number; properties: number }): void {
  size.levels = Math.max(size.levels, level);
  // Deep enough to be refused: going on would only risk the stack.
  if (level > limits.enrichSchemaDepth.max) return;
  if (isSchema(schema.properties)) size.properties += Object.keys(schema.properties).length;
  for (const part of partsOf(schema)) if (partsOf(part).length > 0) measure(part, level + 1, size);
}

const mapsOfSchemas = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const schemas = [
  'items',
  'prefixItems',
  'additionalProperties',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'contains',
];

function partsOf(schema: Schema): Schema[] {
  const parts: unknown[] = [];
  for (const keyword of mapsOfSchemas)
    if (isSchema(schema[keyword])) parts.push(...Object.values(schema[keyword]));
  for (const keyword of schemas) parts.push(...[schema[keyword]].flat());
  return parts.filter(isSchema);
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
