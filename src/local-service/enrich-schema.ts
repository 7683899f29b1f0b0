import { limits } from '../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { type Schema, sizeOfSchema } from '../json/schema-size.ts';
import { invalid } from './answer.ts';

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
