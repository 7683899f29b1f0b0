import { limits } from '../../contract/limits.ts';
import { bodyLike, section } from '../expectations.ts';
import { enriched } from '../resources.ts';
import type { Row } from '../row.ts';
import { enrichment, post, rareObjective, sentence } from '../samples.ts';

const { max: context } = limits.enrichContext;
const { max: properties } = limits.enrichSchemaProperties;
const { max: levels } = limits.enrichSchemaDepth;
const { max: bytes } = limits.enrichSchema;

const send = (change: object) => post('enrich', { body: { ...enrichment, ...change } });
const { row, wrong, right } = section('enrich', send);

const string = { type: 'string' };

/** An object schema with so many properties. */
function wide(count: number, prefix = 'field'): { type: string; properties: Record<string, object> } {
  return {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}_${at}`, string])),
  };
}

/** Objects in objects. */
function deep(count: number): object {
  let schema: object = string;
  for (let level = 0; level < count; level++) schema = { type: 'object', properties: { inner: schema } };
  return schema;
}

function described(length: number): object {
  return { type: 'object', properties: { city: { type: 'string', description: sentence(length) } } };
}

const half = properties / 2;
const form = bodyLike('success and answer', enriched);

export const enrichRows: readonly Row[] = [
  row('body', 'the answer has success, and answer is an object', form),
  row(
    'no-result',
    'without a result, success is false and answer.answer is the text that the interface gives for this',
    form,
    send({ entity_context: rareObjective }),
  ),
  wrong('context-missing', 'entity_context is required', { entity_context: undefined }),
  wrong('context-empty', 'entity_context has at least 1 character', { entity_context: '' }),
  wrong('context-null', 'entity_context is a string', { entity_context: null }),
  wrong('context-a-number', 'entity_context is a string', { entity_context: 42 }),
  right('context-16-kib', 'entity_context has at most 16 KiB', { entity_context: sentence(context) }),
  wrong('context-over-16-kib', 'entity_context has at most 16 KiB', {
    entity_context: sentence(context + 1),
  }),
  wrong('context-counted-in-bytes', 'entity_context is counted in bytes, not in characters', {
    entity_context: 'é'.repeat(context / 2 + 1),
  }),
  right('context-trimmed', 'entity_context is counted after trimming', {
    entity_context: ` ${sentence(context)}\n`,
  }),
  wrong('schema-missing', 'enrich_fields is required', { enrich_fields: undefined }),
  wrong('schema-a-list', 'enrich_fields is a JSON Schema, not a list of names', { enrich_fields: ['city'] }),
  wrong('schema-a-string', 'enrich_fields is an object', { enrich_fields: 'city' }),
  wrong('schema-without-type', 'the root of the schema has the type object', {
    enrich_fields: { properties: { city: string } },
  }),
  wrong('schema-of-an-array', 'the root of the schema has the type object', {
    enrich_fields: { type: 'array', items: string },
  }),
  wrong('schema-without-properties', 'the root of the schema has at least one property', {
    enrich_fields: { type: 'object' },
  }),
  wrong('schema-with-no-property', 'the root of the schema has at least one property', {
    enrich_fields: { type: 'object', properties: {} },
  }),
  right(`schema-${properties}-properties`, 'the schema has at most 200 properties', {
    enrich_fields: wide(properties),
  }),
  wrong(`schema-${properties + 1}-properties`, 'the schema has at most 200 properties', {
    enrich_fields: wide(properties + 1),
  }),
  wrong('schema-properties-cumulative', 'properties are counted on all levels', {
    enrich_fields: { type: 'object', properties: { ...wide(half).properties, more: wide(half, 'inner') } },
  }),
  // What counts as a level is not documented: 5 and 14 objects in each other are within and over 12 in every reading.
  right('schema-nested', 'the schema has at most 12 levels of nesting', { enrich_fields: deep(5) }),
  wrong('schema-nested-too-deep', 'the schema has at most 12 levels of nesting', {
    enrich_fields: deep(levels + 2),
  }),
  right('schema-255-kib', 'the schema has at most 256 KiB', { enrich_fields: described(bytes - 1024) }),
  wrong('schema-over-256-kib', 'the schema has at most 256 KiB', { enrich_fields: described(bytes) }),
];
