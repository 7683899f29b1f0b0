import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { bareAddress, plainText } from '../../src/local-service/catalogue.ts';
import { fillSchema } from '../../src/local-service/enrichment.ts';
import { parseObjective } from '../../src/local-service/objective.ts';
import { paid, type Running, running, someLeads, usual } from './running.ts';

type Paid = (typeof paid)[number];

const city = { type: 'object', properties: { city: { type: 'string' } } };

/** Requests of every kind, with a text in each of their fields in turn. */
function changesWith(word: string): readonly [name: Paid, changes: object][] {
  const properties = { [word]: {}, city: { [word]: {}, enum: [word] } };
  const ofScalars = { enum: [{ [word]: 1 }, null, 'Berlin'] };
  return [
    ['search', { objective: word }],
    ['search', { entity_type: word }],
    ['search', { enrich_fields: [word], dedup_service_leads: [word], dedup_custom_leads: [word] }],
    ['search', { objective: `over 10 ${word} or ${word} under 5` }],
    ['search', { [word]: 1 }],
    ['createTask', { objective: word }],
    ['contactSearch', { objective: `${word} Weber` }],
    ['contactSearch', { contact_type: word }],
    ['deepSearch', { query: word }],
    ['deepSearch', { [word]: word }],
    ['enrich', { entity_context: word }],
    ['enrich', { entity_context: `{"${word}":"${word}"}` }],
    ['enrich', { entity_context: `Kontora; ${word}: ${word}`, enrich_fields: { ...city, properties } }],
    ['enrich', { enrich_fields: { ...city, properties: { city: ofScalars } } }],
    ['extract', { type: word, target: '@ada' }],
    ['extract', { type: 'x_followers', target: word }],
    ['extract', { target: `https://${word}.example/`, instruction: word }],
  ];
}

/** Names of members that every JavaScript object inherits. */
const inherited = Object.getOwnPropertyNames(Object.prototype);

/** Leads whose links, facts and enrich fields have such names, and one that is called so. */
const inheritedLeads = inherited.map((word) =>
  JSON.parse(
    `{"entity_type":"company","name":"${word}","links":{"${word}":"https://${word}.example"},"description":"fintech",
      "facts":{"${word}":12,"industry":"fintech"},"enrich_fields":{"${word}":{"content":"x","reference":"y"}}}`,
  ),
);

/** Sends a body as it is. */
async function send(service: Running, name: Paid, body: string): Promise<[status: number, text: string]> {
  const key = { 'idempotency-key': crypto.randomUUID() };
  const answer = await service.post(endpoints[name].path, body, key);
  return [answer.status, await answer.text()];
}

describe('names that every JavaScript object inherits', () => {
  it('in every field', async () => {
    const service = await running({ leads: [...someLeads, ...inheritedLeads] });
    for (const [name, changes] of inherited.flatMap(changesWith)) {
      const answer = await service.ask(name, changes);
      expect([200, 422], `${JSON.stringify(changes)}: ${await answer.text()}`).toContain(answer.status);
    }
  });

  it('in an address or a header', async () => {
    const service = await running();
    for (const word of inherited) {
      const leads_search_id = word;
      expect((await service.ask('status', { leads_search_id })).status).toBe(404);
      expect((await service.ask('fetch', { leads_search_id, pts: word })).status).toBe(422);
      expect((await service.post(`/v1/${word}`, {})).status).toBe(404);
      expect((await service.ask('balance', {}, { 'x-api-key': word })).status).toBe(401);
      const again = { 'idempotency-key': word };
      expect((await service.ask('deepSearch', {}, again)).status).toBe(200);
      expect((await service.ask('deepSearch', {}, again)).status).toBe(409);
    }
  });

  it('are found, answered and listed as any other', async () => {
    const service = await running({ leads: inheritedLeads });
    for (const word of inherited) {
      const stream = await (await service.ask('search', { objective: word, enrich_fields: [word] })).text();
      const link = `https://${word}.example`;
      expect(stream).toContain(`"name":"${word}","links":{"${word}":"${link}"}`);
      expect(stream).toContain(`{"${word}":{"content":"x","reference":"y"}}`);
      const listed = await (await service.ask('extract', { target: link, instruction: word })).text();
      expect(listed).toContain(`"${word}":"${link}"`);
      const enrich_fields = { type: 'object', properties: JSON.parse(`{"${word}":{}}`) };
      const enriched = await (await service.ask('enrich', { entity_context: word, enrich_fields })).text();
      expect(enriched).toBe(`{"success":true,"answer":{"${word}":"x"}}`);
    }
  });
});

