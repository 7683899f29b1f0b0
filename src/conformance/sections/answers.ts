import { limits } from '../../contract/limits.ts';
import { contactTypes } from '../../contract/types.ts';
import { isObject } from '../../json/object.ts';
import { stringOf, valueAt } from '../../json/text.ts';
import { accepted, bodyLike, memberOf, noStore, requestId, section } from '../expectations.ts';
import { contactResult, enriched, researched } from '../resources.ts';
import { type Action, type Request, type Row, shared } from '../row.ts';
import { companies, contact, enrichment, post, rareObjective, sentence } from '../samples.ts';
import { quoted } from '../shapes.ts';
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
const contacts = section('contact', lookUp, shared('usual contact', lookUp({})));

export const contactRows: readonly Row[] = [
  ...contactTypes.flatMap((type) => [
    contacts.row(
      `body-${type}`,
      'the answer is a contact_search_result without other fields',
      bodyLike('a contact_search_result', contactResult),
      byType[type],
    ),
    contacts.row(
      `echo-${type}`,
      'request repeats contact_type, and the objective without the white space around it',
      accepted('both as they were sent', (answer) => {
        const { body } = answer.request as { body?: { objective?: string } };
        const [found, sent] = [memberOf(answer, 'request.objective'), body?.objective];
        const echoed = memberOf(answer, 'request.contact_type');
        return [
          ...(echoed === type ? [] : [`request.contact_type is ${quoted(echoed)}`]),
          // How else an objective is normalized is not documented.
          ...(found === sent?.trim() ? [] : [`request.objective is ${quoted(found)}`]),
        ];
      }),
      byType[type],
    ),
  ]),
  contacts.row('request-id', 'the answer has a request ID', requestId),
  contacts.row('no-store', 'the answer must not be cached', noStore),
  contacts.row(
    'not-found',
    'without a hit, content is null or blank',
    bodyLike('a contact_search_result', contactResult),
  ),
  ...choiceRows('contact', lookUp, 'contact_type', []),
  ...textRows('contact', lookUp, limits.contactObjective, { required: true }),
];

const ask = (body: object) => post('deepSearch', { body });
const research = section('deep-search', ask);
const noResult =
  'without a result, success is false and answer.answer is the text that the interface gives for this';

export const deepSearchRows: readonly Row[] = [
  research.row(
    'body',
    'the answer has success, and an answer that is not null',
    bodyLike('success and answer', researched),
    post('deepSearch'),
  ),
  research.row(
    'no-result',
    noResult,
    bodyLike('success and answer', researched),
    ask({ query: rareObjective }),
  ),
  ...textRows('deep-search', ask, limits.deepSearchQuery, { required: true }),
];

const generate = (change: object) => post('enrich', { body: { ...enrichment, ...change } });
const enriching = section('enrich', generate);
const ofKnown = aboutKnown('known enrichment', post('enrich'), (who, what) => ({
  entity_context: `${who}. ${what}`,
  enrich_fields: { type: 'object', properties: { name: string, description: string } },
}));
const string = { type: 'string' };
const { max: properties } = limits.enrichSchemaProperties;
const { max: levels } = limits.enrichSchemaDepth;
const { max: bytes } = limits.enrichSchema;

/** An object schema with so many properties. */
function wide(count: number, prefix = 'field'): { type: string; properties: Record<string, object> } {
  const names = Array.from({ length: count }, (_, at) => `${prefix}_${at}`);
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, string])) };
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

const half = wide(properties / 2).properties;
const { wrong, right } = enriching;
const schema = (value: unknown) => ({ enrich_fields: value });

export const enrichRows: readonly Row[] = [
  enriching.row(
    'body',
    'the answer has success, and answer is an object',
    bodyLike('success and answer', enriched),
    ofKnown,
  ),
  enriching.row(
    'no-result',
    noResult,
    bodyLike('success and answer', enriched),
    generate({ entity_context: rareObjective }),
  ),
  enriching.row(
    'follows-schema',
    'answer is an object that follows the schema when possible',
    accepted('no member that the schema does not have', (answer) => {
      const found = memberOf(answer, 'answer');
      const wanted = (answer.request.body as typeof enrichment).enrich_fields.properties;
      if (memberOf(answer, 'success') !== true || !isObject(found)) return [];
      return Object.keys(found).some((name) => Object.hasOwn(wanted, name))
        ? []
        : [`answer is ${quoted(found)}, without a field of the schema`];
    }),
    ofKnown,
  ),
  ...textRows('enrich', generate, limits.enrichContext, { required: true }),
  wrong('schema-missing', 'enrich_fields is required', schema(undefined)),
  wrong('schema-a-list', 'enrich_fields is a JSON Schema, not a list of names', schema(['city'])),
  wrong('schema-a-string', 'enrich_fields is an object', schema('city')),
  wrong('schema-null', 'enrich_fields is an object', schema(null)),
  wrong(
    'schema-without-type',
    'the root of the schema has the type object',
    schema({ properties: { city: string } }),
  ),
  wrong(
    'schema-of-an-array',
    'the root of the schema has the type object',
    schema({ type: 'array', items: string }),
  ),
  wrong(
    'schema-without-properties',
    'the root of the schema has at least one property',
    schema({ type: 'object' }),
  ),
  wrong(
    'schema-with-no-property',
    'the root of the schema has at least one property',
    schema({ type: 'object', properties: {} }),
  ),
  right(`schema-${properties}-properties`, 'the schema has at most 200 properties', schema(wide(properties))),
  wrong(
    `schema-${properties + 1}-properties`,
    'the schema has at most 200 properties',
    schema(wide(properties + 1)),
  ),
  wrong(
    'schema-properties-cumulative',
    'properties are counted on all levels',
    schema({ type: 'object', properties: { ...half, more: wide(properties / 2, 'inner') } }),
  ),
  // What counts as a level is not documented: 5 and 14 objects in each other are within and over 12 in every reading.
  right('schema-nested', 'the schema has at most 12 levels of nesting', schema(deep(5))),
  wrong('schema-nested-too-deep', 'the schema has at most 12 levels of nesting', schema(deep(levels + 2))),
  right('schema-255-kib', 'the schema has at most 256 KiB', schema(described(bytes - 1024))),
  wrong('schema-over-256-kib', 'the schema has at most 256 KiB', schema(described(bytes))),
];
