import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { toSchema } from '../../src/local-service/enrichment.ts';
import {
  checkSchemaLimits,
  type EnrichSchema,
  parseSchema,
  toFieldSchema,
} from '../../src/requests/enrich-schema.ts';
import { checkJsonSchema } from '../../src/requests/json-schema.ts';

const text = { type: 'string' };
const object = (properties: object): EnrichSchema => ({ type: 'object', properties });
const many = (count: number, name = 'p'): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}${at}`, text]));

/** With one property. */
const a = (schema: unknown): EnrichSchema => object({ a: schema });

/** Objects in objects: `levels` of them. */
function nested(levels: number): EnrichSchema {
  let schema = object({ leaf: text });
  for (let level = 1; level < levels; level++) schema = object({ inner: schema });
  return schema;
}

/** Arrays of arrays in the root: `levels` with it. */
function nestedLists(levels: number): EnrichSchema {
  let list: EnrichSchema = text;
  for (let level = 1; level < levels; level++) list = { type: 'array', items: list };
  return object({ list });
}

describe('fields', () => {
  const list = { type: 'array', items: text, description: 'some, of: them=all' };
  it.each<[readonly string[], object]>([
    [['city'], { city: text }],
    [['headcount:integer=how many'], { headcount: { type: 'integer', description: 'how many' } }],
    [['a:number', 'b:boolean'], { a: { type: 'number' }, b: { type: 'boolean' } }],
    [['c:string[]=some, of: them=all'], { c: list }],
    [[' city : string = where '], { city: { type: 'string', description: 'where' } }],
    [['city='], { city: text }],
    [['a,b'], { a: text, b: text }],
    [['a:integer, b', 'c'], { a: { type: 'integer' }, b: text, c: text }],
    [['a:integer,b:string[]=some, of: them=all'], { a: { type: 'integer' }, b: list }],
    [['Größe (m²)'], { 'Größe (m²)': text }],
  ])('%j', (fields, properties) => {
    expect(toFieldSchema(fields, '--field')).toEqual({ type: 'object', properties });
  });

  it('may be called __proto__', () => {
    const schema = toFieldSchema(['__proto__:integer', 'constructor'], '--field');
    expect(JSON.stringify(schema)).toBe(
      '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"string"}}}',
    );
  });

  it.each<[readonly string[], string]>([
    [[''], '--field has no name'],
    [[':integer'], '--field has no name'],
    [['=number of employees'], '--field has no name'],
    [['headcount:int'], 'unknown type "int"'],
    [['a:'], 'unknown type ""'],
    [['a:[]'], 'unknown type "[]"'],
    [['a:object'], 'unknown type "object"'],
    [['a:b:string'], 'unknown type "b:string"'],
    [['a', 'b', 'a:integer'], '--field a is given twice'],
    [['a,a'], '--field a is given twice'],
    [['a,'], '--field has no name'],
    [['a,b:int'], '--field b has the unknown type "int"'],
  ])('%j is refused', (fields, says) => {
    expect(() => toFieldSchema(fields, '--field')).toThrow(says);
  });
});

describe('limits', () => {
  const within: readonly [name: string, schema: EnrichSchema][] = [
    ['one property', a(text)],
    ['12 levels of objects', nested(12)],
    ['12 levels of lists', nestedLists(12)],
    ['200 properties', object(many(200))],
    ['200 properties, half of them nested', object({ ...many(99), inner: object(many(100, 'q')) })],
    ['many values that are no properties', a({ enum: Object.keys(many(500)) })],
    ['a $ref to itself', a({ $ref: '#' })],
  ];
  it.each(within)('%s: taken as it is', (_, schema) => expect(checkSchemaLimits(schema)).toBe(schema));

  const noObject = 'must have "type": "object"';
  const inner = object(many(100, 'q'));
  const beyond: readonly [says: string, schema: unknown][] = [
    [noObject, []],
    [noObject, null],
    [noObject, 'x'],
    [noObject, true],
    [noObject, { properties: { a: text } }],
    [noObject, { type: 'array', properties: { a: text } }],
    [noObject, { type: ['object', 'null'], properties: { a: text } }],
    ['no properties: its root needs at least one', { type: 'object' }],
    ['no properties', object({})],
    ['no properties', { type: 'object', properties: ['a'] }],
    ['has 13 levels of nesting: at most 12 are allowed', nested(13)],
    ['has 13 levels', nestedLists(13)],
    ['has 13 levels', { ...a(text), $defs: { deep: nested(12) } }],
    ['has 1000000 levels', nested(1_000_000)],
    ['has 201 properties in all: at most 200 are allowed', object(many(201))],
    ['has 201 properties', object({ ...many(100), inner })],
    ['has 201 properties', object({ ...many(100), inner: { type: 'array', items: object(many(100)) } })],
    ['has 201 properties', { ...object(many(201)), $defs: { a: object(many(1)) } }],
    ['has 201 properties', object({ ...many(98), a: { anyOf: [inner, object(many(2))] } })],
  ];
  it('many properties in $defs, of which nothing need be used: sent', () => {
    const schema = { ...object(many(100)), $defs: { a: object({ ...many(150), b: object(many(150)) }) } };
    expect(checkSchemaLimits(schema)).toBe(schema);
  });

  it.each(beyond)('refused: %s', (says, schema) => {
    expect(() => checkSchemaLimits(schema)).toThrow(UsageError);
    expect(() => checkSchemaLimits(schema)).toThrow(says);
  });

  /** 13 levels, the last of which is under this keyword. */
  const through = (keyword: string, part: unknown): EnrichSchema => {
    let schema: EnrichSchema = { type: 'object', [keyword]: part };
    for (let level = 1; level < 12; level++) schema = object({ inner: schema });
    return schema;
  };
  const single = 'unevaluatedProperties unevaluatedItems additionalItems propertyNames items not'.split(' ');
  it.each<readonly [name: string, schema: unknown]>([
    ...within,
    // (The million levels are the same, and take a while.)
    ...beyond.filter(([says]) => !says.includes('1000000')),
    ...single.map((keyword) => [keyword, through(keyword, a(text))] as const),
    ['dependencies', through('dependencies', { a: a(text) })],
    ['names of dependencies', through('dependencies', { a: ['b'] })],
    [
      '201 properties that are true',
      a(object(Object.fromEntries(Object.keys(many(201)).map((name) => [name, true])))),
    ],
  ])('%s: the local service judges alike', (_, schema) => {
    const isTaken = (check: () => unknown): boolean => {
      try {
        check();
        return true;
      } catch {
        return false;
      }
    };
    const source = JSON.stringify({ short: 'the local service has read it' });
    expect(isTaken(() => toSchema(schema, source))).toBe(isTaken(() => checkSchemaLimits(schema)));
  });

  it('counts the bytes that are sent: 262144, and not one more', () => {
    const frame = Buffer.byteLength(JSON.stringify(a({ description: '' })));
    const sized = (bytes: number): EnrichSchema =>
      a({ description: `${'é'.repeat(1000)}${'x'.repeat(bytes - frame - 2000)}` });
    expect(checkSchemaLimits(sized(262_144))).toBeDefined();
    expect(() => checkSchemaLimits(sized(262_145))).toThrow('has 262145 bytes: at most 262144 are allowed');
    const spacious = parseSchema(JSON.stringify(sized(262_144), null, 40), 'x');
    expect(checkSchemaLimits(spacious)).toBeDefined();
  });

  it('data of any depth is refused, not followed to the end of the stack', () => {
    const deep = parseSchema(
      `{"type":"object","properties":{"a":{"default":${'['.repeat(200_000)}${']'.repeat(200_000)}}}}`,
      'x',
    );
    expect(() => checkSchemaLimits(deep)).toThrow(UsageError);
  });

  it('whatever a file holds, the answer is a schema or a UsageError', async () => {
    const keyword = fc.constantFrom(...'type properties items $ref $defs anyOf pattern $id'.split(' '));
    const part = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('object', 'string', '#', '#/$defs/x', 'https://a.example/s', '(', 1, null, true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(keyword, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(keyword, part, { maxKeys: 4 }), async (rest) => {
        const value = { ...rest, type: 'object', properties: { a: rest, ...(rest.properties as object) } };
        try {
          const check = await checkJsonSchema(checkSchemaLimits(value));
          expect(Array.isArray(check.deviations({ a: 'x' }))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('JSON Schema', () => {
  const draft04 = 'http://json-schema.org/draft-04/schema#';
  const invalid: readonly [says: string, schema: EnrichSchema][] = [
    [
      'not valid JSON Schema: "properties/a/type" must be equal to one of the allowed values (array, boolean,',
      a({ type: 'int' }),
    ],
    ['"properties/a" must be', a('string')],
    ['"properties/a/minimum" must be number', a({ minimum: 'x' })],
    ['"required" must be array', { ...a(text), required: true }],
    ["the schema can't be used: Invalid regular expression", a({ pattern: '(' })],
    ['refers to https://a.example/s, which it does not contain', a({ $ref: 'https://a.example/s' })],
    ['refers to #/$defs/nothing', a({ $ref: '#/$defs/nothing' })],
    ['has an unknown version', { ...a(text), $schema: 'https://a.example/s' }],
    ['unknown version', { ...a(text), $schema: draft04 }],
    ['unknown version ($schema: 7)', { ...a(text), $schema: 7 }],
  ];
  it.each(invalid)('refused: %s', async (says, schema) => {
    await expect(checkJsonSchema(schema)).rejects.toThrow(UsageError);
    await expect(checkJsonSchema(schema)).rejects.toThrow(says);
  });

  const by = ($schema: string, a: object): EnrichSchema => ({ ...object({ a }), $schema });
  const tuple = { type: 'array', items: [{ type: 'integer' }] };
  const dialects: readonly [schema: EnrichSchema, value: unknown, deviations: number][] = [
    [a({ prefixItems: [text] }), { a: [1] }, 1],
    [by('https://json-schema.org/draft/2020-12/schema', { prefixItems: [text] }), { a: [1] }, 1],
    [by('http://json-schema.org/draft-07/schema#', tuple), { a: ['x'] }, 1],
    [by('https://json-schema.org/draft-07/schema', tuple), { a: [1] }, 0],
    // Formats say nothing, nor do unknown formats and keywords.
    [a({ type: 'string', format: 'email' }), { a: 'x' }, 0],
    [a({ format: 'zip', example: 1, 'x-order': 2 }), { a: 1 }, 0],
    // A pattern that only older dialects take.
    [a({ pattern: '^\\d\\-\\d$' }), { a: '1-2' }, 0],
    // The validator's own keyword.
    [{ ...a(text), $async: true }, { a: 1 }, 1],
    [{ ...a({ $ref: '#/$defs/n' }), $defs: { n: text } }, { a: 1 }, 1],
  ];
  it.each(dialects)('%j: %j deviates %i times', async (schema, value, deviations) => {
    expect((await checkJsonSchema(schema)).deviations(value)).toHaveLength(deviations);
  });

  const answers: readonly [schema: EnrichSchema, answer: unknown, says: readonly string[]][] = [
    [a({ type: 'integer' }), { a: 1 }, []],
    [a({ type: 'integer' }), {}, []],
    [a({ type: 'integer' }), { a: '1' }, ['"a" must be integer']],
    [a({ type: 'integer' }), { a: null }, ['no value for "a" (null)']],
    [a({ type: 'integer' }), 'text', ['it must be object']],
    [
      a(object({ b: { type: 'array', items: { enum: ['x', 'y'] } } })),
      { a: { b: ['x', 'z'] } },
      ['"a/b/1" must be equal to one of the allowed values (x, y)'],
    ],
    [{ ...a(text), required: ['a'] }, { b: 1 }, ["it must have required property 'a'"]],
    [{ ...a(text), additionalProperties: false }, { b: 1 }, ['it must NOT have additional properties (b)']],
    [a({ type: ['string', 'number'], enum: ['x', 1] }), { a: null }, ['no value for "a" (null)']],
    [a({ enum: ['x'] }), { a: null }, ['no value for "a" (null)']],
    [object({ 'a/b~c': text }), { 'a/b~c': null }, ['no value for "a/b~c" (null)']],
    [
      a({ enum: [{ toString: 1 }, ['x'], null, 'y'] }),
      { a: 'z' },
      ['"a" must be equal to one of the allowed values ({"toString":1}, ["x"], null, y)'],
    ],
    [a({ const: { toString: 1 } }), { a: 1 }, ['"a" must be equal to constant ({"toString":1})']],
    [
      a({ type: 'array', items: text }),
      { a: [1, 2, 3, 4, 5, 6, 7] },
      [0, 1, 2, 3, 4].map((at) => `"a/${at}" must be string`).concat('2 more places do not fit'),
    ],
  ];
  it.each(answers)('%j and %j', async (schema, answer, says) => {
    expect((await checkJsonSchema(schema)).deviations(answer)).toEqual(
      says.map((line) => `the answer does not follow the schema: ${line}`),
    );
  });

  it('a pattern that would take for ever is given up on', async () => {
    const { deviations } = await checkJsonSchema(a({ pattern: '^(a+)+$' }));
    expect(deviations({ a: `${'a'.repeat(100)}b` })).toEqual([
      'the answer could not be checked against the schema within 1 s',
    ]);
  });

  it('a schema that refers to itself without an end is given up on', async () => {
    const { deviations } = await checkJsonSchema({ ...a(text), allOf: [{ $ref: '#' }] });
    expect(deviations({ a: 'x' })).toHaveLength(1);
  });
});
