import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bareAddress, plainText } from '../../src/local-service/catalogue-index.ts';
import { fillSchema } from '../../src/local-service/enrichment.ts';
import { parseObjective } from '../../src/local-service/objective.ts';
import { type Running, running, someLeads } from './running.ts';

const paths = {
  search: '/v1/entity-search',
  createTask: '/v1/entity-search/create_task',
  contact: '/v1/contact-search',
  research: '/v1/deep-search',
  enrich: '/v1/enrich',
  extract: '/v1/extract',
} as const;

const city = { type: 'object', properties: { city: { type: 'string' } } };

/** Requests of every kind, with a text in each of their fields in turn. */
function bodiesWith(word: string): readonly [path: string, body: object][] {
  const company = { entity_type: 'company', objective: 'fintech' };
  const kontora = { entity_context: 'Kontora', enrich_fields: city };
  const properties = { [word]: {}, city: { [word]: {}, enum: [word] } };
  const ofScalars = { enum: [{ [word]: 1 }, null, 'Berlin'] };
  return [
    [paths.search, { ...company, objective: word }],
    [paths.search, { ...company, entity_type: word }],
    [
      paths.search,
      { ...company, enrich_fields: [word], dedup_service_leads: [word], dedup_custom_leads: [word] },
    ],
    [paths.search, { ...company, objective: `over 10 ${word} or ${word} under 5` }],
    [paths.search, { ...company, [word]: 1 }],
    [paths.createTask, { ...company, objective: word }],
    [paths.contact, { contact_type: 'email', objective: `${word} Weber` }],
    [paths.contact, { contact_type: word, objective: 'Lena Weber' }],
    [paths.research, { query: word }],
    [paths.research, { query: 'Kontora', [word]: word }],
    [paths.enrich, { ...kontora, entity_context: word }],
    [paths.enrich, { ...kontora, entity_context: `{"${word}":"${word}"}` }],
    [paths.enrich, { entity_context: `Kontora; ${word}: ${word}`, enrich_fields: { ...city, properties } }],
    [paths.enrich, { ...kontora, enrich_fields: { ...city, properties: { city: ofScalars } } }],
    [paths.extract, { type: word, target: '@ada' }],
    [paths.extract, { type: 'x_followers', target: word }],
    [paths.extract, { type: 'web2list', target: `https://${word}.example/`, instruction: word }],
  ];
}

/** Words that every object has something under. */
const inherited = Object.getOwnPropertyNames(Object.prototype);

/** Leads whose links, facts and enrich fields have such names, and one that is called so. */
const inheritedLeads = inherited.map((word) =>
  JSON.parse(
    `{"entity_type":"company","name":"${word}","links":{"${word}":"https://${word}.example"},"description":"fintech",
      "facts":{"${word}":12,"industry":"fintech"},"enrich_fields":{"${word}":{"content":"x","reference":"y"}}}`,
  ),
);

async function send(service: Running, path: string, body: unknown): Promise<[status: number, text: string]> {
  const answer = await service.post(path, body, { 'idempotency-key': crypto.randomUUID() });
  return [answer.status, await answer.text()];
}

describe('words that every JavaScript object has', () => {
  it('in every field', async () => {
    const service = await running({ leads: [...someLeads, ...inheritedLeads] });
    for (const [path, body] of inherited.flatMap(bodiesWith)) {
      const [status, text] = await send(service, path, body);
      expect([200, 422], `${JSON.stringify(body)}: ${text}`).toContain(status);
    }
  });

  it('in an address or a header', async () => {
    const service = await running();
    for (const word of inherited) {
      const of = `leads_search_id=${word}`;
      expect((await service.get(`/v1/entity-search/status?${of}`)).status).toBe(404);
      expect((await service.get(`/v1/entity-search/fetch?${of}&pts=${word}`)).status).toBe(422);
      expect((await service.get(`/v1/${word}`)).status).toBe(404);
      expect((await service.get('/v1/credit/balance', { 'x-api-key': word })).status).toBe(401);
      const headers = { 'idempotency-key': word };
      expect((await service.post(paths.research, { query: word }, headers)).status).toBe(200);
      expect((await service.post(paths.research, { query: word }, headers)).status).toBe(409);
    }
  });

  it('are found, answered and listed as any other', async () => {
    const service = await running({ leads: inheritedLeads });
    for (const word of inherited) {
      const body = { entity_type: 'company', objective: word, enrich_fields: [word] };
      const [, stream] = await send(service, paths.search, body);
      const link = `https://${word}.example`;
      expect(stream).toContain(`"name":"${word}","links":{"${word}":"${link}"}`);
      expect(stream).toContain(`{"${word}":{"content":"x","reference":"y"}}`);
      const page = { type: 'web2list', target: link, instruction: word };
      expect((await send(service, paths.extract, page))[1]).toContain(`"${word}":"${link}"`);
      const [, enriched] = await send(service, paths.enrich, {
        entity_context: word,
        enrich_fields: { type: 'object', properties: JSON.parse(`{"${word}":{}}`) },
      });
      expect(enriched).toBe(`{"success":true,"answer":{"${word}":"x"}}`);
    }
  });
});

