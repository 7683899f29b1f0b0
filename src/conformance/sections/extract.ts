import { limits, web2listLimit } from '../../contract/limits.ts';
import { extractionTypes } from '../../contract/types.ts';
import {
  accepted,
  bodyLike,
  conflicting,
  holds,
  invalid,
  memberOf,
  section,
  suppliedKey,
} from '../expectations.ts';
import { extraction as shape } from '../resources.ts';
import { type Answer, type Expectation, type Row, shared } from '../row.ts';
import { extraction, pageExtraction, post, targetOf } from '../samples.ts';
import { quoted } from '../shapes.ts';
import { choiceRows, integerRows, textRows } from './fields.ts';

const send = (change: object) => post('extract', { body: { ...extraction, ...change } });
const ofPage = (change: object) => post('extract', { body: { ...pageExtraction, ...change } });
/** Nobody has so many followers that they cost anything. */
const nowhere = { target: 'zzqx-conformance-kwyjibo' };
const fewItems = shared('extraction', send({ limit: 3 }));
const fromPage = shared('page extraction', ofPage({ limit: 1 }));
const { row, right, holdsThat } = section('extract', send, fewItems);
const page = section('extract', ofPage, fromPage);

function echoes(wanted: Readonly<Record<string, unknown>>): Expectation {
  const members = Object.entries(wanted).map(([name, value]) => [`metadata.${name}`, value] as const);
  const says = members.map(([path, value]) => `${path} ${quoted(value)}`);
  return accepted(says.join(', '), holds(Object.fromEntries(members)));
}

function echo(id: string, change: Readonly<Record<string, string>>): Row {
  const body = { ...extraction, ...change };
  return row(
    id,
    'metadata repeats type and target as they were sent',
    echoes({ type: body.type, target: body.target }),
    send(change),
  );
}

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

export const extractRows: readonly Row[] = [
  row(
    'body',
    'the answer has success, data and metadata, and no other fields',
    bodyLike('an extract response', shape),
  ),
  page.row(
    'web2list-body',
    'the answer has success, data and metadata, and no other fields',
    bodyLike('an extract response', shape),
  ),
  row('idempotency-key', 'the answer has the Idempotency-Key of the request', suppliedKey),
  row('instruction-none', 'metadata.instruction is null when none was sent', echoes({ instruction: null })),
  row('limit-in-effect', 'metadata.limit is the limit of the request', echoes({ limit: 3 })),
  holdsThat('at-most-limit', 'limit is the maximum number of results', 'at most 3 items', (answer) =>
    itemsOf(answer).length > 3 ? [`${itemsOf(answer).length} items`] : [],
  ),
  row(
    'default-limit',
    'limit is 100 by default',
    echoes({ limit: 100 }),
    send({ limit: undefined, ...nowhere }),
  ),
  row(
    'failure',
    'when success is false, data says why',
    bodyLike('an extract response', shape),
    send({ target: 'nobody' }),
  ),
  echo('echo', {}),
  echo('echo-address', { target: 'https://GitHub.com/Octocat' }),
  echo('echo-handle', { type: 'x_followers', target: '@NASA' }),
  page.row(
    'web2list-limit',
    'web2list ignores limit: metadata.limit is always 100',
    echoes({ limit: web2listLimit }),
  ),
  page.holdsThat('web2list-at-most-100', 'web2list gives at most 100 items', 'at most 100 items', (answer) =>
    itemsOf(answer).length > web2listLimit ? [`${itemsOf(answer).length} items`] : [],
  ),
  page.row(
    'web2list-ignores-limit',
    'web2list gives as many items with a limit as without one',
    accepted('more than one item, if there are more', (answer, [limited]) =>
      itemsOf(answer).length > 1 && itemsOf(limited as Answer).length <= 1 ? ['one item with limit 1'] : [],
    ),
    ofPage({}),
    [fromPage],
  ),
  page.row(
    'web2list-echo',
    'metadata repeats type, target and instruction',
    echoes({ type: 'web2list', target: pageExtraction.target, instruction: pageExtraction.instruction }),
  ),
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
  right('instruction-is-null', 'instruction is a string or null', { instruction: null }),
  ...textRows('extract', send, limits.extractInstruction, { required: false }),
  ...integerRows('extract', send, limits.extractLimit, (change) => send({ ...nowhere, ...change })),
  page.wrong('web2list-without-instruction', 'web2list requires an instruction', { instruction: undefined }),
  page.wrong('web2list-instruction-null', 'web2list requires an instruction', { instruction: null }),
  page.wrong('web2list-not-a-url', 'the target of web2list is a URL', { target: 'example' }),
  page.wrong('web2list-ftp', 'the target of web2list is an HTTP or HTTPS URL', {
    target: 'ftp://example.com/list',
  }),
  page.wrong('web2list-file', 'the target of web2list is an HTTP or HTTPS URL', {
    target: 'file:///etc/passwd',
  }),
  ...Object.entries(notPublic).flatMap(([kind, hosts]) =>
    hosts.split(' ').map((host, at) =>
      page.wrong(`web2list-${kind}-${at + 1}`, `the target of web2list is public, which ${host} is not`, {
        target: `http://${host}/list`,
      }),
    ),
  ),
  row('unknown-field', 'extract rejects unknown fields', invalid, send({ conformance: true })),
  row('duplicate', 'a repeated request gets its first answer again, or 409', replayed, again, [again]),
];
