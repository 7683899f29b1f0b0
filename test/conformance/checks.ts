import type { Answer } from './service.ts';
import { flawsOf, listIn, memberOf, quoted, results, type Shape } from './shapes.ts';

/** What can be wrong with an answer. */

/** What is wrong, one line each; empty when nothing is. */
export type Problems = readonly string[];
export type Check = (answer: Answer) => Problems;

export function unless(holds: boolean, problem: string): Problems {
  return holds ? [] : [problem];
}

/** Compares what was found with what it should be. */
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

/** Checks that the members at these paths are exactly these. */
export function holds(wanted: Readonly<Record<string, unknown>>): Check {
  return ({ json }) =>
    Object.entries(wanted).flatMap(([path, value]) => same(`$.${path}`, memberOf(json, path), value));
}

/** Checks that a list in the answer has at most `most` items; `what` is their name. */
export function atMost(most: number, list: string, what = list): Check {
  return ({ json }) => {
    const { length } = listIn(json, list);
    return unless(length <= most, `${length} ${what}`);
  };
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
