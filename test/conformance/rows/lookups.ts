import { limits } from '../../../src/contract/limits.ts';
import { contactTypes } from '../../../src/contract/types.ts';
import { isObject } from '../../../src/json/object.ts';
import { bodyLike, type Check, holds, noStore, requestId, resultLike, unless } from '../checks.ts';
import { checks, type Expectation, mapped, type Row, type Sample, table } from '../row.ts';
import { contactResult, memberOf, quoted, textIn } from '../shapes.ts';
import { eventsOf } from '../stream.ts';
import { choiceRows, textRows } from './fields.ts';
import { type PostEndpoint, post, rare, shared } from './samples.ts';

/** A person that the service knows, so that there is something to find. */
const known = shared(post('search', { entity_type: 'person', objective: 'founders in Berlin' }));

/** An answer about a known person. `make` puts the name and the description into the request. */
function aboutKnown(endpoint: PostEndpoint, make: (who: string, what: string) => object, usual = {}): Sample {
  return {
    pays: [...known.pays, post(endpoint, usual)],
    async take(service) {
      const found = await known.take(service);
      const [lead = {}] = found.status === 200 ? eventsOf(found).entities : [];
      const who = textIn(lead, 'name');
      const what = textIn(lead, 'description') ?? '';
      const change = who === undefined ? {} : make(who, what.slice(0, 1000));
      return await service.send(post(endpoint, { ...usual, ...change }));
    },
  };
}

const contactOf = (contact_type: 'email' | 'phone'): Sample => {
  const what = contact_type === 'email' ? 'email address' : 'phone number';
  return aboutKnown('contactSearch', (who) => ({ objective: ` ${what} of ${who}\t\n` }), { contact_type });
};
/** A lookup that finds something, and so is charged. */
export const foundContact = contactOf('email');

/** request repeats what was asked for. How else an objective is normalized is not documented. */
const echoOf =
  (contact_type: string): Check =>
  (answer) => {
    const objective = String(memberOf(answer.request.body, 'objective')).trim();
    return holds({ 'request.contact_type': contact_type, 'request.objective': objective })(answer);
  };

export const contactRows: readonly Row[] = [
  ...contactTypes.flatMap((type) =>
    checks('contact/', shared(contactOf(type)), {
      [`body-${type}: the answer is a contact_search_result without other fields`]: bodyLike(contactResult),
      [`echo-${type}: request repeats contact_type, and the objective without the white space around it`]:
        echoOf(type),
    }),
  ),
  ...checks('contact/', shared(post('contactSearch')), {
    'request-id: the answer has a request ID': requestId,
    'no-store: the answer must not be cached': noStore,
    'not-found: without a hit, content is null or blank': bodyLike(contactResult),
  }),
  ...choiceRows('contactSearch', 'contact_type'),
  ...textRows('contactSearch', limits.contactObjective),
];

const noResult =
  'no-result: without a result, success is false and answer.answer is the text that the interface gives for this';

export const deepSearchRows: readonly Row[] = [
  ...table('deep-search/', resultLike('deepSearch'), {
    'body: the answer has success, and an answer that is not null': post('deepSearch'),
    [noResult]: post('deepSearch', { query: rare.objective }),
  }),
  ...textRows('deepSearch', limits.deepSearchQuery),
];

const string = { type: 'string' };
const schemaOf = (properties: object) => ({ type: 'object', properties });
const ofKnown = aboutKnown('enrich', (who, what) => ({
  entity_context: `${who}. ${what}`,
  enrich_fields: schemaOf({ name: string, description: string }),
}));
const { max: properties } = limits.enrichSchemaProperties;
const { max: levels } = limits.enrichSchemaDepth;
const { max: bytes } = limits.enrichSchema;

function wide(count: number, prefix = 'field'): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}_${at}`, string]));
}

function deep(count: number): object {
  return count === 0 ? string : schemaOf({ inner: deep(count - 1) });
}

const described = (length: number) => schemaOf({ city: { ...string, description: 'x'.repeat(length) } });

const schemas = (expect: Expectation, some: Readonly<Record<string, unknown>>): Row[] =>
  table(
    'enrich/schema-',
    expect,
    mapped(some, (enrich_fields) => post('enrich', { enrich_fields })),
  );

export const enrichRows: readonly Row[] = [
  ...checks('enrich/', shared(ofKnown), {
    'body: the answer has success, and answer is an object': resultLike('enrich'),
    'follows-schema: answer is an object that follows the schema when possible': ({ json, request }) => {
      const found = memberOf(json, 'answer');
      const wanted = memberOf(request.body, 'enrich_fields.properties');
      if (memberOf(json, 'success') !== true || !isObject(found) || !isObject(wanted)) return [];
      const follows = Object.keys(found).some((name) => Object.hasOwn(wanted, name));
      return unless(follows, `answer is ${quoted(found)}, without a field of the schema`);
    },
  }),
  ...table('enrich/', resultLike('enrich'), {
    [noResult]: post('enrich', { entity_context: rare.objective }),
  }),
  ...textRows('enrich', limits.enrichContext),
  ...schemas(422, {
    'missing: enrich_fields is required': undefined,
    'a-list: enrich_fields is a JSON Schema, not a list of names': ['city'],
    'a-string: enrich_fields is an object': 'city',
    'null: enrich_fields is an object': null,
    'without-type: the root of the schema has the type object': { properties: { city: string } },
    'of-an-array: the root of the schema has the type object': { type: 'array', items: string },
    'without-properties: the root of the schema has at least one property': { type: 'object' },
    'with-no-property: the root of the schema has at least one property': schemaOf({}),
    [`${properties + 1}-properties: the schema has at most 200 properties`]: schemaOf(wide(properties + 1)),
    'properties-cumulative: properties are counted on all levels': schemaOf({
      ...wide(properties / 2),
      more: schemaOf(wide(properties / 2, 'inner')),
    }),
    // What counts as a level is not documented. 5 and 14 nested objects are within and over 12 in every reading.
    'nested-too-deep: the schema has at most 12 levels of nesting': deep(levels + 2),
    'over-256-kib: the schema has at most 256 KiB': described(bytes),
  }),
  ...schemas(200, {
    [`${properties}-properties: the schema has at most 200 properties`]: schemaOf(wide(properties)),
    'nested: the schema has at most 12 levels of nesting': deep(5),
    '255-kib: the schema has at most 256 KiB': described(bytes - 1024),
  }),
];
