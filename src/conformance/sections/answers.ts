import { limits } from '../../contract/limits.ts';
import { contactTypes } from '../../contract/types.ts';
import { isObject } from '../../json/object.ts';
import { stringOf, valueAt } from '../../json/text.ts';
import {
  accepted,
  bodyLike,
  changed,
  invalid,
  memberOf,
  noStore,
  requestId,
  table,
  unless,
} from '../expectations.ts';
import { type Action, type Expectation, type Request, type Row, shared } from '../row.ts';
import { companies, contact, enrichment, post, rareObjective, sentence } from '../samples.ts';
import { contactResult, enriched, quoted, researched } from '../shapes.ts';
import { eventsOf } from '../stream.ts';
import { take } from '../tested-service.ts';
import { choiceRows, textRows } from './fields.ts';

/** Somebody whom the service knows, so that there is something to find. */
const person = { entity_type: 'person', objective: 'founders in Berlin' };
const known = shared('known person', post('search', { body: companies(person) }));

/** One answer about somebody who is known; `make` puts the name and the description into the request. */
function aboutKnown(once: string, usual: Request, make: (who: string, what: string) => object): Action {
  return {
    once,
    pays: [usual],
    after: known,
    async take(service) {
      const [found] = await take(service, known, []);
      const [lead = '{}'] = found?.status === 200 ? eventsOf(found).texts : [];
      const [who, what = ''] = [stringOf(valueAt(lead, 'name')), stringOf(valueAt(lead, 'description'))];
      const change = who === undefined ? {} : make(who, what.slice(0, 1000));
      return [await service.send({ ...usual, body: { ...usual.body, ...change } })];
    },
  };
}

const lookUp = (change: object) => post('contactSearch', { body: { ...contact, ...change } });
const byType = Object.fromEntries(
  contactTypes.map((type) => [
    type,
    aboutKnown(`known ${type}`, lookUp({ contact_type: type }), (who) => ({
      objective: ` ${type === 'email' ? 'email address' : 'phone number'} of ${who}\t\n`,
    })),
  ]),
);
/** One that finds something, and so is charged. */
export const foundContact: Action = {
  pays: [post('contactSearch')],
  after: known,
  take: (byType.email as Action).take,
};
const contactLike = bodyLike('a contact_search_result', contactResult);

/** request repeats what was asked for. */
const echoOf = (type: string) =>
  accepted('both as they were sent', (answer) => {
    const { body } = answer.request as { body?: { objective?: string } };
    const [found, sent] = [memberOf(answer, 'request.objective'), body?.objective];
    const echoed = memberOf(answer, 'request.contact_type');
    return [
      ...unless(echoed === type, `request.contact_type is ${quoted(echoed)}`),
      // How else an objective is normalized is not documented.
      ...unless(found === sent?.trim(), `request.objective is ${quoted(found)}`),
    ];
  });

export const contactRows: readonly Row[] = [
  ...contactTypes.flatMap((type) =>
    table('contact', byType[type] as Action, {
      [`body-${type}: the answer is a contact_search_result without other fields`]: contactLike,
      [`echo-${type}: request repeats contact_type, and the objective without the white space around it`]:
        echoOf(type),
    }),
  ),
  ...table('contact', shared('usual contact', lookUp({})), {
    'request-id: the answer has a request ID': requestId,
    'no-store: the answer must not be cached': noStore,
    'not-found: without a hit, content is null or blank': contactLike,
  }),
  ...choiceRows('contact', lookUp, 'contact_type', []),
  ...textRows('contact', lookUp, limits.contactObjective, { required: true }),
];

const ask = (body: object) => post('deepSearch', { body });
const noResult =
  'no-result: without a result, success is false and answer.answer is the text that the interface gives for this';

