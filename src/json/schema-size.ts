import { isObject } from './object.ts';

/** A JSON Schema that is an object. `true` and `false` are schemas, too, but hold nothing. */
export type Schema = Readonly<Record<string, unknown>>;

const named = (words: string): ReadonlySet<string> => new Set(words.split(' '));
/** Keywords whose value maps names to schemas, and those of them that only define schemas for a $ref. */
const maps = named('properties patternProperties $defs definitions dependentSchemas dependencies');
const definitions = named('$defs definitions');
/** Keywords whose value is a schema, or a list of them. */
const schemas = named(
  'items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties ' +
    'propertyNames anyOf oneOf allOf not if then else',
);

/**
 * The document says "12 levels of nesting" and "200 cumulative properties", but not how to count. This counts as little as possible, so
 * that nothing is refused that the service would accept: a level is a schema that contains schemas (a plain field is not), and a property
 * is an entry of any `properties` outside `$defs`, whose schemas may be unused. A $ref is not followed.
 */
export function sizeOfSchema(root: Schema): { readonly levels: number; readonly properties: number } {
  let levels = 0;
  let properties = 0;
  // A list instead of recursion: hostile nesting would overflow the stack.
  const open = [{ schema: root, level: 1, isDefined: false }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const parts = partsOf(next.schema);
    if (parts.length > 0) levels = Math.max(levels, next.level);
    if (!next.isDefined && isObject(next.schema.properties)) {
      properties += Object.keys(next.schema.properties).length;
    }
    for (const [keyword, schema] of parts) {
      open.push({ schema, level: next.level + 1, isDefined: next.isDefined || definitions.has(keyword) });
    }
  }
  return { levels, properties };
}

function partsOf(schema: Schema) {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const parts =
      maps.has(keyword) && isObject(value) ? Object.values(value) : schemas.has(keyword) ? value : [];
    return [parts]
      .flat()
      .filter(isObject)
      .map((part) => [keyword, part] as const);
  });
}
