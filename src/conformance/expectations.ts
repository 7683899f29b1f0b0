import type { EndpointName } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/errors.ts';
import { isObject } from '../json/object.ts';
import type { Answer, Check, Expectation, Request, Row, Step } from './row.ts';
import { names } from './samples.ts';
import { envelope, quoted, type Shape } from './shapes.ts';

/** A request that the service accepts; `check` is the rule, where it is more than that. */
export function accepted(says?: string, check?: Check): Expectation {
  return {
    status: [200],
    ...(says === undefined ? {} : { says }),
    ...(check === undefined ? {} : { check }),
  };
}

/** A refusal with the types that the document has for this status, or some of them. */
export function refusal(status: number, types: readonly ErrorType[] = typesOf(status)): Expectation {
  return { status: [status], types };
}

export const invalid = refusal(422);
export const conflicting = refusal(409);
/** Of a key whose account has no credits: 402, unless it is free, but not 422. */
export const unpaid: Expectation = { ...refusal(402), status: [402, 200] };

export function unless(holds: boolean, problem: string): readonly string[] {
  return holds ? [] : [problem];
}

export type Send = (change: object) => Request;

/** Rows by `<name>: <rule>`: what comes of the usual request, or of another one. */
type Table = Readonly<Record<string, Expectation | (Omit<Row, 'id' | 'rule' | 'request'> & Partial<Row>)>>;

export function table(section: string, usual: Step, rows: Table): Row[] {
  return Object.entries(rows).map(([key, row]) => {
    const [name = ''] = key.split(': ', 1);
    const rule = key.slice(name.length + 2);
    return { id: `${section}/${name}`, rule, request: usual, ...('expect' in row ? row : { expect: row }) };
  });
}

/** Rows by `<name>: <rule>`, of a right request in which something is changed. */
export function changed<Change extends object>(
  section: string,
  toRequest: (change: Change) => Step,
  expect: Expectation,
  changes: Readonly<Record<string, Change>>,
): Row[] {
  return Object.entries(changes).flatMap(([key, change]) =>
    table(section, toRequest(change), { [key]: expect }),
  );
}

/** Rows by `<rest of the name>: <rule>`, of each of these endpoints. */
export function each<Name extends EndpointName>(
  section: string,
  some: readonly Name[],
  expect: Expectation,
  requests: Readonly<Record<string, (endpoint: Name) => Step>>,
): Row[] {
  return Object.entries(requests).flatMap(([key, toRequest]) =>
    some.flatMap((one) => table(section, toRequest(one), { [`${names[one]}-${key}`]: expect })),
  );
}

export const isJson = (value: string) => /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(value);

/** What stands in an answer under a path of names. */
export function memberOf({ json }: Answer, path: string): unknown {
  const inner = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
  return path.split('.').reduce(inner, json);
}

/** The members at these paths are exactly these. */
export function holds(wanted: Readonly<Record<string, unknown>>): Check {
  return (answer) =>
    Object.entries(wanted)
      .filter(([path, value]) => memberOf(answer, path) !== value)
      .map(([path, value]) => `$.${path} is ${quoted(memberOf(answer, path))}, not ${quoted(value)}`);
}

export function bodyLike(says: string, shape: Shape): Expectation {
  return accepted(says, (answer) => shape(answer.json, '$'));
}

export function header(
  name: string,
  wanted: string,
  accepts: (value: string, answer: Answer) => boolean,
): Expectation {
  return accepted(`${name}: ${wanted}`, (answer) => {
    const value = answer.headers.get(name);
    if (value === null) return [`the header ${name} is missing`];
    return accepts(value, answer) ? [] : [`${name} is ${quoted(value)}`];
  });
}

export const requestId = header('X-Request-Id', 'a text', (value) => value.trim() !== '');
export const noStore = header('Cache-Control', 'no-store', (value) =>
  value
    .toLowerCase()
    .split(',')
    .some((directive) => directive.trim() === 'no-store'),
);
export const suppliedKey = header(
  'Idempotency-Key',
  'as it was sent',
  (value, { sentKey }) => value === sentKey,
);
export const generatedKey = header(
  'Idempotency-Key',
  'one that the service generated',
  (value) => value.trim() !== '',
);

/** What the head and the body of an answer break. */
export function problemsOf(
  expect: Expectation,
  answer: Answer,
  earlier: readonly Answer[],
): readonly string[] {
  if (!expect.status.includes(answer.status))
    return [`${answer.status} instead of ${expect.status.join(' or ')}`];
  if (answer.status >= 400) {
    const head = expect.head?.(answer, earlier) ?? [];
    return [...envelope(answer.json, '$'), ...wrongType(expect, answer), ...head];
  }
  return expect.check?.(answer, earlier) ?? [];
}

export function toText({ status, types = [], says }: Expectation): string {
  const head = [status.join(' or '), types.join(' or ')].filter((part) => part !== '').join(' ');
  return says === undefined ? head : `${head}, ${says}`;
}

/** The status and, of an error, the type that was found. */
export function toSummary(answer: Answer): string {
  const type = answer.status < 400 ? undefined : documentedType(answer);
  return type === undefined ? String(answer.status) : `${answer.status} ${type}`;
}

export function documentedType(answer: Answer): ErrorType | undefined {
  return candidates(answer).find(isErrorType);
}

/**
 * The type's place in the envelope is not documented: any member where types usually stand will do, and an
 * envelope without one breaks nothing. But a documented type that belongs to another error does, and so does
 * something undocumented in the one place that is named for it.
 */
function wrongType({ types = [] }: Expectation, answer: Answer): readonly string[] {
  const found = candidates(answer);
  if (types.length === 0 || found.some((type) => types.some((one) => one === type))) return [];
  const named = isObject(answer.json) && isObject(answer.json.error) ? answer.json.error.type : undefined;
  const claimed = found.find(isErrorType) ?? (typeof named === 'string' ? named : undefined);
  return claimed === undefined
    ? []
    : [`the error type is ${quoted(claimed)} instead of ${types.join(' or ')}`];
}

function candidates({ json }: Answer): string[] {
  if (!isObject(json)) return [];
  const places = [...(isObject(json.error) ? [json.error] : []), json];
  return places
    .flatMap((place) => ['type', 'code', 'error_type', 'name', 'status'].map((member) => place[member]))
    .filter((value) => typeof value === 'string');
}

function isErrorType(type: string): type is ErrorType {
  return errorRows.some((row) => row.type === type);
}

function typesOf(status: number): ErrorType[] {
  return errorRows.filter((row) => row.status === status).map(({ type }) => type);
}