export const deepSearchRows: readonly Row[] = [
  ...table('deep-search', post('deepSearch'), {
    'body: the answer has success, and an answer that is not null': bodyLike(
      'success and answer',
      researched,
    ),
    [noResult]: {
      request: ask({ query: rareObjective }),
      expect: bodyLike('success and answer', researched),
    },
  }),
  ...textRows('deep-search', ask, limits.deepSearchQuery, { required: true }),
];

const generate = (change: object) => post('enrich', { body: { ...enrichment, ...change } });
const string = { type: 'string' };
const ofKnown = aboutKnown('known enrichment', post('enrich'), (who, what) => ({
  entity_context: `${who}. ${what}`,
  enrich_fields: { type: 'object', properties: { name: string, description: string } },
}));
const { max: properties } = limits.enrichSchemaProperties;
const { max: levels } = limits.enrichSchemaDepth;
const { max: bytes } = limits.enrichSchema;

function wide(count: number, prefix = 'field'): { type: string; properties: Record<string, object> } {
  const names = Array.from({ length: count }, (_, at) => `${prefix}_${at}`);
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, string])) };
}

function deep(count: number): object {
  let schema: object = string;
  for (let level = 0; level < count; level++) schema = { type: 'object', properties: { inner: schema } };
  return schema;
}

function described(length: number): object {
  return { type: 'object', properties: { city: { type: 'string', description: sentence(length) } } };
}

const half = wide(properties / 2).properties;
const withSchema = (schema: { readonly of: unknown }) => generate({ enrich_fields: schema.of });
const schemas = (expect: Expectation, some: Readonly<Record<string, unknown>>): Row[] =>
  Object.entries(some).flatMap(([key, of]) => changed('enrich', withSchema, expect, { [key]: { of } }));

export const enrichRows: readonly Row[] = [
  ...table('enrich', ofKnown, {
    'body: the answer has success, and answer is an object': bodyLike('success and answer', enriched),
    [noResult]: {
      request: generate({ entity_context: rareObjective }),
      expect: bodyLike('success and answer', enriched),
    },
    'follows-schema: answer is an object that follows the schema when possible': accepted(
      'no member that the schema does not have',
      (answer) => {
        const found = memberOf(answer, 'answer');
        const wanted = (answer.request.body as typeof enrichment).enrich_fields.properties;
        if (memberOf(answer, 'success') !== true || !isObject(found)) return [];
        const follows = Object.keys(found).some((name) => Object.hasOwn(wanted, name));
        return unless(follows, `answer is ${quoted(found)}, without a field of the schema`);
      },
    ),
  }),
  ...textRows('enrich', generate, limits.enrichContext, { required: true }),
  ...schemas(invalid, {
    'schema-missing: enrich_fields is required': undefined,
    'schema-a-list: enrich_fields is a JSON Schema, not a list of names': ['city'],
    'schema-a-string: enrich_fields is an object': 'city',
    'schema-null: enrich_fields is an object': null,
    'schema-without-type: the root of the schema has the type object': { properties: { city: string } },
    'schema-of-an-array: the root of the schema has the type object': { type: 'array', items: string },
    'schema-without-properties: the root of the schema has at least one property': { type: 'object' },
    'schema-with-no-property: the root of the schema has at least one property': {
      type: 'object',
      properties: {},
    },
    [`schema-${properties + 1}-properties: the schema has at most 200 properties`]: wide(properties + 1),
    'schema-properties-cumulative: properties are counted on all levels': {
      type: 'object',
      properties: { ...half, more: wide(properties / 2, 'inner') },
    },
    // What counts as a level is not documented: 5 and 14 objects in each other are within and over 12 in every reading.
    'schema-nested-too-deep: the schema has at most 12 levels of nesting': deep(levels + 2),
    'schema-over-256-kib: the schema has at most 256 KiB': described(bytes),
  }),
  ...schemas(accepted(), {
    [`schema-${properties}-properties: the schema has at most 200 properties`]: wide(properties),
    'schema-nested: the schema has at most 12 levels of nesting': deep(5),
    'schema-255-kib: the schema has at most 256 KiB': described(bytes - 1024),
  }),
];
