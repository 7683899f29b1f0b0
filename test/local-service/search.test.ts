import { describe, expect, it } from 'vitest';
import { FileError } from '../../src/local-service/server.ts';
import { fileOf } from '../helpers/local-service.ts';
import { type FoundLead, running } from './running.ts';

async function find(entity_type: string, objective: string, more: object = {}): Promise<FoundLead[]> {
  const service = await running();
  return (await service.search({ entity_type, objective, ...more })).leads;
}

describe('an objective', () => {
  const middling = ['Grünlicht', 'Pfandwerk', 'Zahlstelle'];
  it.each([
    ['company', 'seed-stage fintech in Berlin', ['Kontora', 'Pfandwerk']],
    ['company', 'Seed stage FinTechs based in Berlin!', ['Kontora', 'Pfandwerk']],
    ['company', 'Series A fintechs', ['Zahlstelle']],
    ['company', 'climate tech startups in Madrid', ['Solana Verde']],
    ['company', 'fintech with more than 25 employees', ['Pfandwerk', 'Zahlstelle']],
    ['company', 'fintech with at least 25 employees', ['Mandato', 'Pfandwerk', 'Zahlstelle']],
    ['company', 'fintechs with fewer than 20 people', ['Kontora']],
    ['company', 'companies with between 30 and 80 employees in Berlin', middling],
    ['company', 'grunlicht', ['Grünlicht']],
    ['company', 'fintech in Atlantis', ['Kontora', 'Mandato', 'Pfandwerk', 'Zahlstelle']],
    ['company', 'fast-growing climate tech startups hiring in Berlin', ['Grünlicht']],
    ['company', 'Series B climate tech company from Berlin', ['Grünlicht', 'Solana Verde']],
    ['company', 'companies with 10-30 employees', ['Kontora', 'Mandato', 'Pfandwerk']],
    ['company', 'companies', ['Grünlicht', 'Kontora', 'Mandato', 'Pfandwerk', 'Solana Verde', 'Zahlstelle']],
    ['person', 'CTOs of fintechs in Berlin', ['Lena Weber']],
    ['person', 'investors in Berlin', ['Lena Weber']],
    ['person', 'wealthy investors in Berlin', []],
    ['person', 'CTO in Berlin', ['Lena Weber']],
    ['youtube_creator', 'climate podcasts on YouTube with over 100k subscribers', ['Warm Planet']],
    ['youtube_creator', 'climate podcasts under 0.1M followers', ['Small Warm Planet']],
    ['youtube_creator', 'channels with 90,000+ subscribers', ['Small Warm Planet', 'Warm Planet']],
    ['tiktok_creator', 'climate', []],
  ])('%s: %s', async (entityType, objective, names) => {
    const leads = await find(entityType, objective);
    expect(leads.map(({ name }) => name).sort()).toEqual(names);
  });

  it('is scored with a reason that names what matched', async () => {
    const [lead] = await find('youtube_creator', 'climate podcasts with over 100k subscribers');
    expect(lead?.score.score).toMatch(/^0\.\d\d$/);
    expect(lead?.score.reason).toBe('matches climate, podcasts, subscribers 250000 (over 100k)');
  });
});

it.each([
  '"fintech" \'in\' "Berlin',
  'fintech OR NOT (Berlin*) NEAR(a b) ^x {name}: -y',
  '100% name:fintech a.b.c C++ C# .NET',
  'fintech\0Berlin',
  '🚀🚀',
  'fintech \ud800',
  '1 2 3 100k between 5 and',
  'wordwordword fintech'.repeat(150),
  '上海的美妆博主超过十万',
])('an objective of any kind does not break a search: %j', async (objective) => {
  expect(await find('company', objective)).toBeInstanceOf(Array);
});

it('enrich_fields are answered from the facts by name, with a reference; the rest is empty', async () => {
  const enrich_fields = ['employees', 'Funding Stage', 'website', 'hobby', 'email', 'phone number'];
  const [lead] = await find('company', 'Kontora', { enrich_fields });
  const reference = 'https://kontora.example';
  const none = { content: '', reference: '' };
  expect(lead?.enrich_fields).toEqual({
    employees: { content: '12', reference },
    'Funding Stage': { content: 'seed', reference },
    website: { content: reference, reference },
    ...{ hobby: none, email: none, 'phone number': none },
  });
});

