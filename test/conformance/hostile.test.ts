import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { contactResult, creditBalance, taskPage, taskStatus } from '../helpers/bodies.ts';
import { check } from './check.ts';
import { createOwnClock, ownRun } from './double.ts';
import { type Row, toExpected } from './row.ts';
import { rows } from './rows/index.ts';
import { flawsOf, page as pageShape, quoted } from './shapes.ts';

/** Whatever a service answers, every row gets its verdict. */

const entity = {
  name: 'Ada',
  links: { website: 'https://ada.example' },
  description: 'text',
  score: { score: '0.9', reason: 'text' },
  enrich_fields: { headcount: { content: '1', reference: 'text' } },
};
const batch = { object: 'entity_search_batch', batch_index: 1, count: 1, cum_count: 1, entities: [entity] };
const done = { object: 'entity_search_done', cum_count: 1, stop_reason: 'limit', finish: true };
const page = taskPage('ls_1', 'done', [entity], { pts: 0, num: 5 }, 7);
const metadata = { type: 'web2list', target: 'text', instruction: null, limit: 1 };

/** What a service says that keeps to the document. */
const bodies: Readonly<Record<Exclude<EndpointName, 'search'>, object>> = {
  createTask: { leads_search_id: 'ls_1' },
  status: taskStatus('done', 1),
  fetch: page,
  contactSearch: contactResult('email', 'text', 'text'),
  deepSearch: { success: true, answer: { Result: 'text', Citations: [] } },
  enrich: { success: true, answer: { city: 'text' } },
  extract: { success: true, data: [{ name: 'text' }], metadata },
  balance: creditBalance(100),
};
const events: readonly object[] = [{ ...batch, leads_search_id: 'ls_1' }, done];

const deep = fc.integer({ min: 5000, max: 20_000 });
const odd = fc.oneof(
  deep.map((levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`),
  deep.map((levels) => `${'{"status":'.repeat(levels)}1${'}'.repeat(levels)}`),
  fc.constantFrom(
    '{"toString":1,"valueOf":1}',
    '{"toString":null,"toJSON":1,"length":5}',
    '{"__proto__":{"name":1},"constructor":1}',
    'null',
    'true',
    '1e999',
    '-0.5',
    '""',
    '[null]',
    `"${'x'.repeat(100_000)}"`,
  ),
);

/** The members of an answer on all levels, as paths. */
function pathsOf(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [...path, name],
    ...pathsOf(inner, [...path, name]),
  ]);
}

/** As JSON, with something else in one place. */
function written(value: object, path: readonly string[], text: string): string {
  const copy = structuredClone(value) as Record<string, unknown>;
  let inner = copy;
  for (const name of path.slice(0, -1)) inner = inner[name] as Record<string, unknown>;
  inner[path.at(-1) as string] = '\u0001';
  return JSON.stringify(copy).replace('"\\u0001"', () => text);
}

type Answers = (path: string) => string;

function answering(change: { path: readonly string[]; text: string }): Answers {
  const [part = '', ...path] = change.path;
  return (asked) => {
    const name = Object.entries(endpoints).find(([, endpoint]) => endpoint.path === asked)?.[0];
    if (name === 'search') {
      const payloads = events.map((event, at) =>
        part === `event ${at}` ? written(event, path, change.text) : JSON.stringify(event),
      );
      return [...payloads, '[DONE]'].map((payload) => `data: ${payload}\n\n`).join('');
    }
    const body = bodies[name as keyof typeof bodies];
    return name === part ? written(body, path, change.text) : JSON.stringify(body);
  };
}

const places = [
  ...Object.entries(bodies).flatMap(([name, body]) => pathsOf(body, [name])),
  ...events.flatMap((event, at) => pathsOf(event, [`event ${at}`])),
];

// Of a service that accepts everything, these rows are about what is in the answers.
const judged = rows.filter(({ does }) => {
  const last = typeof does === 'function' ? undefined : does.at(-1);
  return last === undefined || toExpected(last[1]).check !== undefined;
});

/** The results of rows where every request gets the same answer, but for its path. */
function answered(some: readonly Row[], answer: (path: string) => Response) {
  const fetch = async (input: string | URL | Request) => answer(new URL(String(input)).pathname);
  return check({ ...ownRun, fetch, clock: createOwnClock() }, some);
}

const judge = (answers: Answers) => answered(judged, (path) => new Response(answers(path)));

it('no row passes both where everything is accepted and where everything is refused', async () => {
  const passed = async (status: number, body: object): Promise<string[]> => {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'any' };
    const results = await answered(rows, () => Response.json(body, { status, headers }));
    return results.filter(({ result }) => result === 'passed').map(({ row }) => row);
  };
  const accepted = await passed(200, {});
  const refused = await passed(422, { error: { type: 'invalid_request_error', message: 'no' } });
  expect(accepted.length).toBeGreaterThan(50);
  expect(refused.length).toBeGreaterThan(150);
  expect(accepted.filter((row) => refused.includes(row))).toEqual([]);
});

describe('a service that answers with something of another type', () => {
  it('passes most of these rows when it does not', async () => {
    const results = await judge(answering({ path: [], text: '' }));
    expect(results.filter(({ result }) => result === 'passed').length).toBeGreaterThan(60);
  });

  it('gets a verdict on every row', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), odd, async (path, text) => {
        const results = await judge(answering({ path, text }));
        expect(results.map(({ row }) => row)).toEqual(judged.map(({ id }) => id));
      }),
      { numRuns: 80 },
    );
  });
});

describe('a value is quoted', () => {
  const nested = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown;
  it.each([
    ['absent', undefined, 'absent'],
    ['short', { a: [1, 'x', null, { b: true }] }, '{"a":[1,"x",null,{"b":true}]}'],
    ['empty', [{}, []], '[{},[]]'],
    ['long', 'x'.repeat(100), `"${'x'.repeat(59)}…`],
    ['deep', nested, 'JSON that is nested too deeply'],
    ['without toString', { toString: 1, valueOf: 1 }, '{"toString":1,"valueOf":1}'],
  ])('%s', (_, value, text) => expect(quoted(value)).toBe(text));

  it('and an answer may have two hundred thousand problems', () => {
    const entities = Array.from({ length: 200_000 }, () => 1);
    expect(flawsOf(pageShape, { ...page, entities })).toHaveLength(200_000);
  });
});
