import { endpoints } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/errors.ts';
import type { Check, Problems } from './checks.ts';
import { type Answer, type KeyName, type Request, RowError, type TestedService } from './service.ts';
import { envelope, flawsOf, memberOf, quoted } from './shapes.ts';

/** The steps of a row with several requests. Returns what is wrong. */
export type Steps = (service: TestedService) => Promise<Problems>;

/** Allowed statuses; a check, which a 200 must pass; or both. */
export type Expectation = number | readonly number[] | Check | Expected;

export interface Expected {
  readonly status: readonly number[];
  /**
   * The allowed error types; by default those that the interface lists for the status. Where the envelope has the type, and whether it
   * always has one, is not documented.
   */
  readonly types?: readonly ErrorType[];
  readonly check?: Check;
}

/** Steps that end with an answer. */
export interface Sample {
  /** The most expensive requests that it may send: the cost of a row must be known before anything is sent. */
  readonly sends: readonly Request[];
  readonly take: (service: TestedService) => Promise<Answer>;
}

export interface Row {
  /** `<section>/<name>`. It never changes, since people keep it in their notes. */
  readonly id: string;
  readonly rule: string;
  readonly expected: string;
  /** The keys that it needs besides the main one. */
  readonly keys: readonly KeyName[];
  /** The requests that a correct service may charge to the main account. Shared requests are the same object. */
  readonly pays: readonly Request[];
  /** Runs the row, and returns what is wrong with the last answer. Throws RowError where that can't be decided. */
  readonly run: Steps;
}

/**
 * `skipped`: for a reason that the interface allows (not enabled here, or no credits). `left_out`: the user did not ask for it, or has no
 * key for it.
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

/** The reason of rows that are skipped because credits are missing. */
export const noCredits = 'no credits left for this';

export function sectionOf({ id }: Row): string {
  return id.slice(0, id.indexOf('/'));
}

type Table<Value> = Readonly<Record<string, Value>>;

/** The same names with other values. */
export function mapped<From, To>(some: Table<From>, to: (value: From) => To): Table<To> {
  return Object.fromEntries(Object.entries(some).map(([name, value]) => [name, to(value)]));
}

/** Rows by `<name>: <rule>`, with their requests and what must be answered. */
export function rows(prefix: string, some: Table<readonly [Request | Sample, Expectation]>): Row[] {
  return Object.entries(some).map(([key, [sample, expectation]]) => {
    const { sends, take } = sampleOf(sample);
    const expected = toExpected(expectation);
    // What is refused costs nothing, but a sample may have paid for earlier requests.
    const pays = 'take' in sample || expected.status.includes(200) ? sends : [];
    return toRow(prefix + key, sends, pays, expected, async (service) => {
      service.last = await take(service);
      return problemsOf(service.last, expected);
    });
  });
}

/** Rows with the same expectation, and the requests that they send. */
export function table(prefix: string, expect: Expectation, some: Table<Request | Sample>): Row[] {
  const both = mapped(some, (sample) => [sample, expect] as const);
  return rows(prefix, both);
}

/** Rows that check the same answer. */
export function checks(prefix: string, sample: Request | Sample, some: Table<Check>): Row[] {
  const both = mapped(some, (check) => [sample, check] as const);
  return rows(prefix, both);
}

/** Rows of several requests. `sends` are those that may be charged. */
export function scenarios(
  prefix: string,
  sends: readonly Request[],
  some: Table<Steps>,
  expect: Expectation = 200,
): Row[] {
  const expected = { ...toExpected(expect), check: () => [] };
  return Object.entries(some).map(([key, run]) => toRow(prefix + key, sends, sends, expected, run));
}

function toExpected(expectation: Expectation): Expected & { readonly types: readonly ErrorType[] } {
  if (typeof expectation === 'function') return { status: [200], types: [], check: expectation };
  const isWhole = typeof expectation === 'object' && 'status' in expectation;
  const expected = isWhole ? expectation : { status: [expectation].flat() };
  const known = errorRows.filter((one) => expected.status.includes(one.status));
  return { types: known.map(({ type }) => type), ...expected };
}

function toRow(
  key: string,
  sends: readonly Request[],
  pays: readonly Request[],
  { status, types, check }: ReturnType<typeof toExpected>,
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

/** What is wrong with an answer. Throws RowError when it has another status. */
export function problemsOf(answer: Answer, expectation: Expectation): Problems {
  const { status, types, check } = toExpected(expectation);
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
  if (candidates(answer).some((type) => types.some((one) => one === type))) return [];
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

/** For a key whose account has no credits: 402, or 200 if the request is free, but not 422. */
export const unpaid = [402, 200];

export function isPaid({ endpoint, apiKey = 'main' }: Request): boolean {
  return endpoints[endpoint].method === 'POST' && apiKey === 'main';
}

/** All requests that these rows may be charged for. */
export function paidRequestsOf(rows: readonly Row[]): Request[] {
  return [...new Set(rows.flatMap(({ pays }) => pays))];
}
