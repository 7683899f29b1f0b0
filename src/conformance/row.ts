import { endpoints } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/errors.ts';
import type { Action, Answer, KeyName, Request, Step } from './service.ts';
import { flawsOf, memberOf, quoted, results, type Shape } from './shapes.ts';

/** What the answers of a row's steps break, one line each, empty when nothing. The last one is judged. */
export type Check = (...answers: Answer[]) => readonly string[];

export interface Expectation {
  readonly status: readonly number[];
  /** Of an error; the type's place in the envelope is not documented, and neither that it is always there. */
  readonly types?: readonly ErrorType[];
  readonly check?: Check;
}

export interface Row {
  /** `<section>/<name>`, stable: people put it in their notes. */
  readonly id: string;
  readonly rule: string;
  /** The answer to the last one is judged. */
  readonly steps: readonly Step[];
  readonly expect: Expectation;
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

/** A check stands for an answer with 200 that it finds nothing in. */
type Part = Step | Expectation | Check;

/** Rows by `<name>: <rule>`: their steps, then what is expected. `usual` is what they leave out. */
export function table(
  prefix: string,
  usual: Part,
  rows: Readonly<Record<string, Part | readonly Part[]>>,
): Row[] {
  return Object.entries(rows).map(([key, row]) => {
    const [name = ''] = key.split(': ', 1);
    const parts = [row].flat() as Part[];
    const steps = parts.filter(isStep);
    const expect = parts.find((part) => !isStep(part)) ?? usual;
    return {
      id: prefix + name,
      rule: key.slice(name.length + 2),
      steps: steps.length > 0 ? steps : [usual as Step],
      expect: typeof expect === 'function' ? { status: [200], check: expect } : (expect as Expectation),
    };
  });
}

function isStep(part: Part): part is Step {
  return 'endpoint' in part || 'take' in part;
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

export function unless(holds: boolean, problem: string): readonly string[] {
  return holds ? [] : [problem];
}

/** What was found, and what it should be. */
export function same(what: string, found: unknown, wanted: unknown): readonly string[] {
  return unless(found === wanted, `${what} is ${quoted(found)}, not ${quoted(wanted)}`);
}

export function ofLast(check: (answer: Answer) => readonly string[]): Check {
  return (...answers) => check(answers.at(-1) as Answer);
}

export const bodyLike = (shape: Shape): Check => ofLast(({ json }) => flawsOf(shape, json));

/** The answer of an operation that may end without a result, and says so. */
export const resultLike = (of: keyof typeof results): Check =>
  ofLast(({ json }) => flawsOf(results[of][memberOf(json, 'success') === false ? 'without' : 'with'], json));

/** The members at these paths are exactly these. */
export function holds(wanted: Readonly<Record<string, unknown>>): Check {
  return ofLast(({ json }) =>
    Object.entries(wanted).flatMap(([path, value]) => same(`$.${path}`, memberOf(json, path), value)),
  );
}

export function header(name: string, accepts: (value: string, answer: Answer) => boolean): Check {
  return ofLast((answer) => {
    const value = answer.headers.get(name);
    if (value === null) return [`the header ${name} is missing`];
    return unless(accepts(value, answer), `${name} is ${quoted(value)}`);
  });
}

const isFilled = (value: string): boolean => value.trim() !== '';
export const requestId = header('X-Request-Id', isFilled);
export const noStore = header('Cache-Control', (value) => /(^|,)\s*no-store\s*(,|$)/i.test(value));
export const suppliedKey = header('Idempotency-Key', (value, { sentKey }) => value === sentKey);
export const generatedKey = header('Idempotency-Key', isFilled);
export const jsonType = header('Content-Type', (type) =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type),
);

/** The requests of rows that a service which keeps the rules may charge to the main account; `taken` are shared actions, to which it adds. */
export function paidRequestsOf(rows: readonly Row[], taken = new Set<Action>()): Request[] {
  const paidBy = (step: Step): readonly Request[] => {
    if (!('take' in step)) return isPaid(step) ? [step] : [];
    if (taken.has(step)) return [];
    if (step.once) taken.add(step);
    return step.sends.flatMap(paidBy);
  };
  return rows.flatMap(({ steps, expect }) =>
    steps.flatMap((step, at) => {
      if ('take' in step) return paidBy(step);
      const statuses = at === steps.length - 1 ? expect.status : (step.answered ?? [200]);
      return statuses.includes(200) ? paidBy(step) : [];
    }),
  );
}

function isPaid({ endpoint, apiKey = 'main' }: Request): boolean {
  return endpoints[endpoint].method === 'POST' && apiKey === 'main';
}

/** The keys that a row needs beside the main one. */
export function keysOf({ steps }: Row): KeyName[] {
  const requests = steps.flatMap((step) => ('take' in step ? step.sends : [step]));
  const names = requests.map((one) => ('take' in one ? undefined : one.apiKey));
  return names.filter((name) => name !== undefined && name !== 'none' && name !== 'unknown');
}
