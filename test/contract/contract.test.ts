import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { errorRows } from '../../src/contract/error-types.ts';
import { type Limit, limits, web2listLimit } from '../../src/contract/limits.ts';
import * as types from '../../src/contract/types.ts';

/** The rows of the document's section "Limits", by their names there; `…` means no limit; the default is in brackets. */
const limitRows: readonly [row: string, limit: Limit, expected: string][] = [
  ['Request body size', limits.requestBody, '0 to 1048576 bytes'],
  ['Idempotency-Key length', limits.idempotencyKey, '1 to 128 characters'],
  ['Entity objective', limits.entityObjective, '1 to 4000 bytes, trimmed'],
  ['Contact objective', limits.contactObjective, '1 to 4000 characters, trimmed'],
  ['Entity Search limit', limits.entityLimit, '1 to 1000 entities (100)'],
  ['enrich_fields (Entity Search)', limits.entityEnrichFields, '0 to 20 items'],
  ['Exclusion list of earlier searches', limits.dedupServiceLeads, '0 to 100 items'],
  ['Exclusion list of custom leads', limits.dedupCustomLeads, '0 to 1000 items'],
  ['Fetch pts', limits.fetchPts, '0 to … position (0)'],
  ['Fetch num', limits.fetchNum, '1 to 500 entities (5)'],
  ['Deep Search query', limits.deepSearchQuery, '1 to 4000 characters'],
  ['Enrich entity_context, at least', limits.enrichContextLength, '1 to … characters'],
  ['Enrich entity_context, at most', limits.enrichContext, '1 to 16384 bytes, trimmed'],
  ['Enrich schema, size', limits.enrichSchema, '0 to 262144 bytes'],
  ['Enrich schema, nesting', limits.enrichSchemaDepth, '1 to 12 levels'],
  ['Enrich schema, properties', limits.enrichSchemaProperties, '1 to 200 properties'],
  ['Extract target', limits.extractTarget, '1 to 2048 characters'],
  ['Extract instruction', limits.extractInstruction, '0 to 4000 characters'],
  ['Extract limit', limits.extractLimit, '1 to 10000 items (100)'],
  ['leads_search_id (status, fetch)', limits.leadsSearchId, '1 to … characters'],
];

describe('limits', () => {
  it.each(limitRows)('%s', (_, { unit, min, max, default: otherwise, trimmed }, expected) => {
    const most = max === Number.MAX_SAFE_INTEGER ? '…' : max;
    const more = `${otherwise === undefined ? '' : ` (${otherwise})`}${trimmed ? ', trimmed' : ''}`;
    expect(`${min} to ${most} ${unit}${more}`).toBe(expected);
  });

  it('web2list always has 100 (row Extract limit)', () => {
    expect(web2listLimit).toBe(100);
  });

  it('there is no limit without a row', () => {
    expect(new Set(Object.values(limits))).toEqual(new Set(limitRows.map(([, limit]) => limit)));
  });
});

it('errors are the rows of the section "Errors"', () => {
  expect(errorRows.map(({ status, type }) => `${status} ${type}`)).toEqual([
    '401 authentication_error',
    '402 insufficient_credits',
    '403 authentication_error',
    '404 not_found',
    '409 idempotency_error',
    '409 request_already_exists',
    '422 invalid_request_error',
    '429 concurrency_limit',
    '500 internal_error',
    '503 service_unavailable',
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
