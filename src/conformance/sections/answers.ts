import { limits, web2listLimit } from '../../contract/limits.ts';
import { contactTypes, extractionTypes } from '../../contract/types.ts';
import { isObject } from '../../json/object.ts';
import { objectMembers, stringOf } from '../../json/text.ts';
import {
  atMost,
  bodyLike,
  type Check,
  holds,
  noStore,
  requestId,
  resultLike,
  suppliedKey,
  unless,
} from '../checks.ts';
import {
  checks,
  type Expectation,
  problemsOf,
  type Row,
  rows,
  type Sample,
  sampleOf,
  scenarios,
  table,
} from '../row.ts';
import { type PostEndpoint, pageList, post, rare, shared } from '../samples.ts';
import type { Request } from '../service.ts';
import { contactResult, listIn, memberOf, quoted } from '../shapes.ts';
import { eventsOf, nameIn } from '../stream.ts';
import { choiceRows, integerRows, textRows } from './fields.ts';

/** A person that the service knows, so that there is something to find. */
const known = shared(post('search', { entity_type: 'person', objective: 'founders in Berlin' }));

/** An answer about a known person. `make` puts the name and the description into the request. */
function aboutKnown(endpoint: PostEndpoint, make: (who: string, what: string) => object, usual = {}): Sample {
  return {
    sends: [...known.sends, post(endpoint, usual)],
    async take(service) {
      const found = await known.take(service);
      const [lead = '{}'] = found.status === 200 ? eventsOf(found).texts : [];
      const who = nameIn(lead);
      const what = stringOf(objectMembers(lead).get('description')) ?? '';
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
  Object.entries(some).flatMap(([key, enrich_fields]) =>
    table('enrich/schema-', expect, { [key]: post('enrich', { enrich_fields }) }),
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

const ofPage = (change: object) => post('extract', { ...pageList, ...change });
/** Nobody has so many followers that this would cost anything. */
const nowhere = { target: 'zzqx-conformance-kwyjibo' };
const fewItems = shared(post('extract', { limit: 3 }));
const fromPage = shared(ofPage({ limit: 1 }));

const echoes = (wanted: Readonly<Record<string, unknown>>): Check =>
  holds(Object.fromEntries(Object.entries(wanted).map(([name, value]) => [`metadata.${name}`, value])));

/** The answer repeats type and target. */
const echo = (type: string, target: string): [Request, Check] => [
  post('extract', { type, target }),
  echoes({ type, target }),
];
const echoRule = 'metadata repeats type and target as they were sent';

/** Hosts that can't be reached from the internet, by their kind. */
const notPublic = {
  localhost: 'localhost localhost. app.localhost',
  loopback: '127.0.0.1 127.9.9.9 [::1] 2130706433 0x7f.1 [::ffff:127.0.0.1]',
  unspecified: '0.0.0.0 [::]',
  private: '10.0.0.1 172.16.0.1 172.31.255.254 192.168.0.1 [fd00::1]',
  'link-local': '169.254.169.254 [fe80::1]',
  shared: '100.64.0.1',
  multicast: '224.0.0.1 255.255.255.255 [ff02::1]',
  documentation: '192.0.2.1 198.51.100.7 203.0.113.9 [2001:db8::1]',
  benchmark: '198.18.0.1',
  'special-name': 'printer nas.local db.internal a.test a.invalid a.corp a.intranet',
};
const notPublicRows = Object.entries(notPublic).flatMap(([kind, hosts]) =>
  hosts.split(' ').map((host, at) => {
    const rule = `the target of web2list is public, which ${host} is not`;
    return [`web2list-${kind}-${at + 1}: ${rule}`, ofPage({ target: `http://${host}/list` })];
  }),
);

function targetOf(type: string): string {
  if (type.startsWith('github_repo')) return 'octocat/hello-world';
  return type.startsWith('github') ? 'octocat' : 'nasa';
}

/** The first answer again, or a refusal: both are allowed. */
const replayed = [200, 409];
const again = post('extract', {}, { idempotencyKey: 'extract/duplicate' });
const unlimited = sampleOf(ofPage({}));

const { limit: _, ...wanted } = pageList;
const fields = 'the answer has success, data and metadata, and no other fields';

export const extractRows: readonly Row[] = [
  ...checks('extract/', fewItems, {
    [`body: ${fields}`]: resultLike('extract'),
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'instruction-none: metadata.instruction is null when none was sent': echoes({ instruction: null }),
    'limit-in-effect: metadata.limit is the limit of the request': echoes({ limit: 3 }),
    'at-most-limit: limit is the maximum number of results': atMost(3, 'data', 'items'),
  }),
  ...rows('extract/', {
    'default-limit: limit is 100 by default': [
      post('extract', { limit: undefined, ...nowhere }),
      echoes({ limit: 100 }),
    ],
    'failure: when success is false, data says why': [
      post('extract', { target: 'nobody' }),
      resultLike('extract'),
    ],
    [`echo: ${echoRule}`]: echo('github_user_followers', 'octocat'),
    [`echo-address: ${echoRule}`]: echo('github_user_followers', 'https://GitHub.com/Octocat'),
    [`echo-handle: ${echoRule}`]: echo('x_followers', '@NASA'),
  }),
  ...checks('extract/web2list-', fromPage, {
    [`body: ${fields}`]: resultLike('extract'),
    'limit: web2list ignores limit: metadata.limit is always 100': echoes({ limit: web2listLimit }),
    'at-most-100: web2list gives at most 100 items': atMost(web2listLimit, 'data', 'items'),
    'echo: metadata repeats type, target and instruction': echoes(wanted),
  }),
  ...scenarios('extract/', [...fromPage.sends, ...unlimited.sends], {
    'web2list-ignores-limit: web2list gives as many items with a limit as without one': async (service) => {
      const counts: number[] = [];
      for (const { take } of [fromPage, unlimited]) {
        const answer = await take(service);
        problemsOf(answer, 200);
        counts.push(listIn(answer.json, 'data').length);
      }
      const [limited = 0, all = 0] = counts;
      return unless(all <= 1 || limited > 1, 'more than one item, but one with limit 1');
    },
  }),
  ...choiceRows(
    'extract',
    'type',
    extractionTypes.filter((type) => type !== 'web2list'),
    (type) => ({ target: targetOf(type) }),
  ),
  // Not for addresses: a handle of this length may be wrong for other reasons.
  ...textRows('extract', limits.extractTarget, pageList.target, pageList),
  ...table('extract/', 200, {
    'instruction-is-null: instruction is a string or null': post('extract', { instruction: null }),
  }),
  ...textRows('extract', limits.extractInstruction),
  ...integerRows('extract', limits.extractLimit, nowhere),
  ...table('extract/', 422, {
    'web2list-without-instruction: web2list requires an instruction': ofPage({ instruction: undefined }),
    'web2list-instruction-null: web2list requires an instruction': ofPage({ instruction: null }),
    'web2list-not-a-url: the target of web2list is a URL': ofPage({ target: 'example' }),
    'web2list-ftp: the target of web2list is an HTTP or HTTPS URL': ofPage({
      target: 'ftp://example.com/list',
    }),
    'web2list-file: the target of web2list is an HTTP or HTTPS URL': ofPage({ target: 'file:///etc/passwd' }),
    ...Object.fromEntries(notPublicRows),
    'unknown-field: extract rejects unknown fields': post('extract', { conformance: true }),
  }),
  ...scenarios(
    'extract/',
    [again],
    {
      'duplicate: a repeated request gets its first answer again, or 409': async (service) => {
        const first = await service.accepted(again);
        const second = await service.send(again);
        const isSame = second.status !== 200 || second.text === first.text;
        return [
          ...problemsOf(second, replayed),
          ...unless(isSame, 'the body differs from the first one'),
          ...(second.status === 200 ? suppliedKey(second) : []),
        ];
      },
    },
    replayed,
  ),
];