describe('any body at all', () => {
  const odd = ['fintech', 'Berlin', 'Kontora', 'over 100k', '粉丝超过', 'https://a.b/c', '"', '\0'];
  const word = fc.oneof(fc.constantFrom(...inherited, ...odd), fc.string({ unit: 'binary' }), fc.string());
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
  const anySchema = fc.record({
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
  const bodies: Partial<Record<Paid, fc.Arbitrary<object>>> = {
    search: fc.record(search, { requiredKeys: [] }),
    createTask: fc.record({ ...search, enable_web_search: field(fc.boolean()) }, { requiredKeys: [] }),
    contactSearch: fc.record({
      contact_type: field(fc.constantFrom('email', 'phone')),
      objective: field(text),
    }),
    deepSearch: fc.record({ query: field(text) }),
    enrich: fc.record({ entity_context: field(text), enrich_fields: field(anySchema) }),
    extract: fc.record({
      type: field(fc.constantFrom('x_followers', 'web2list')),
      target: field(fc.oneof(text, fc.webUrl())),
      instruction: field(text),
    }),
  };
  const request = fc.oneof(
    ...paid.map((name) =>
      fc.tuple(fc.constant(name), fc.oneof({ arbitrary: bodies[name] ?? anything, weight: 9 }, anything)),
    ),
  );

  it('is answered, or refused in the envelope', async () => {
    const service = await running({ switches: { opening_credits: 1e9, user_concurrency: 100 } });
    await fc.assert(
      fc.asyncProperty(request, async ([name, body]) => {
        const [status, answer] = await send(service, name, JSON.stringify(body) ?? '');
        const error = { message: /./, type: 'invalid_request_error' };
        if (status !== 200) expect(JSON.parse(answer)).toMatchObject({ error });
        expect([200, 422]).toContain(status);
      }),
      { numRuns: 300 },
    );
  });

  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const deepEnum = `{"enum":[${deep(100_000)}]}`;
  const toMember = (_: unknown, at: number) => `"m${at}":1`;
  const schema = (of: string) => `{"type":"object","properties":{"city":${of}}}`;
  it.each([
    ['deep', deep(500_000)],
    ['deep in a field', `{"query":${objects}}`],
    ['deep in an unknown field', `{"query":"x","y":${deep(200_000)}}`],
    ['deep in an enum', `{"entity_context":"City: x","enrich_fields":${schema(deepEnum)}}`],
    ['of more members than can be compared in pairs', `{${Array.from({ length: 300_000 }, toMember)}}`],
    ['of many levels', `{"query":"Kontora","more":${deep(101)}}`],
  ])('%s: is read or refused at once', async (_, body) => {
    const service = await running();
    for (const name of paid) expect([200, 422]).toContain((await send(service, name, body))[0]);
  });

  it('a mebibyte and a byte is refused where the document says so, and nowhere else', async () => {
    const service = await running();
    const seen: number[] = [];
    for (const name of paid)
      seen.push((await send(service, name, JSON.stringify(usual[name]).padEnd(1_048_577)))[0]);
    expect(seen).toEqual([422, 422, 422, 200, 200, 200]);
    const tooLarge = JSON.stringify(usual.deepSearch).padEnd(16 * 1_048_576 + 1);
    expect((await send(service, 'deepSearch', tooLarge))[0]).toBe(422);
  });

  it.each([
    ['large', JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ a: index })))],
    ['deep', deep(100_000)],
  ])('a schema with a %s default is taken', async (_, value) => {
    const fields = schema(`{"type":"string","default":${value}}`);
    const body = `{"entity_context":"Kontora","enrich_fields":${fields}}`;
    const answer = '{"success":true,"answer":{"city":"Berlin"}}';
    expect(await send(await running(), 'enrich', body)).toEqual([200, answer]);
  });
});

// With a regular expression that retries at each character, each of these takes minutes.
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
])('a long text of few words is read once: %s', (_, part) => {
  const long = `x${part.repeat(200_000 / part.length)}x`;
  const properties = { tags: { type: 'array' }, headcount: { type: 'integer' } };
  parseObjective(long, () => false);
  fillSchema({ type: 'object', properties }, `Tags: ${long}, Headcount: ${long}`, undefined);
  bareAddress(long);
  plainText(long);
});

describe('what is not a request', () => {
  const head = 'Host: 127.0.0.1\r\nx-api-key: lp_local_demo\r\n';
  const balance = 'GET /v1/credit/balance HTTP/1.1\r\n';
  const foreign = `${balance}Host: evil.example\r\nx-api-key: lp_local_demo\r\nConnection: close\r\n\r\n`;
  it.each([
    ['not HTTP', 'hello\r\n\r\n', 422],
    ['a head that is too large', `${balance}${head}x: ${'y'.repeat(20_000)}\r\n\r\n`, 422],
    ['a length that is none', `POST /v1/deep-search HTTP/1.1\r\n${head}Content-Length: x\r\n\r\n`, 422],
    ['no Host', `${balance}Connection: close\r\n\r\n`, 403],
    ['a foreign Host', foreign, 403],
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
    const type = status === 405 ? {} : { type: expect.any(String) };
    expect(JSON.parse(body)).toMatchObject({ error: { message: expect.any(String), ...type } });
  });
});
