import { limits, web2listLimit } from '../../contract/limits.ts';
import { extractionTypes } from '../../contract/types.ts';
import {
  accepted,
  bodyLike,
  changed,
  conflicting,
  holds,
  invalid,
  memberOf,
  suppliedKey,
  table,
  unless,
} from '../expectations.ts';
import { type Answer, type Expectation, type Row, shared } from '../row.ts';
import { extraction, pageExtraction, post, targetOf } from '../samples.ts';
import { quoted, extraction as shape } from '../shapes.ts';
import { choiceRows, integerRows, textRows } from './fields.ts';

const send = (change: object) => post('extract', { body: { ...extraction, ...change } });
const ofPage = (change: object) => post('extract', { body: { ...pageExtraction, ...change } });
/** Nobody has so many followers that they cost anything. */
const nowhere = { target: 'zzqx-conformance-kwyjibo' };
const fewItems = shared('extraction', send({ limit: 3 }));
const fromPage = shared('page extraction', ofPage({ limit: 1 }));
function echoes(wanted: Readonly<Record<string, unknown>>): Expectation {
  const members = Object.entries(wanted).map(([name, value]) => [`metadata.${name}`, value] as const);
  const says = members.map(([path, value]) => `${path} ${quoted(value)}`);
  return accepted(says.join(', '), holds(Object.fromEntries(members)));
}

/** What is sent in place of a target, or of both. */
function echo(change: Readonly<Record<string, string>>) {
  const { type, target } = { ...extraction, ...change };
  return { request: send(change), expect: echoes({ type, target }) };
}

const atMost = (most: number) =>
  accepted(`at most ${most} items`, (answer) => {
    const { length } = itemsOf(answer);
    return unless(length <= most, `${length} items`);
  });

function itemsOf(answer: Answer): readonly unknown[] {
  const data = memberOf(answer, 'data');
  return Array.isArray(data) ? data : [];
}

/** Hosts that nobody can reach from the internet, by what they are. */
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

const duplicate = send({ limit: 1 });
const again = { ...duplicate, idempotencyKey: 'extract/duplicate' };
/** The first answer again, or a refusal: both are allowed. */
const replayed: Expectation = {
  status: [200, 409],
  ...(conflicting.types === undefined ? {} : { types: conflicting.types }),
  says: 'and the same body and Idempotency-Key with 200',
  check: (answer, [first]) => [
    ...(answer.text === first?.text ? [] : ['the body differs from the first one']),
    ...(suppliedKey.check?.(answer, []) ?? []),
  ],
};

const response = bodyLike('an extract response', shape);
const repeats = 'metadata repeats type and target as they were sent';

export const extractRows: readonly Row[] = [
  ...table('extract', fewItems, {
    'body: the answer has success, data and metadata, and no other fields': response,
    'web2list-body: the answer has success, data and metadata, and no other fields': {
      request: fromPage,
      expect: response,
    },
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'instruction-none: metadata.instruction is null when none was sent': echoes({ instruction: null }),
    'limit-in-effect: metadata.limit is the limit of the request': echoes({ limit: 3 }),
    'at-most-limit: limit is the maximum number of results': atMost(3),
    'default-limit: limit is 100 by default': {
      request: send({ limit: undefined, ...nowhere }),
      expect: echoes({ limit: 100 }),
    },
    'failure: when success is false, data says why': {
      request: send({ target: 'nobody' }),
      expect: response,
    },
    [`echo: ${repeats}`]: echo({}),
    [`echo-address: ${repeats}`]: echo({ target: 'https://GitHub.com/Octocat' }),
    [`echo-handle: ${repeats}`]: echo({ type: 'x_followers', target: '@NASA' }),
  }),
  ...table('extract', fromPage, {
    'web2list-limit: web2list ignores limit: metadata.limit is always 100': echoes({ limit: web2listLimit }),
    'web2list-at-most-100: web2list gives at most 100 items': atMost(web2listLimit),
    'web2list-ignores-limit: web2list gives as many items with a limit as without one': {
      before: [fromPage],
      request: ofPage({}),
      expect: accepted('more than one item, if there are more', (answer, [limited]) => {
        const isCut = itemsOf(answer).length > 1 && itemsOf(limited as Answer).length <= 1;
        return unless(!isCut, 'one item with limit 1');
      }),
    },
    'web2list-echo: metadata repeats type, target and instruction': echoes(pageExtraction),
  }),
  ...choiceRows(
    'extract',
    send,
    'type',
    extractionTypes.filter((type) => type !== 'web2list'),
    (type) => ({
      target: targetOf(type as (typeof extractionTypes)[number]),
    }),
  ),
  // Addresses: a handle of this length may be wrong for other reasons.
  ...textRows('extract', send, limits.extractTarget, {
    required: true,
    prefix: pageExtraction.target,
    sendSample: ofPage,
  }),
  ...changed('extract', send, accepted(), {
    'instruction-is-null: instruction is a string or null': { instruction: null },
  }),
  ...textRows('extract', send, limits.extractInstruction, { required: false }),
  ...integerRows('extract', send, limits.extractLimit, (change) => send({ ...nowhere, ...change })),
  ...changed('extract', ofPage, invalid, {
    'web2list-without-instruction: web2list requires an instruction': { instruction: undefined },
    'web2list-instruction-null: web2list requires an instruction': { instruction: null },
    'web2list-not-a-url: the target of web2list is a URL': { target: 'example' },
    'web2list-ftp: the target of web2list is an HTTP or HTTPS URL': { target: 'ftp://example.com/list' },
    'web2list-file: the target of web2list is an HTTP or HTTPS URL': { target: 'file:///etc/passwd' },
  }),
  ...Object.entries(notPublic).flatMap(([kind, hosts]) =>
    hosts.split(' ').flatMap((host, at) =>
      changed('extract', ofPage, invalid, {
        [`web2list-${kind}-${at + 1}: the target of web2list is public, which ${host} is not`]: {
          target: `http://${host}/list`,
        },
      }),
    ),
  ),
  ...changed('extract', send, invalid, {
    'unknown-field: extract rejects unknown fields': { conformance: true },
  }),
  ...table('extract', again, {
    'duplicate: a repeated request gets its first answer again, or 409': {
      before: [again],
      expect: replayed,
    },
  }),
];
