import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { CreateTaskRequest } from '../../../src/contract/types.ts';
import { withExclusions, withExclusionsFirst } from '../../../src/operations/only-new/exclusions.ts';
import { type Identity, identityOf } from '../../../src/operations/only-new/identity.ts';
import type { Delivered } from '../../../src/operations/only-new/lists.ts';

const asked: CreateTaskRequest = { entity_type: 'company', objective: 'x', limit: 5 };
function line(id: string | null, ...names: string[]): Delivered {
  const leads = names.map((name) => identityOf(JSON.stringify({ name })) as Identity);
  const run = { list: 'l', time: 't', origin: 'o', key_fingerprint: 'f' };
  return { ...run, operation_id: `op_${id}`, leads_search_id: id, leads };
}
const many = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const exclusionsOf = (
  lines: readonly Delivered[],
  given: Partial<CreateTaskRequest> = {},
  isOurs = () => true,
) => {
  const request = withExclusions({ ...asked, ...given }, lines, isOurs);
  const { dedup_service_leads: ids, dedup_custom_leads: names, ...rest } = request;
  expect(rest).toEqual(asked);
  return { ids, names };
};

describe('what is left out', () => {
  const byHand = { dedup_service_leads: ['z'], dedup_custom_leads: ['b', 'c'] };
  const hundred = many(100, 's');
  const others = hundred.map((id) => line(id, `of ${id}`));
  const table: readonly [says: string, got: object, ids?: string[] | undefined, names?: string[]][] = [
    ['nothing, where nothing was delivered', exclusionsOf([])],
    ['the newest first', exclusionsOf([line('a', 'A', 'B'), line('b', 'C')]), ['b', 'a'], ['C', 'B', 'A']],
    ['only names where the ID was never said', exclusionsOf([line(null, 'A')]), undefined, ['A']],
    ['an ID once, a name once', exclusionsOf([line('a', 'A', ' a'), line('a', 'B')]), ['a'], ['B', 'a']],
    ['only names of another key’s search', exclusionsOf([line('a', 'A')], {}, () => false), undefined, ['A']],
    [
      'what was given by hand first',
      exclusionsOf([line('a', 'A', 'B')], byHand),
      ['z', 'a'],
      ['b', 'c', 'A'],
    ],
    [
      'no name that a service refuses',
      exclusionsOf([line('a', 'A\tB', 'B\0', 'C\ud800', 'D')]),
      ['a'],
      ['D'],
    ],
    [
      'names of other searches before those that the IDs cover',
      exclusionsOf([line('a', 'A'), ...others]),
      hundred.toReversed(),
      ['A', ...many(100, 'of s').reverse()],
    ],
  ];
  it.each(table)('%s', (_, got, ids, names) => expect(got).toEqual({ ids, names }));

  it('is all that the service takes, and no more, whatever the list and the lists by hand hold', () => {
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constant('名'.repeat(2000)));
    const lines = fc.array(
      fc
        .record({ id: fc.option(text), names: fc.array(text, { maxLength: 900 }) })
        .map(({ id, names }) => line(id, ...names.filter((name) => name.trim() !== ''))),
      { maxLength: 130 },
    );
    const idsByHand = fc.array(text, { maxLength: 100 });
    const namesByHand = fc.array(text, { maxLength: 1000 });
    const property = fc.property(lines, idsByHand, namesByHand, (all, ids, names) => {
      const given = { ...asked, dedup_service_leads: ids, dedup_custom_leads: names };
      fc.pre(Buffer.byteLength(JSON.stringify(given)) <= limits.requestBody.max);
      const { ids: sentIds = [], names: sentNames = [] } = exclusionsOf(all, given);
      expect(sentIds.slice(0, ids.length)).toEqual(ids);
      expect(sentNames.slice(0, names.length)).toEqual(names);
      expect(sentIds.length).toBeLessThanOrEqual(limits.dedupServiceLeads.max);
      expect(sentNames.length).toBeLessThanOrEqual(limits.dedupCustomLeads.max);
      const body = { ...asked, dedup_service_leads: sentIds, dedup_custom_leads: sentNames };
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(limits.requestBody.max);
    });
    fc.assert(property, { numRuns: 40 });
  });

  it('stops at one MiB, and takes the shorter names that still fit', () => {
    const long = many(400, '名'.repeat(99));
    const others = ['', '!', '?'].flatMap((end) => long.map((name) => name + end));
    const given = { dedup_custom_leads: many(10, 'x'.repeat(80_000)) };
    const { names = [] } = exclusionsOf([line('a', 'last', ...others, 'first')], given);
    expect(names).toContain('first');
    expect(names).toContain('last');
    expect(names.length).toBeLessThan(1000);
  });
});

describe('what the rest of a search leaves out', () => {
  const byHand = { dedup_service_leads: ['z'], dedup_custom_leads: ['b', 'c'] };
  const hundred = many(100, 's');
  it.each<
    [
      says: string,
      given: Partial<CreateTaskRequest>,
      ids: readonly string[],
      names: readonly string[],
      all: Partial<CreateTaskRequest>,
    ]
  >([
    ['nothing, where nothing has arrived', {}, [], [], {}],
    ['what the request does, where nothing has arrived', byHand, [], [], byHand],
    [
      'its own searches and leads',
      {},
      ['a', 'b'],
      ['A'],
      { dedup_service_leads: ['a', 'b'], dedup_custom_leads: ['A'] },
    ],
    [
      'these first',
      byHand,
      ['a'],
      ['A'],
      { dedup_service_leads: ['a', 'z'], dedup_custom_leads: ['A', 'b', 'c'] },
    ],
    [
      'each once',
      byHand,
      ['z', 'z'],
      ['C', ' c'],
      { dedup_service_leads: ['z'], dedup_custom_leads: ['C', 'b'] },
    ],
    [
      'those of the request as far as there is room',
      byHand,
      hundred,
      [],
      { ...byHand, dedup_service_leads: hundred },
    ],
    ['no name that a service refuses', {}, [], ['A\tB', '', 'D\ud800', 'C'], { dedup_custom_leads: ['C'] }],
  ])('%s', (_, given, ids, names, all) => {
    expect(withExclusionsFirst({ ...asked, ...given }, ids, names)).toEqual({ ...asked, ...all });
  });

  it('is as many names as the service takes', () => {
    const names = many(1200, 'n');
    const { dedup_custom_leads } = withExclusionsFirst({ ...asked, ...byHand }, [], names);
    expect(dedup_custom_leads).toEqual(names.slice(0, limits.dedupCustomLeads.max));
  });
});

it('the rest of a search is within the size of a request', () => {
  const names = Array.from({ length: 1000 }, (_, at) => `${at}`.padEnd(5000, 'x'));
  const requested: CreateTaskRequest = { entity_type: 'company', objective: 'x', limit: 5 };
  const fillers = Array.from({ length: 1000 }, (_, at) => `${at}`);
  const body = JSON.stringify(withExclusionsFirst(requested, ['ls_1'], [...names, ...fillers]));
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(limits.requestBody.max);
});
