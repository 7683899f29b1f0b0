import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { errorRows } from '../../src/contract/errors.ts';
import { type Limit, limits, web2listLimit } from '../../src/contract/limits.ts';
import * as types from '../../src/contract/types.ts';

/** The rows of the document's section "Limits", by their names there. */
const limitRows: readonly [row: string, limit: Limit, expected: Omit<Limit, 'field'>][] = [
  ['Request body size', limits.requestBody, { unit: 'bytes', min: 0, max: 1024 * 1024 }],
  ['Idempotency-Key length', limits.idempotencyKey, { unit: 'characters', min: 1, max: 128 }],
  ['Entity objective', limits.entityObjective, { unit: 'bytes', min: 1, max: 4000, trimmed: true }],
  ['Contact objective', limits.contactObjective, { unit: 'characters', min: 1, max: 4000, trimmed: true }],
  ['Entity Search limit', limits.entityLimit, { unit: 'entities', min: 1, max: 1000, default: 100 }],
  ['enrich_fields (Entity Search)', limits.entityEnrichFields, { unit: 'items', min: 0, max: 20 }],
  ['Exclusion list of earlier searches', limits.dedupServiceLeads, { unit: 'items', min: 0, max: 100 }],
  ['Exclusion list of custom leads', limits.dedupCustomLeads, { unit: 'items', min: 0, max: 1000 }],
  ['Fetch pts', limits.fetchPts, { unit: 'position', min: 0, max: Number.MAX_SAFE_INTEGER, default: 0 }],
  ['Fetch num', limits.fetchNum, { unit: 'entities', min: 1, max: 500, default: 5 }],
  ['Deep Search query', limits.deepSearchQuery, { unit: 'characters', min: 1, max: 4000 }],
  [
    'Enrich entity_context, at least',
    limits.enrichContextLength,
    { unit: 'characters', min: 1, max: Number.MAX_SAFE_INTEGER },
  ],
  [
    'Enrich entity_context, at most',
    limits.enrichContext,
    { unit: 'bytes', min: 1, max: 16 * 1024, trimmed: true },
  ],
  ['Enrich schema, size', limits.enrichSchema, { unit: 'bytes', min: 0, max: 256 * 1024 }],
  ['Enrich schema, nesting', limits.enrichSchemaDepth, { unit: 'levels', min: 1, max: 12 }],
  ['Enrich schema, properties', limits.enrichSchemaProperties, { unit: 'properties', min: 1, max: 200 }],
  ['Extract target', limits.extractTarget, { unit: 'characters', min: 1, max: 2048 }],
  ['Extract instruction', limits.extractInstruction, { unit: 'characters', min: 0, max: 4000 }],
  ['Extract limit', limits.extractLimit, { unit: 'items', min: 1, max: 10_000, default: 100 }],
  [
    'leads_search_id (status, fetch)',
    limits.leadsSearchId,
    { unit: 'characters', min: 1, max: Number.MAX_SAFE_INTEGER },
  ],
];

describe('limits', () => {
  it.each(limitRows)('%s', (_, { field: __, ...limit }, expected) => {
    expect(limit).toEqual(expected);
  });

  it('web2list always has 100 (row Extract limit)', () => {
    expect(web2listLimit).toBe(100);
  });

  it('there is no limit without a row', () => {
    expect(new Set(Object.values(limits))).toEqual(new Set(limitRows.map(([, limit]) => limit)));
  });
});

it('errors are the rows of the section "Errors"', () => {
  expect(errorRows.map(({ status, type }) => [status, type])).toEqual([
    [401, 'authentication_error'],
    [402, 'insufficient_credits'],
    [403, 'authentication_error'],
    [404, 'not_found'],
    [409, 'idempotency_error'],
    [409, 'request_already_exists'],
    [422, 'invalid_request_error'],
    [429, 'concurrency_limit'],
    [500, 'internal_error'],
    [503, 'service_unavailable'],
  ]);
});

it('endpoints are those of the section "Endpoints", with their key header, their idempotency rule, and what a repetition may do', () => {
  const rows = Object.values(endpoints).map(
    (one) =>
      `${one.method} ${one.path} ${one.keyHeader} ${one.idempotencyKey} ${one.bodyLimit ? '1 MiB' : '-'} ${one.answer} ${one.repetition}`,
  );
  expect(rows).toEqual([
    'POST /v1/entity-search x-api-key recommended 1 MiB text/event-stream refused',
    'POST /v1/entity-search/create_task x-api-key required 1 MiB application/json replays',
    'GET /v1/entity-search/status x-api-key none - application/json free',
    'GET /v1/entity-search/fetch x-api-key none - application/json free',
    'POST /v1/contact-search bearer optional 1 MiB application/json refused',
    'POST /v1/deep-search bearer optional - application/json refused',
    'POST /v1/enrich bearer optional - application/json refused',
    'POST /v1/extract bearer optional - application/json may-replay',
    'GET /v1/credit/balance x-api-key none - application/json free',
  ]);
});

describe('enumerations', () => {
  it.each([
    ['entity types of both forms', types.streamEntityTypes, 7],
    ['entity types that need web search', types.webSearchEntityTypes, 2],
    ['entity types', types.entityTypes, 9],
    ['contact types', types.contactTypes, 2],
    ['extraction types', types.extractionTypes, 11],
    ['task states', types.taskStates, 4],
    ['terminal states', types.terminalTaskStates, 2],
    ['known stop reasons', types.knownStopReasons, 4],
  ])('%s are complete and without repetition', (_, values, count) => {
    expect(new Set<string>(values).size).toBe(count);
    expect(values).toHaveLength(count);
  });

  it('failed answers have the texts of the document', () => {
    expect(types.noResultTexts).toEqual({
      enrich: 'No result generated from enrich',
      deepSearch: 'No result generated from deep search',
    });
  });
});
