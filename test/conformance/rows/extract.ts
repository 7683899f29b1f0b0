import { limits, web2listLimit } from '../../../src/contract/limits.ts';
import { extractionTypes } from '../../../src/contract/types.ts';
import { atMost, type Check, holds, resultLike, suppliedKey, unless } from '../checks.ts';
import { problemsOf } from '../interpreter.ts';
import { checks, type Row, rows, sampleOf, scenarios, table } from '../row.ts';
import type { Request } from '../service.ts';
import { listIn } from '../shapes.ts';
import { choiceRows, integerRows, textRows } from './fields.ts';
import { pageList, post, shared } from './samples.ts';

const ofPage = (change: object) => post('extract', { ...pageList, ...change });
/** A name that no account has, so that the request costs nothing. */
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

/** The first answer again and a refusal are both allowed. */
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
  ...scenarios('extract/', [...fromPage.pays, ...unlimited.pays], {
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
  ...scenarios('extract/', [again], {
    'duplicate: a repeated request gets its first answer again, or 409': async (service) => {
      const first = await service.accepted(again);
      const second = await service.send(again);
      const isSame = second.status !== 200 || second.text === first.text;
      return [
        ...problemsOf(second, [200, 409]),
        ...unless(isSame, 'the body differs from the first one'),
        ...(second.status === 200 ? suppliedKey(second) : []),
      ];
    },
  }),
];
