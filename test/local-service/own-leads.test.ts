import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileOf } from '../helpers/local-service.ts';
import { bareEnvironment, run, temporaryFolder } from '../helpers/run.ts';
import { type FoundLead, payloads, running } from './running.ts';

const [a, b] = ['https://a.example', 'https://b.example'] as const;
const serve = (name: string, content: string) => running({ catalogFile: fileOf(name, content) });

describe('leads that are there more than once', () => {
  const lead = (index: number) => ({
    name: `Kontora ${index}`,
    links: { website: `https://kontora${index}.example` },
    description: 'fintech',
  });
  const others = Array.from({ length: 60 }, (_, index) => lead(index + 1));

  it('count once, and do not end a search before its limit, also where an earlier search brought them', async () => {
    const service = await running({ leads: [...Array(60).fill(lead(0)), ...others] });
    const { leads, done, id } = await service.search({ limit: 50 });
    expect(new Set(leads.map(({ name }) => name)).size).toBe(50);
    expect(done.stop_reason).toBe('limit');
    const all = { cum_count: 61, stop_reason: 'source_finished' };
    expect((await service.search()).done).toMatchObject(all);
    const rest = { cum_count: 11, stop_reason: 'source_finished' };
    expect((await service.search({ limit: 50, dedup_service_leads: [id] })).done).toMatchObject(rest);
  });

  it.each([
    ['the same name alone', {}, {}, 1],
    ['the same name, other words', { description: 'fintech of Bern' }, {}, 2],
    ['the same name, other facts', { facts: { city: 'Bern' } }, { facts: { city: 'Rome' } }, 2],
    ['the same name and link', { links: { website: a } }, { links: { site: a } }, 1],
    ['one link of two', { links: { a } }, { links: { a, b } }, 2],
  ])('%s', async (_, one, other, count) => {
    const base = { name: 'Ada King', description: 'fintech' };
    const service = await running({ leads: [one, other].map((more) => ({ ...base, ...more })) });
    expect((await service.search()).leads).toHaveLength(count);
  });
});

describe("a search's own output as a catalogue", () => {
  const fields = ['headcount', 'website', 'hobby'];
  const search = ['search', 'company', 'fintech in Berlin', '--local', '--limit', '5', '--enrich-fields'];

  /** What a search says about a lead, apart from how it ranks it. */
  const known = ({ score, ...rest }: FoundLead): object => rest;
  const sorted = (leads: readonly FoundLead[]) =>
    leads.map(known).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

  it('has the same links, fields and references', async () => {
    const cwd = temporaryFolder();
    const env = bareEnvironment();
    for (const file of ['leads.jsonl', 'leads.csv'])
      expect((await run([...search, fields.join(), '-o', file], { cwd, env })).code).toBe(0);
    const lines = readFileSync(join(cwd, 'leads.jsonl'), 'utf8').trim().split('\n');
    for (const file of ['leads.jsonl', 'leads.csv']) {
      const service = await running({ catalogFile: join(cwd, file) });
      const { leads } = await service.search({ objective: 'fintech in Berlin', enrich_fields: fields });
      expect(sorted(leads)).toEqual(sorted(lines.map((line) => JSON.parse(line))));
    }
  });

  it.each([
    [
      'neutralised cells',
      `name;description;twitter\n'@ada b;'=fintech;-\n`,
      { name: '@ada b', description: '=fintech' },
    ],
    [
      'links in one column',
      `name,website,links\nAda,${a},"{""website"":""${a}"",""b"":[1.10],""c"":""x""}"\n`,
      { links: { website: a, b: [1.1], c: 'x' } },
    ],
    ['a column called links', `name,links\nAda,${a}\n`, { links: { links: a } }],
    [
      'a field that is an address, and its reference',
      `name,homepage,homepage_reference\nAda,${a},${b}\n`,
      { links: {}, enrich_fields: { homepage: { content: a, reference: b } } },
    ],
    [
      'a field called like a link',
      `name,website,enrich_fields.homepage,homepage_reference\nAda,${a},x,${b}\n`,
      { links: { website: a }, enrich_fields: { homepage: { content: 'x', reference: b } } },
    ],
    ['a reference of nothing', `name,homepage_reference\nAda,${b}\n`, { links: { homepage_reference: b } }],
  ])('%s', async (_, csv, expected) => {
    const service = await serve('leads.csv', csv);
    const { leads } = await service.search({ objective: 'companies', enrich_fields: ['homepage'] });
    expect(leads).toMatchObject([expected]);
  });

  it('the position of a lead in its search is not part of it', async () => {
    const service = await serve('leads.jsonl', '{"leads_search_id":"ls_1","position":3,"name":"Ada"}\n');
    const { leads } = await service.search({ objective: 'Ada' });
    expect(leads.map(known)).toEqual([{ name: 'Ada' }]);
  });
});

it.each(['Which fintech companies are there?', 'fintech', 'Who is in fintech?'])(
  'leads without a type are what a question is answered from: %s',
  async (query) => {
    const leads = ['Ada', 'Bo'].map((name) => ({ name, description: 'fintech' }));
    const service = await running({ leads });
    expect(await service.json('deepSearch', { query })).toMatchObject({
      success: true,
      answer: { Result: expect.stringMatching(/^Found in the catalogue: 2 leads/) },
    });
  },
);

it('carriage returns between values do not end a line of the stream', async () => {
  const service = await serve('leads.jsonl', '{"name":"Ada",\r"more":{"a":1,\r"b":[2,\r3]}}\r\n');
  const text = await (await service.ask('search', { objective: 'Ada' })).text();
  expect(text).not.toContain('\r');
  expect(payloads(text)[0]).toMatchObject({ entities: [{ name: 'Ada', more: { a: 1, b: [2, 3] } }] });
});
