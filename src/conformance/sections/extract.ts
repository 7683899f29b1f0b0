import { limits, web2listLimit } from '../../contract/limits.ts';
import { extractionTypes } from '../../contract/types.ts';
import {
  accepted,
  allowedAtACost,
  bodyLike,
  conflicting,
  holds,
  memberOf,
  section,
  suppliedKey,
} from '../expectations.ts';
import { extraction as shape } from '../resources.ts';
import type { Expectation, Row, Step } from '../row.ts';
import { extraction, pageExtraction, post, sentence, targetOf } from '../samples.ts';
import { quoted } from '../shapes.ts';

const { extractTarget, extractInstruction, extractLimit } = limits;
const send = (change: object) => post('extract', { body: { ...extraction, ...change } });
const ofPage = (change: object) => post('extract', { body: { ...pageExtraction, ...change } });
const few: Step = (service) => service.once('extraction', send({ limit: 3 }));
const fromPage: Step = (service) => service.once('page extraction', ofPage({ limit: 5 }));
const { row, wrong, right } = section('extract', send, few);
const { wrong: wrongPage, right: rightPage } = section('extract', ofPage);

function echoes(wanted: Readonly<Record<string, unknown>>): Expectation {
  const members = Object.entries(wanted).map(([name, value]) => [`metadata.${name}`, value] as const);
  const says = members.map(([path, value]) => `${path} ${quoted(value)}`);
  return accepted(says.join(', '), holds(Object.fromEntries(members)));
}

const duplicate = send({ limit: 1 });
const label = 'extract/duplicate';

export const extractRows: readonly Row[] = [
  row(
    'body',
    'the answer has success, data and metadata, and no other fields',
    bodyLike('an extract response', shape),
  ),
  row(
    'web2list-body',
    'the answer has success, data and metadata, and no other fields',
    bodyLike('an extract response', shape),
    fromPage,
  ),
  row('idempotency-key', 'the answer has the Idempotency-Key of the request', suppliedKey),
  row('echo-type', 'metadata.type repeats the type', echoes({ type: extraction.type })),
  row('echo-target', 'metadata.target repeats the target', echoes({ target: extraction.target })),
  row('instruction-null', 'metadata.instruction is null when none was sent', echoes({ instruction: null })),
  row('limit-in-effect', 'metadata.limit is the limit of the request', echoes({ limit: 3 })),
  row(
    'at-most-limit',
    'limit is the maximum number of results',
    accepted('at most 3 items', (answer) => {
      const data = memberOf(answer, 'data');
      return Array.isArray(data) && data.length > 3 ? [`${data.length} items`] : [];
    }),
  ),
  row(
    'default-limit',
    'limit is 100 by default',
    echoes({ limit: 100 }),
    send({ limit: undefined, target: 'zzqx-conformance-kwyjibo' }),
  ),
  row(
    'failure',
    'when success is false, data says why',
    bodyLike('an extract response', shape),
    send({ target: 'nobody' }),
  ),
  row(
    'web2list-limit',
    'web2list ignores limit: metadata.limit is always 100',
    echoes({ limit: web2listLimit }),
    fromPage,
  ),
  row(
    'web2list-instruction',
    'metadata.instruction repeats the instruction',
    echoes({ instruction: pageExtraction.instruction }),
    fromPage,
  ),
  row(
    'web2list-echo',
    'metadata repeats type and target',
    echoes({ type: 'web2list', target: pageExtraction.target }),
    fromPage,
  ),
  ...extractionTypes
    .filter((type) => type !== 'web2list')
    .map((type) => right(`type-${type}`, `type can be ${type}`, { type, target: targetOf(type) })),
  wrong('type-missing', 'type is required', { type: undefined }),
  wrong('type-unknown', 'type is one of the types that the interface lists', { type: 'x_friends' }),
  wrong('type-a-number', 'type is a string', { type: 1 }),
  wrong('target-missing', 'target is required', { target: undefined }),
  wrong('target-empty', 'target has at least 1 character', { target: '' }),
  wrong('target-a-number', 'target is a string', { target: 42 }),
  // Addresses: a handle of this length may be wrong for other reasons.
  rightPage(`target-${extractTarget.max}`, 'target has at most 2048 characters', {
    target: pageExtraction.target.padEnd(extractTarget.max, 'x'),
  }),
  wrongPage(`target-${extractTarget.max + 1}`, 'target has at most 2048 characters', {
    target: pageExtraction.target.padEnd(extractTarget.max + 1, 'x'),
  }),
  right('instruction-is-null', 'instruction is a string or null', { instruction: null }),
  right(`instruction-${extractInstruction.max}`, 'instruction has at most 4000 characters', {
    instruction: sentence(extractInstruction.max),
  }),
  wrong(`instruction-${extractInstruction.max + 1}`, 'instruction has at most 4000 characters', {
    instruction: sentence(extractInstruction.max + 1),
  }),
  wrong('instruction-a-number', 'instruction is a string or null', { instruction: 42 }),
  wrong('limit-0', 'limit is at least 1', { limit: 0 }),
  wrong('limit-negative', 'limit is at least 1', { limit: -1 }),
  wrong(`limit-${extractLimit.max + 1}`, 'limit is at most 10000', { limit: extractLimit.max + 1 }),
  allowedAtACost(
    `extract/limit-${extractLimit.max}`,
    'limit is at most 10000',
    send({ limit: extractLimit.max }),
  ),
  wrong('limit-a-string', 'limit is an integer', { limit: '5' }),
  wrong('limit-a-fraction', 'limit is an integer', { limit: 1.5 }),
  wrongPage('web2list-without-instruction', 'web2list requires an instruction', { instruction: undefined }),
  wrongPage('web2list-instruction-null', 'web2list requires an instruction', { instruction: null }),
  wrongPage('web2list-not-a-url', 'the target of web2list is a URL', { target: 'example' }),
  wrongPage('web2list-ftp', 'the target of web2list is an HTTP or HTTPS URL', {
    target: 'ftp://example.com/list',
  }),
  wrongPage('web2list-file', 'the target of web2list is an HTTP or HTTPS URL', {
    target: 'file:///etc/passwd',
  }),
  wrongPage('web2list-localhost', 'the target of web2list is public', { target: 'http://localhost/list' }),
  wrongPage('web2list-loopback', 'the target of web2list is public', { target: 'http://127.0.0.1/list' }),
  wrongPage('web2list-private', 'the target of web2list is public', { target: 'http://192.168.0.1/list' }),
  {
    id: label,
    rule: 'a repeated request gets its first answer again, or 409',
    costs: true,
    before: [{ ...duplicate, idempotencyKey: label }],
    request: { ...duplicate, idempotencyKey: label },
    expect: {
      status: [200, 409],
      ...(conflicting.types === undefined ? {} : { types: conflicting.types }),
      says: 'and the same body with 200',
      check: (answer, [first]) =>
        answer.text === first?.text ? [] : ['the body differs from the first one'],
    },
  },
];
