import { describe, expect, it } from 'vitest';
import { type Running, running } from './running.ts';

async function json(service: Running, path: string, body: object): Promise<unknown> {
  const answer = await service.post(path, body);
  expect(answer.status).toBe(200);
  return answer.json();
}

describe('contact search', () => {
  const linkedin = 'https://linkedin.example/in/lena-weber';
  it.each([
    ['email', 'Lena Weber', 'lena@kontora.example', linkedin],
    ['email', 'e-mail address of Lena Weber, CTO at Kontora in Berlin', 'lena@kontora.example', linkedin],
    ['email', 'the CTO of Kontora', 'lena@kontora.example', linkedin],
    [
      'email',
      'lena weber — I met her at a conference about payments last spring',
      'lena@kontora.example',
      linkedin,
    ],
    ['email', linkedin, 'lena@kontora.example', linkedin],
    ['phone', 'Lena Weber', '+49 30 5550 101', linkedin],
    ['phone', 'Ana Ruiz', null, null],
    ['email', 'Kontora', 'hello@kontora.example', 'https://kontora.example'],
    ['email', 'https://www.kontora.example/', 'hello@kontora.example', 'https://kontora.example'],
    ['email', 'Lena Meier', null, null],
    ['email', 'somebody in Berlin', null, null],
  ])('%s of %s', async (contact_type, objective, content, reference) => {
    const service = await running();
    expect(await json(service, '/v1/contact-search', { contact_type, objective: ` ${objective} ` })).toEqual({
      object: 'contact_search_result',
      request: { contact_type, objective },
      result: { content, reference },
      created_at: '2026-01-05T12:00:00.000Z',
    });
  });
});

describe('deep search', () => {
  it('answers about a lead with its citations', async () => {
    const service = await running();
    expect(await json(service, '/v1/deep-search', { query: 'What is the headcount of Kontora?' })).toEqual({
      success: true,
      answer: {
        Result: expect.stringMatching(/^Kontora: .*headcount: 12/),
        Citations: ['https://kontora.example'],
      },
    });
  });

  it('answers about many', async () => {
    const service = await running();
    const answer = await json(service, '/v1/deep-search', {
      query: 'Which seed fintech companies are in Berlin?',
    });
    expect(answer).toMatchObject({
      success: true,
      answer: { Result: expect.stringMatching(/^Found in the catalogue: 2 leads/) },
    });
  });

  it('says in the words of the document that it knows nothing', async () => {
    const service = await running();
    expect(await json(service, '/v1/deep-search', { query: 'What is the meaning of life?' })).toEqual({
      success: false,
      answer: { answer: 'No result generated from deep search' },
    });
  });
});

describe('enrich', () => {
  const properties = {
    headcount: { type: 'integer' },
    employees: { type: 'string' },
    funding_stage: { type: 'string', enum: ['Seed', 'Series A'] },
    tags: { type: 'array', items: { type: 'string' } },
    hobby: { type: ['string', 'null'] },
    place: { type: 'object', properties: { city: { type: 'string' } } },
  };

  it('follows the schema, from the catalogue and the given context', async () => {
    const service = await running();
    const entity_context = 'Kontora, a fintech.\nTags: payments; ledgers';
    expect(
      await json(service, '/v1/enrich', { entity_context, enrich_fields: { type: 'object', properties } }),
    ).toEqual({
      success: true,
      answer: {
        headcount: 12,
        employees: '12',
        funding_stage: 'Seed',
        tags: ['payments', 'ledgers'],
        hobby: null,
        place: { city: 'Berlin' },
      },
    });
  });

  it('never answers null where the schema has none', async () => {
    const service = await running();
    const text = { type: 'string' };
    const enrich_fields = {
      type: 'object',
      properties: { city: text, hobby: text, motto: text, pets: { type: 'integer' }, any: {} },
      required: ['motto'],
    };
    expect(await json(service, '/v1/enrich', { entity_context: 'Kontora', enrich_fields })).toEqual({
      success: true,
      answer: { city: 'Berlin', motto: '', any: null },
    });
  });

  it('reads a JSON context, and trusts it more than the catalogue', async () => {
    const service = await running();
    const entity_context = JSON.stringify({ name: 'Kontora', facts: { headcount: 99 } });
    const enrich_fields = { type: 'object', properties: { headcount: { type: 'integer' } } };
    expect(await json(service, '/v1/enrich', { entity_context, enrich_fields })).toEqual({
      success: true,
      answer: { headcount: 99 },
    });
  });

  it('says in the words of the document that it knows nothing', async () => {
    const service = await running();
    const enrich_fields = { type: 'object', properties: { hobby: {} } };
    expect(await json(service, '/v1/enrich', { entity_context: 'Nobody', enrich_fields })).toEqual({
      success: false,
      answer: { answer: 'No result generated from enrich' },
    });
  });
});

describe('extract', () => {
  it('web2list takes from the catalogue, and echoes a limit of 100', async () => {
    const service = await running();
    const request = {
      type: 'web2list',
      target: 'https://example.com/x',
      instruction: 'fintech in Madrid',
      limit: 5,
    };
    expect(await json(service, '/v1/extract', request)).toMatchObject({
      success: true,
      data: [{ name: 'Mandato', city: 'Madrid', website: 'https://mandato.example' }],
      metadata: { ...request, limit: 100 },
    });
  });

  it.each([
    [{ type: 'web2list', target: 'https://example.com/x', instruction: 'plumbing' }, 100],
    [{ type: 'x_followers', target: '@ada' }, 100],
  ])('gives a reason when it has nothing: %j', async (request, limit) => {
    const service = await running();
    expect(await json(service, '/v1/extract', request)).toEqual({
      success: false,
      data: expect.stringMatching(/\w/),
      metadata: { instruction: null, ...request, limit },
    });
  });

  it('of the demonstration: the same list each time, with ids that JavaScript would round', async () => {
    const service = await running({ leads: 'demonstration' });
    const post = async (body: object) => (await service.post('/v1/extract', body)).text();
    const first = await post({ type: 'x_followers', target: '@ada', limit: 7 });
    const items = first.match(/"id":\d+/g) ?? [];
    expect(items).toHaveLength(7);
    expect(new Set(items).size).toBe(7);
    expect(first).toMatch(/"id":\d{19},/);
    expect(await post({ type: 'x_followers', target: 'https://x.com/ada', limit: 7 })).toBe(
      first.replace('"target":"@ada"', '"target":"https://x.com/ada"'),
    );
    expect(await post({ type: 'ins_following', target: 'nobody' })).toContain('"success":false');
  });
});
