import { limits, web2listLimit } from '../../contract/limits.ts';
import { extractionTypes } from '../../contract/types.ts';
import {
  accepted,
  type Check,
  type Expectation,
  holds,
  invalid,
  ofLast,
  type Row,
  refusal,
  resultLike,
  suppliedKey,
  table,
  unless,
} from '../row.ts';
import { pageList, post, shared } from '../samples.ts';
import { listIn } from '../shapes.ts';
import { choiceRows, integerRows, textRows } from './fields.ts';

const ofPage = (change: object) => post('extract', { ...pageList, ...change });
/** Nobody has so many followers that they cost anything. */
const nowhere = { target: 'zzqx-conformance-kwyjibo' };
const fewItems = shared(post('extract', { limit: 3 }));
const fromPage = shared(ofPage({ limit: 1 }));

const echoes = (wanted: Readonly<Record<string, unknown>>): Check =>
  holds(Object.fromEntries(Object.entries(wanted).map(([name, value]) => [`metadata.${name}`, value])));

/** What is sent in place of a target, or of both, and comes back. */
const echo = (type: string, target: string) => [post('extract', { type, target }), echoes({ type, target })];

const atMost = (most: number): Check =>
  ofLast(({ json }) => {
    const { length } = listIn(json, 'data');
    return unless(length <= most, `${length} items`);
  });

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
const notPublicRows = Object.entries(notPublic).flatMap(([kind, hosts]) =>
  hosts
    .split(' ')
    .map((host, at) => [
      `web2list-${kind}-${at + 1}: the target of web2list is public, which ${host} is not`,
      ofPage({ target: `http://${host}/list` }),
    ]),
);

function targetOf(type: string): string {
  if (type.startsWith('github_repo')) return 'octocat/hello-world';
  return type.startsWith('github') ? 'octocat' : 'nasa';
}

const again = post('extract', {}, { idempotencyKey: 'extract/duplicate' });
/** The first answer again, or a refusal: both are allowed. */
const replayed: Expectation = {
  ...refusal(409),
  status: [200, 409],
  check: (first, answer) => [
    ...unless(answer.status !== 200 || answer.text === first.text, 'the body differs from the first one'),
    ...(answer.status === 200 ? suppliedKey(answer) : []),
  ],
};

const { limit: _, ...wanted } = pageList;
const fields = 'the answer has success, data and metadata, and no other fields';
const repeats = 'metadata repeats type and target as they were sent';
const types = extractionTypes
  .filter((type) => type !== 'web2list')
  .map((type): [string, object] => [type, { target: targetOf(type) }]);

export const extractRows: readonly Row[] = [
  ...table('extract/', fewItems, {
    [`body: ${fields}`]: resultLike('extract'),
    [`web2list-body: ${fields}`]: [fromPage, resultLike('extract')],
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'instruction-none: metadata.instruction is null when none was sent': echoes({ instruction: null }),
    'limit-in-effect: metadata.limit is the limit of the request': echoes({ limit: 3 }),
    'at-most-limit: limit is the maximum number of results': atMost(3),
    'default-limit: limit is 100 by default': [
      post('extract', { limit: undefined, ...nowhere }),
      echoes({ limit: 100 }),
    ],
    'failure: when success is false, data says why': [
      post('extract', { target: 'nobody' }),
      resultLike('extract'),
    ],
    [`echo: ${repeats}`]: echo('github_user_followers', 'octocat'),
    [`echo-address: ${repeats}`]: echo('github_user_followers', 'https://GitHub.com/Octocat'),
    [`echo-handle: ${repeats}`]: echo('x_followers', '@NASA'),
  }),
  ...table('extract/', fromPage, {
    'web2list-limit: web2list ignores limit: metadata.limit is always 100': echoes({ limit: web2listLimit }),
    'web2list-at-most-100: web2list gives at most 100 items': atMost(web2listLimit),
    'web2list-ignores-limit: web2list gives as many items with a limit as without one': [
      fromPage,
      ofPage({}),
      (limited, answer) => {
        const isCut = listIn(answer.json, 'data').length > 1 && listIn(limited.json, 'data').length <= 1;
        return unless(!isCut, 'more than one item, but one with limit 1');
      },
    ],
    'web2list-echo: metadata repeats type, target and instruction': echoes(wanted),
  }),
  ...choiceRows('extract', 'type', types),
  // Addresses: a handle of this length may be wrong for other reasons.
  ...textRows('extract', limits.extractTarget, pageList.target, pageList),
  ...table('extract/', accepted, {
    'instruction-is-null: instruction is a string or null': post('extract', { instruction: null }),
  }),
  ...textRows('extract', limits.extractInstruction),
  ...integerRows('extract', limits.extractLimit, nowhere),
  ...table('extract/', invalid, {
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
  ...table('extract/', replayed, {
    'duplicate: a repeated request gets its first answer again, or 409': [again, again],
  }),
];