it('dedup_service_leads leaves out what an earlier search of the account delivered', async () => {
  const service = await running();
  const body = { objective: 'seed fintech in Berlin', limit: 1 };
  const first = await service.search(body);
  const rest = { ...body, limit: 9, dedup_service_leads: [first.id] };
  const second = await service.search(rest);
  const names = [...first.leads, ...second.leads].map(({ name }) => name);
  expect(names.sort()).toEqual(['Kontora', 'Pfandwerk']);
  const foreign = await service.search(rest, { 'x-api-key': 'lp_local_other' });
  expect(foreign.leads).toHaveLength(2);
});

describe("the user's own catalogue", () => {
  const serve = (name: string, content: string) => running({ catalogFile: fileOf(name, content) });

  it('JSONL: unknown fields and numbers come out as they were written', async () => {
    const lead =
      '{"name":"Ada","id":1234567890123456789,"rate":1.10,"nested":{"a":[1e3]},"links":{"website":"https://ada.example"},"score":{"score":"';
    const service = await serve('leads.jsonl', `${lead}9"},"email":"ada@ada.example"}\n\n`);
    const answer = await service.ask('search', { entity_type: 'shopify_store', objective: 'Ada' });
    const text = await answer.text();
    expect(text).toContain(`${lead}0.99"`);
    expect(text).not.toContain('ada@ada');
    expect(service.fictional).toBe(false);
  });

  it.each([
    [
      'leads.json',
      '[\n  {"name": "Acme", "links": {"website": "https://acme.example"}},\n  {"name": "Beta"}\n]\n',
    ],
    [
      'leads.json',
      '{"count": 2, "leads": [{"name": "Acme", "links": {"website": "https://acme.example"}}, {"name": "Beta"}]}',
    ],
    [
      'leads',
      '{\n  "name": "Acme", "links": {"website": "https://acme.example"}\n}\n{\n  "name": "Beta"\n}\n',
    ],
  ])('JSON that is no lines: %s %j', async (name, content) => {
    const service = await serve(name, content);
    const { leads } = await service.search({ objective: 'Acme' });
    expect(leads).toMatchObject([{ name: 'Acme', links: { website: 'https://acme.example' } }]);
  });

  it('CSV: columns become links and facts', async () => {
    const service = await serve(
      'leads.csv',
      '\ufeffname,entity_type,website,city,employees,email\r\n"Acme, Inc.",company,https://acme.example,Bern,1200,info@acme.example\r\nOther,company,,Basel,3,\r\n',
    );
    const asked = { objective: 'over 1k employees in Bern', enrich_fields: ['headcount'] };
    const { leads } = await service.search(asked);
    const website = 'https://acme.example';
    expect(leads).toEqual([
      {
        name: 'Acme, Inc.',
        links: { website },
        description: '',
        score: { score: '0.99', reason: 'matches Bern, employees 1200 (over 1k)' },
        enrich_fields: { headcount: { content: '1200', reference: website } },
      },
    ]);
  });

  it.each([
    ['a.jsonl', '{"name":"A"}\n{"name":', /a\.jsonl:2: the line is not valid JSON/],
    ['a.jsonl', '{"name":"A"}\n{"title":"B"}', /a\.jsonl:2: name is required/],
    ['a.jsonl', '[7]', /a\.jsonl:1: the line is not a JSON object/],
    ['a.ndjson', '{"name":"A","entity_type":"alien"}', /a\.ndjson:1: entity_type must be one of/],
    ['a.jsonl', '{"name":"A","links":"https://a.example"}', /a\.jsonl:1: links must be an object/],
    ['a.jsonl', '\n', /a\.jsonl contains no leads/],
    ['a.csv', 'title,size\nA,x\n', /a\.csv: the file has no column "name": its columns are title, size/],
    ['a.csv', 'name,city\nA,Bern\n,Basel\n', /a\.csv:3: name is required/],
    ['a.csv', 'name\n"A\n', /a\.csv:2: the line has a cell that begins with a quote but/],
    ['a.csv', 'name;city\nA;Bern;x\nB;Bonn\n', /a\.csv:2: the line has 3 cells, but the header has 2/],
  ])('%s %j is refused, with the line', async (name, content, message) => {
    await expect(serve(name, content)).rejects.toThrow(message);
    await expect(serve(name, content)).rejects.toBeInstanceOf(FileError);
  });

  it('a file that is not there is refused', async () => {
    await expect(running({ catalogFile: '/nowhere/leads.csv' })).rejects.toThrow(
      "can't read /nowhere/leads.csv: there is no such file",
    );
  });
});
