import { endpoints } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/errors.ts';
import { type Answer, type KeyName, type Request, RowError, type TestedService } from './service.ts';
import { envelope, flawsOf, memberOf, quoted, results, type Shape } from './shapes.ts';

/** What is wrong, one line each; empty when nothing. */
export type Problems = readonly string[];

export type Check = (answer: Answer) => Problems;

export interface Expectation {
  readonly status: readonly number[];
  /** Of an error; the type's place in the envelope is not documented, and neither that it is always there. */
  readonly types?: readonly ErrorType[];
  readonly check?: Check;
}

/** Something done with the service that ends with an answer. */
export interface Sample {
  /** The dearest requests that it may send: what a row may cost is known before anything is sent. */
  readonly sends: readonly Request[];
  readonly take: (service: TestedService) => Promise<Answer>;
}

export interface Row {
  /** `<section>/<name>`, stable: people put it in their notes. */
  readonly id: string;
  readonly rule: string;
  readonly expected: string;
  /** The keys that it needs beside the main one. */
  readonly keys: readonly KeyName[];
  /** The requests that a service which keeps the rules may charge to the main account; shared ones are the same object. */
  readonly pays: readonly Request[];
  /** The answer that says it, and what is wrong; throws RowError where that can't be judged. */
  readonly run: (service: TestedService) => Promise<readonly [Answer, Problems]>;
}

/**
 * `skipped` has a reason that the document allows: not enabled here, or no credits. `left_out` is what the user did not
 * ask for, or has no key for.
 */
export type Verdict = 'passed' | 'failed' | 'skipped' | 'left_out';

export interface RowResult {
  readonly row: string;
  readonly section: string;
  readonly rule: string;
  readonly result: Verdict;
  readonly expected: string;
  readonly got: string;
  readonly request_id: string | null;
}

/** The reason of a row that is skipped for lack of credits. */
export const noCredits = 'no credits left for this';

export function sectionOf({ id }: Row): string {
  return id.slice(0, id.indexOf('/'));
}

/** `key` is `<id>: <rule>`. A check stands for an answer with 200 that it finds nothing in. */
export function row(key: string, sample: Request | Sample, expect: Expectation | Check): Row {
  const { sends, take } = sampleOf(sample);
  const expectation = typeof expect === 'function' ? { status: [200], check: expect } : expect;
  return {
    ...described(key, sends, expectation),
    // What is refused costs nothing; a sample may have needed more than that.
    pays: 'take' in sample || expectation.status.includes(200) ? sends.filter(isPaid) : [],
    async run(service) {
      const answer = await take(service);
      return [answer, problemsOf(answer, expectation)];
    },
  };
}

/** A row of several requests, of which `sends` are those that may be charged. What comes last is shown as its answer. */
export function scenario(
  key: string,
  sends: readonly Request[],
  run: (service: TestedService) => Promise<Problems>,
  expect: Expectation = accepted,
): Row {
  return {
    ...described(key, sends, { ...expect, check: () => [] }),
    pays: sends.filter(isPaid),
    async run(service) {
      const problems = await run(service);
      return [service.last as Answer, problems];
    },
  };
}

/** Rows by `<name>: <rule>` with what they send, whose answers are all as expected. */
export function table(
  prefix: string,
  expect: Expectation | Check,
  samples: Readonly<Record<string, Request | Sample>>,
): Row[] {
  return Object.entries(samples).map(([key, sample]) => row(prefix + key, sample, expect));
}

/** Rows by `<name>: <rule>` with what they see in the same answer. */
export function checks(
  prefix: string,
  sample: Request | Sample,
  some: Readonly<Record<string, Check>>,
): Row[] {
  return Object.entries(some).map(([key, check]) => row(prefix + key, sample, check));
}

function described(key: string, sends: readonly Request[], { status, types = [], check }: Expectation) {
  const [id = ''] = key.split(': ', 1);
  const expected = [status, types].filter(({ length }) => length > 0).map((some) => some.join(' or '));
  return {
    id,
    rule: key.slice(id.length + 2),
    expected: expected.join(' ') + (check === undefined ? '' : ', and what the rule says'),
    keys: sends.flatMap(({ apiKey = 'main' }) => (apiKey === 'none' || apiKey === 'unknown' ? [] : [apiKey])),
  };
}

