import { limits, web2listLimit } from '../../src/contract/limits.ts';
import type { Check, Problems } from './checks.ts';
import { type Answer, isPaid, type Request, type TestedService } from './service.ts';
import { memberOf } from './shapes.ts';

/** What a row is made of. interpreter.ts reads it. */

/** Several requests, from which an answer follows. */
export interface Sample {
  /** The most expensive requests that it may send: the cost of a row must be known before anything is sent. */
  readonly pays: readonly Request[];
  readonly take: (service: TestedService) => Promise<Answer>;
}

/** Allowed statuses; a check, which a 200 must pass; or both. */
export type Expectation = number | readonly number[] | Check | Expected;

export interface Expected {
  readonly status: readonly number[];
  readonly check?: Check;
}

/** A request, and what must be answered. */
export type Exchange = readonly [request: Request | Sample, expect: Expectation];

/** Compares several answers. Returns what is wrong; throws RowError where that can't be decided. */
export type Scenario = (service: TestedService) => Promise<Problems>;

export interface Row {
  /** `<section>/<name>` */
  readonly id: string;
  readonly rule: string;
  /** The exchanges, one after the other. */
  readonly does: readonly Exchange[] | Scenario;
  /** The requests that a correct service may charge to the main account. Requests that rows share are the same object. */
  readonly pays: readonly Request[];
}

type Table<Value> = Readonly<Record<string, Value>>;

/** The same names with other values. */
export function mapped<From, To>(some: Table<From>, to: (value: From) => To): Table<To> {
  return Object.fromEntries(Object.entries(some).map(([name, value]) => [name, to(value)]));
}

/** Rows by `<name>: <rule>`, each with its exchanges. */
export function sequences(prefix: string, some: Table<readonly Exchange[]>): Row[] {
  return Object.entries(some).map(([key, does]) => {
    const pays = does.flatMap(([request, expect]) => {
      if ('take' in request) return request.pays;
      // What is refused costs nothing.
      return toExpected(expect).status.includes(200) ? [request] : [];
    });
    return toRow(prefix + key, does, pays);
  });
}

/** Rows of one exchange. */
export function rows(prefix: string, some: Table<Exchange>): Row[] {
  return sequences(
    prefix,
    mapped(some, (exchange) => [exchange]),
  );
}

/** Rows with the same expectation. */
export function table(prefix: string, expect: Expectation, some: Table<Request | Sample>): Row[] {
  return rows(
    prefix,
    mapped(some, (request) => [request, expect]),
  );
}

/** Rows that check the same answer. */
export function checks(prefix: string, request: Request | Sample, some: Table<Check>): Row[] {
  return rows(
    prefix,
    mapped(some, (check) => [request, check]),
  );
}

/** Rows that compare several answers; `pays` are the requests that may be charged. */
export function scenarios(prefix: string, pays: readonly Request[], some: Table<Scenario>): Row[] {
  return Object.entries(some).map(([key, scenario]) => toRow(prefix + key, scenario, pays));
}

function toRow(key: string, does: Row['does'], pays: readonly Request[]): Row {
  const [id = ''] = key.split(': ', 1);
  return { id, rule: key.slice(id.length + 2), does, pays: pays.filter(isPaid) };
}

export function sampleOf(request: Request | Sample): Sample {
  return 'take' in request ? request : { pays: [request], take: (service) => service.send(request) };
}

/** For a key whose account has no credits: 402, or 200 if the request is free, but not 422. */
export const unpaid = [402, 200];

export function toExpected(expectation: Expectation): Expected {
  if (typeof expectation === 'function') return { status: [200], check: expectation };
  const isWhole = typeof expectation === 'object' && 'status' in expectation;
  return isWhole ? expectation : { status: [expectation].flat() };
}

/** What a paid request is charged by, and how many of it at most. */
function unitsOf({ endpoint, body }: Request): [unit: string, count: number] {
  const limit = memberOf(body, 'limit');
  const most = typeof limit === 'number' ? limit : limits.entityLimit.default;
  const isPage = memberOf(body, 'type') === 'web2list';
  const units: Record<string, [string, number]> = {
    search: ['search lead', most],
    createTask: ['task lead', most],
    contactSearch: [`${memberOf(body, 'contact_type')} lookup`, 1],
    deepSearch: ['research question', 1],
    enrich: ['enrichment', 1],
    extract: ['extracted item', isPage ? web2listLimit : most],
  };
  return units[endpoint] ?? ['', 0];
}

/** The most that these rows cost a service which charges only for what it must accept, by unit. */
export function costAtMost(rows: readonly Row[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const request of new Set(rows.flatMap(({ pays }) => pays))) {
    const [unit, count] = unitsOf(request);
    counts.set(unit, (counts.get(unit) ?? 0) + count);
  }
  return counts;
}
