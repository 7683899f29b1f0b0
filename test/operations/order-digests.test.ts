import { describe, expect, it } from 'vitest';
import { digestsOf, type Ordered, toRowRequestText } from '../../src/operations/order-digests.ts';

describe('what the rows of a list are sent', () => {
  it('is the same text for what sends the same', () => {
    const type = 'x_followers';
    expect(toRowRequestText({ kind: 'extract', type })).toBe(
      toRowRequestText({ limit: 100, template: undefined, type, kind: 'extract' }),
    );
    const page = { kind: 'extract', type: 'web2list', instruction: 'names' } as const;
    expect(toRowRequestText(page)).toBe(toRowRequestText({ ...page, instruction: ' names ', limit: 7 }));
    expect(toRowRequestText({ template: '{a}', kind: 'research' })).toBe(
      toRowRequestText({ kind: 'research', template: '{a}' }),
    );
    expect(toRowRequestText({ kind: 'research' })).not.toBe(
      toRowRequestText({ kind: 'research', template: '{a}' }),
    );
  });
});

const search = { entity_type: 'company', objective: 'x', limit: 5 };
const order = (changes: Partial<Ordered> = {}): Ordered => ({
  command: 'search',
  origin: 'https://a.example',
  body: JSON.stringify(search),
  output: '/leads.csv',
  options: { format: 'csv' },
  ...changes,
});
const withOptions = (options: object) => order({ options: { format: 'csv', ...options } });

describe('an unfinished order into a file', () => {
  it.each<[says: string, other: Ordered]>([
    ['a format', withOptions({ format: 'jsonl' })],
    ['--append', withOptions({ append: true })],
    ['columns', withOptions({ columns: ['name'] })],
    ['--csv-raw', withOptions({ csv_raw: true })],
    ['a delimiter', withOptions({ delimiter: ';' })],
    ['--positions', withOptions({ positions: true })],
    ['another name of the answer', withOptions({ into: 'mail' })],
    ['a shard', withOptions({ shard: '0/2' })],
    ['a run', withOptions({ run: 'october' })],
    ['another file', order({ output: '/other.csv' })],
    ['another address', order({ origin: 'https://b.example' })],
    ['another objective', order({ body: JSON.stringify({ ...search, objective: 'y' }) })],
    ['--only-new', order({ requested: JSON.stringify(search) })],
    ['another list', order({ list: 'other' })],
  ])('is another one with %s', async (_, other) => {
    expect((await digestsOf(other)).same).not.toBe((await digestsOf(order())).same);
  });

  it('is the same with another limit, and whatever is left out today', async () => {
    const body = JSON.stringify({ ...search, limit: 7, dedup_service_leads: ['ls_1'] });
    expect(await digestsOf(order({ body }))).toEqual(await digestsOf(order()));
  });
});