describe('any body at all', () => {
  const word = fc.oneof(
    fc.constantFrom(
      ...inherited,
      'fintech',
      'Berlin',
      'Kontora',
      'over 100k',
      '粉丝超过',
      'https://a.b/c',
      '"',
      '\0',
    ),
    fc.string({ unit: 'binary' }),
    fc.string(),
  );
  const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(' '));
  const anything = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.double(),
      fc.constantFrom(null, true, false),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(word, tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  // Fields as they should be, as often as not: what is refused at once tries nothing out.
  const field = (usual: fc.Arbitrary<unknown>) => fc.oneof({ arbitrary: usual, weight: 6 }, anything);
  const texts = fc.array(text, { maxLength: 5 });
  const schema = fc.record({
    type: fc.constant('object'),
    properties: fc.dictionary(word, anything, { minKeys: 1, maxKeys: 4 }),
  });
  const search = {
    entity_type: field(fc.constantFrom('company', 'person', 'youtube_creator')),
    objective: field(text),
    limit: field(fc.integer({ min: 1, max: 5 })),
    enrich_fields: field(texts),
    dedup_service_leads: field(texts),
    dedup_custom_leads: field(texts),
  };
  const bodies: Record<keyof typeof paths, fc.Arbitrary<object>> = {
    search: fc.record(search, { requiredKeys: [] }),
    createTask: fc.record({ ...search, enable_web_search: field(fc.boolean()) }, { requiredKeys: [] }),
    contact: fc.record({ contact_type: field(fc.constantFrom('email', 'phone')), objective: field(text) }),
    research: fc.record({ query: field(text) }),
    enrich: fc.record({ entity_context: field(text), enrich_fields: field(schema) }),
    extract: fc.record({
      type: field(fc.constantFrom('x_followers', 'web2list')),
      target: field(fc.oneof(text, fc.webUrl())),
      instruction: field(text),
    }),
  };
  const request = fc.oneof(
    ...(Object.keys(paths) as (keyof typeof paths)[]).map((name) =>
      fc.tuple(fc.constant(name), fc.oneof({ arbitrary: bodies[name], weight: 9 }, anything)),
    ),
  );

  it('is answered, or refused in the envelope', async () => {
    const service = await running({ switches: { opening_credits: 1e9, user_concurrency: 100 } });
    await fc.assert(
      fc.asyncProperty(request, async ([name, body]) => {
        const [status, answer] = await send(service, paths[name], JSON.stringify(body));
        if (status !== 200)
          expect(JSON.parse(answer)).toMatchObject({
            error: { message: /./, type: 'invalid_request_error' },
          });
        expect([200, 422]).toContain(status);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['deep', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['deep in a field', `{"query":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
    ['deep in an unknown field', `{"query":"x","y":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
    [
      'deep in an enum',
      `{"entity_context":"City: x","enrich_fields":{"type":"object","properties":{"city":{"enum":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}}}}`,
    ],
  ])('%s is not a crash', async (_, body) => {
    const service = await running();
    for (const path of Object.values(paths))
      expect([200, 422]).toContain((await send(service, path, body))[0]);
  });

  it.each([
    [
      'more members than can be compared in pairs',
      `{${Array.from({ length: 300_000 }, (_, index) => `"m${index}":1`)}}`,
    ],
    ['many levels', `{"query":"Kontora","more":${'['.repeat(101)}${']'.repeat(101)}}`],
  ])('%s: is read or refused at once', async (_, body) => {
    const service = await running();
    for (const path of Object.values(paths))
      expect([200, 422]).toContain((await send(service, path, body))[0]);
  });

  it('a mebibyte and a byte is refused where the document says so, and nowhere else', async () => {
    const service = await running();
    const sized = (body: object) => JSON.stringify(body).padEnd(1_048_577);
    const seen: Record<string, number> = {};
    for (const [path, body] of [
      [paths.search, { entity_type: 'company', objective: 'Kontora' }],
      [paths.createTask, { entity_type: 'company', objective: 'Kontora' }],
      [paths.contact, { contact_type: 'email', objective: 'Kontora' }],
      [paths.research, { query: 'Kontora' }],
      [paths.enrich, { entity_context: 'Kontora', enrich_fields: city }],
      [paths.extract, { type: 'x_followers', target: '@ada' }],
    ] as const)
      [seen[path]] = await send(service, path, sized(body));
    expect(Object.values(seen)).toEqual([422, 422, 422, 200, 200, 200]);
    expect((await send(service, paths.research, '{"query":"Kontora"}'.padEnd(16 * 1_048_576 + 1)))[0]).toBe(
      422,
    );
  });

  it.each([
    ['large', JSON.stringify(Array.from({ length: 30_000 }, (_, index) => ({ a: index })).slice(0, 20_000))],
    ['deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('a schema with a %s default is taken', async (_, value) => {
    const service = await running();
    const body = `{"entity_context":"Kontora","enrich_fields":{"type":"object","properties":{"city":{"type":"string","default":${value}}}}}`;
    expect(await send(service, paths.enrich, body)).toEqual([
      200,
      '{"success":true,"answer":{"city":"Berlin"}}',
    ]);
  });
});

describe('a long text of few words', () => {
  // With an expression that begins anew at each character, each of these takes minutes.
  it.each([
    ['a word', 'x'],
    ['a number', '1'],
    ['spaces', ' '],
    ['hyphens', '-'],
    ['ands', '&'],
    ['slashes', '/'],
    ['conditions', '9+ '],
    ['commas', '1,'],
    ['separators', '; '],
    ['words without spaces', '山'],
    ['words without spaces, with some', '山 '],
    ['compounds', 'abc-'],
    ['an address', 'a.'],
    ['addresses', 'a@'],
  ])('%s: is read once', (_, part) => {
    const long = `x${part.repeat(200_000 / part.length)}x`;
    const properties = { tags: { type: 'array' }, headcount: { type: 'integer' } };
    parseObjective(long, { isPhrase: () => false, isPlace: () => false, hasTitles: false });
    fillSchema({ type: 'object', properties }, `Tags: ${long}, Headcount: ${long}`, undefined);
    bareAddress(long);
    plainText(long);
  });
});

describe('what is not a request', () => {
  const head = 'Host: 127.0.0.1\r\nx-api-key: lp_local_demo\r\n';
  it.each([
    ['not HTTP', 'hello\r\n\r\n', 422],
    [
      'a head that is too large',
      `GET /v1/credit/balance HTTP/1.1\r\n${head}x: ${'y'.repeat(20_000)}\r\n\r\n`,
      422,
    ],
    ['a length that is none', `POST /v1/deep-search HTTP/1.1\r\n${head}Content-Length: x\r\n\r\n`, 422],
    ['no Host', 'GET /v1/credit/balance HTTP/1.1\r\nConnection: close\r\n\r\n', 403],
    ['a path that can not be decoded', `GET /v1/%zz HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, 404],
    ['no path', `OPTIONS * HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, 422],
    ['no port', 'GET / HTTP/1.1\r\nHost: localhost:99999\r\nConnection: close\r\n\r\n', 422],
    ['slashes', `GET //// HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, 404],
    ['an unusual method', `PROPFIND /v1/credit/balance HTTP/1.1\r\n${head}Connection: close\r\n\r\n`, 405],
  ])('%s: the envelope', async (_, sent, status) => {
    const service = await running();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let got = '';
    socket.on('data', (bytes) => (got += bytes));
    socket.write(sent);
    await once(socket, 'close');
    const [answerHead = '', body = ''] = got.split('\r\n\r\n');
    expect(answerHead).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answerHead).toMatch(/^x-request-id: req_/im);
    expect(JSON.parse(body)).toMatchObject({
      error: { message: expect.any(String), ...(status === 405 ? {} : { type: expect.any(String) }) },
    });
  });
});
