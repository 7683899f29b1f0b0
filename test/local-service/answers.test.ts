import { describe, expect, it } from 'vitest';
import { running, someLeads } from './running.ts';

const linkedin = 'https://linkedin.example/in/lena-weber';
const lena = 'lena@kontora.example';
it.each([
  ['email', 'Lena Weber', lena, linkedin],
  ['email', 'e-mail address of Lena Weber, CTO at Kontora in Berlin', lena, linkedin],
  ['email', 'the CTO of Kontora', lena, linkedin],
  ['email', 'lena weber — I met her at a conference about payments last spring', lena, linkedin],
  ['email', linkedin, lena, linkedin],
  ['phone', 'Lena Weber', '+49 30 5550 101', linkedin],
  ['phone', 'Ana Ruiz', null, null],
  ['email', 'Kontora', 'hello@kontora.example', 'https://kontora.example'],
  ['email', 'https://www.kontora.example/', 'hello@kontora.example', 'https://kontora.example'],
  ['email', 'Lena Meier', null, null],
  ['email', 'somebody in Berlin', null, null],
])('contact search: %s of %s', async (contact_type, objective, content, reference) => {
  const service = await running();
  expect(await service.json('contactSearch', { contact_type, objective: ` ${objective} ` })).toEqual({
    object: 'contact_search_result',
    request: { contact_type, objective },
    result: { content, reference },
    created_at: '2026-01-05T12:00:00.000Z',
  });
});

const known = expect.stringMatching(/^Kontora: .*headcount: 12/);
const counted = expect.stringMatching(/^Found in the catalogue: 2 leads/);
it.each([
  ['What is the headcount of Kontora?', true, { Result: known, Citations: ['https://kontora.example'] }],
  [
    'Which seed fintech companies are in Berlin?',
    true,
    { Result: counted, Citations: ['https://kontora.example', 'https://pfandwerk.example'] },
  ],
  ['What is the meaning of life?', false, { answer: 'No result generated from deep search' }],
])('deep search: %s', async (query, success, answer) => {
  expect(await (await running()).json('deepSearch', { query })).toEqual({ success, answer });
});

describe('enrich', () => {
  const text = { type: 'string' };
  const headcount = { type: 'integer' };
  it.each<[string, string, object, object, string[]?]>([
    [
      'follows the schema, from the catalogue and the given context',
      'Kontora, a fintech.\nTags: payments; ledgers',
      {
        headcount,
        employees: text,
        funding_stage: { type: 'string', enum: ['Seed', 'Series A'] },
        tags: { type: 'array', items: text },
        hobby: { type: ['string', 'null'] },
        place: { type: 'object', properties: { city: text } },
      },
      {
        headcount: 12,
        employees: '12',
        funding_stage: 'Seed',
        tags: ['payments', 'ledgers'],
        hobby: null,
        place: { city: 'Berlin' },
      },
    ],
    [
      'never answers null where the schema has none',
      'Kontora',
      { city: text, hobby: text, motto: text, pets: headcount, any: {} },
      { city: 'Berlin', motto: '', any: null },
      ['motto'],
    ],
    [
      'reads a JSON context, and trusts it more than the catalogue',
      '{"name":"Kontora","facts":{"headcount":99}}',
      { headcount },
      { headcount: 99 },
    ],
  ])('%s', async (_, entity_context, properties, answer, required = []) => {
    const enrich_fields = { type: 'object', properties, required };
    const service = await running();
    const enriched = await service.json('enrich', { entity_context, enrich_fields });
    expect(enriched).toEqual({ success: true, answer });
  });

  it('says in the words of the document that it knows nothing', async () => {
    expect(await (await running()).json('enrich', { entity_context: 'Nobody' })).toEqual({
      success: false,
      answer: { answer: 'No result generated from enrich' },
    });
  });
});

describe('extract', () => {
  it('web2list takes from the catalogue, and echoes a limit of 100', async () => {
    const request = { target: 'https://example.com/x', instruction: 'fintech in Madrid', limit: 5 };
    expect(await (await running()).json('extract', request)).toMatchObject({
      success: true,
      data: [{ name: 'Mandato', city: 'Madrid', website: 'https://mandato.example' }],
      metadata: { type: 'web2list', ...request, limit: 100 },
    });
  });

  it.each([
    ['the fintech companies', ['Kontora']],
    ['all people with their name and title', ['Lena Weber']],
    ['climate tech companies', []],
    ['everything', ['Kontora', 'Lena Weber']],
  ])('web2list of a page takes what the instruction says: %s', async (instruction, names) => {
    const leads = someLeads.map((lead) =>
      'name' in lead && lead.name === 'Lena Weber'
        ? { ...lead, facts: { title: 'CTO', website: 'https://kontora.example' } }
        : lead,
    );
    const target = 'https://kontora.example/about';
    const service = await running({ leads });
    const { data } = await service.json('extract', { type: 'web2list', target, instruction });
    expect(typeof data === 'string' ? [] : data.map(({ name }: { name: string }) => name)).toEqual(names);
    if (instruction.includes('title')) expect(data).toEqual([{ name: 'Lena Weber', title: 'CTO' }]);
  });

  it.each([
    { type: 'web2list', target: 'https://example.com/x', instruction: 'plumbing' },
    { type: 'x_followers', target: '@ada', instruction: null },
  ])('gives a reason when it has nothing: %j', async (request) => {
    const [data, metadata] = [expect.stringMatching(/\w/), { ...request, limit: 100 }];
    expect(await (await running()).json('extract', request)).toEqual({ success: false, data, metadata });
  });

  it('of the demonstration: the same list each time, with ids that JavaScript would round', async () => {
    const service = await running({ leads: 'demonstration' });
    const ask = async (type: string, target: string) =>
      (await service.ask('extract', { type, target, limit: 7, instruction: null })).text();
    const first = await ask('x_followers', '@ada');
    const ids = first.match(/"id":\d{19},/g) ?? [];
    expect(new Set(ids).size).toBe(7);
    const second = await ask('x_followers', 'https://x.com/ada');
    expect(second).toBe(first.replace('"target":"@ada"', '"target":"https://x.com/ada"'));
    expect(await ask('github_repo_contributors', 'ada/engine')).toMatch(/"id":\d{9},.*"contributions":\d/);
    expect(await ask('tiktok_followers', 'ada')).toMatch(/"followers_count":\d/);
    expect(await ask('ins_following', 'nobody')).toContain('"success":false');
  });
});