export function sampleOf(sample: Request | Sample): Sample {
  return 'take' in sample ? sample : { sends: [sample], take: (service) => service.send(sample) };
}

/** What an answer breaks. Throws RowError when its status is another one. */
export function problemsOf(answer: Answer, { status, types = [], check }: Expectation): Problems {
  if (!status.includes(answer.status))
    throw new RowError(`${answer.status} instead of ${status.join(' or ')}`, answer);
  const problems = check?.(answer) ?? [];
  if (answer.status < 400) return problems;
  return [...flawsOf(envelope, answer.json), ...wrongType(types, answer), ...problems];
}

/**
 * The type's place in the envelope is not documented: any member where types usually stand will do, and an
 * envelope without one breaks nothing. But a documented type that belongs to another error does, and so does
 * something undocumented in the one place that is named for it.
 */
function wrongType(types: readonly ErrorType[], answer: Answer): Problems {
  const found = candidates(answer);
  if (types.length === 0 || found.some((type) => types.some((one) => one === type))) return [];
  const claimed = documentedType(answer) ?? memberOf(answer.json, 'error.type');
  if (typeof claimed !== 'string') return [];
  return [`the error type is ${quoted(claimed)} instead of ${types.join(' or ')}`];
}

function candidates({ json }: Answer): unknown[] {
  const members = ['type', 'code', 'error_type', 'name', 'status'];
  return ['error.', ''].flatMap((place) => members.map((member) => memberOf(json, place + member)));
}

export function documentedType(answer: Answer): ErrorType | undefined {
  return candidates(answer).flatMap((one) => errorRows.filter(({ type }) => type === one))[0]?.type;
}

/** A refusal with the types that the document has for this status. */
export function refusal(status: number, check?: Check): Expectation {
  const types = errorRows.filter((row) => row.status === status).map(({ type }) => type);
  return { status: [status], types, ...(check && { check }) };
}

export const accepted: Expectation = { status: [200] };
export const invalid = refusal(422);
/** Of a key whose account has no credits: 402, unless it is free, but not 422. */
export const unpaid: Expectation = { ...refusal(402), status: [402, 200] };

export function unless(holds: boolean, problem: string): Problems {
  return holds ? [] : [problem];
}

/** What was found, and what it should be. */
export function same(what: string, found: unknown, wanted: unknown): Problems {
  return unless(found === wanted, `${what} is ${quoted(found)}, not ${quoted(wanted)}`);
}

export const bodyLike =
  (shape: Shape): Check =>
  ({ json }) =>
    flawsOf(shape, json);

/** The answer of an operation that may end without a result, and says so. */
export const resultLike =
  (of: keyof typeof results): Check =>
  ({ json }) =>
    flawsOf(results[of][memberOf(json, 'success') === false ? 'without' : 'with'], json);

/** The members at these paths are exactly these. */
export function holds(wanted: Readonly<Record<string, unknown>>): Check {
  return ({ json }) =>
    Object.entries(wanted).flatMap(([path, value]) => same(`$.${path}`, memberOf(json, path), value));
}

export function header(name: string, accepts: (value: string, answer: Answer) => boolean): Check {
  return (answer) => {
    const value = answer.headers.get(name);
    if (value === null) return [`the header ${name} is missing`];
    return unless(accepts(value, answer), `${name} is ${quoted(value)}`);
  };
}

const isFilled = (value: string): boolean => value.trim() !== '';
export const requestId = header('X-Request-Id', isFilled);
export const noStore = header('Cache-Control', (value) => /(^|,)\s*no-store\s*(,|$)/i.test(value));
export const suppliedKey = header('Idempotency-Key', (value, { sentKey }) => value === sentKey);
export const generatedKey = header('Idempotency-Key', isFilled);
export const jsonType = header('Content-Type', (type) =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type),
);

export function isPaid({ endpoint, apiKey = 'main' }: Request): boolean {
  return endpoints[endpoint].method === 'POST' && apiKey === 'main';
}

/** What rows may be charged for, in all. */
export function paidRequestsOf(rows: readonly Row[]): Request[] {
  return [...new Set(rows.flatMap(({ pays }) => pays))];
}
