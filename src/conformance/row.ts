import { endpoints } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/errors.ts';
import { type Answer, type KeyName, type Request, RowError, type TestedService } from './service.ts';
import { envelope, flawsOf, memberOf, quoted, results, type Shape } from './shapes.ts';

/** What is wrong, one line each; empty when nothing. */
export type Problems = readonly string[];

export type Check = (answer: Answer) => Problems;
/** What a row of several requests does, and finds wrong. */
export type Steps = (service: TestedService) => Promise<Problems>;

export interface Expectation {
  readonly status: readonly number[];
  /** Of an error; the type's place in the envelope is not documented, and neither that it is always there. */
  readonly types: readonly ErrorType[];
  readonly check?: Check | undefined;
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
  /** What is wrong, by the last answer of the service; throws RowError where that can't be judged. */
  readonly run: Steps;
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

/** Rows by `<name>: <rule>` with what they send, whose answers are all as expected; a check expects 200. */
export function table(
  prefix: string,
  expect: Expectation | Check,
  samples: Readonly<Record<string, Request | Sample>>,
): Row[] {
  const expectation = typeof expect === 'function' ? expecting(200, expect) : expect;
  return Object.entries(samples).map(([key, sample]) => {
    const { sends, take } = sampleOf(sample);
    // What is refused costs nothing; a sample may have needed more than that.
    const pays = 'take' in sample || expectation.status.includes(200) ? sends : [];
    return toRow(prefix + key, sends, pays, expectation, async (service) => {
      service.last = await take(service);
      return problemsOf(service.last, expectation);
    });
  });
}

/** Rows by `<name>: <rule>` with what they see in the same answer. */
export function checks(
  prefix: string,
  sample: Request | Sample,
  some: Readonly<Record<string, Check>>,
): Row[] {
  return Object.entries(some).flatMap(([key, check]) => table(prefix, check, { [key]: sample }));
}

/** Rows by `<name>: <rule>` of several requests, of which `sends` are those that may be charged. */
export function scenarios(
  prefix: string,
  sends: readonly Request[],
  some: Readonly<Record<string, Steps>>,
  expect: Expectation = accepted,
): Row[] {
  const expectation = { ...expect, check: () => [] };
  return Object.entries(some).map(([key, run]) => toRow(prefix + key, sends, sends, expectation, run));
}

function toRow(
  key: string,
  sends: readonly Request[],
  pays: readonly Request[],
  { status, types, check }: Expectation,
  run: Steps,
): Row {
  const [id = ''] = key.split(': ', 1);
  const expected = [status, types].filter(({ length }) => length > 0).map((some) => some.join(' or '));
  return {
    id,
    rule: key.slice(id.length + 2),
    expected: expected.join(' ') + (check === undefined ? '' : ', and what the rule says'),
    keys: sends.flatMap(({ apiKey = 'main' }) => (apiKey === 'none' || apiKey === 'unknown' ? [] : [apiKey])),
    pays: pays.filter(isPaid),
    run,
  };
}

export function sampleOf(sample: Request | Sample): Sample {
  return 'take' in sample ? sample : { sends: [sample], take: (service) => service.send(sample) };
}

/** What an answer breaks. Throws RowError when its status is another one. */
export function problemsOf(answer: Answer, { status, types, check }: Expectation): Problems {
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
  if (found.some((type) => types.some((one) => one === type))) return [];
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

/** One of these statuses, with the types that the document has for them. */
export function expecting(status: number | readonly number[], check?: Check): Expectation {
  const all = [status].flat();
  return {
    status: all,
    types: errorRows.filter((one) => all.includes(one.status)).map(({ type }) => type),
    check,
  };
}

export const accepted = expecting(200);
export const invalid = expecting(422);
/** Of a key whose account has no credits: 402, unless it is free, but not 422. */
export const unpaid = expecting([402, 200]);

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
