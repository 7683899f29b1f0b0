/**
 * Every limit of the service, with its value and the unit it counts in. `bytes` are UTF-8 bytes, `characters`
 * are Unicode code points (not UTF-16 units). `trimmed` limits count after white space is trimmed at both ends.
 */

export type LimitUnit =
  | 'bytes'
  | 'characters'
  | 'items'
  | 'credits'
  | 'entities'
  | 'levels'
  | 'properties'
  | 'position';

export interface Limit {
  /** The interface's name of the field, or its word for it. */
  readonly field: string;
  readonly unit: LimitUnit;
  readonly min: number;
  readonly max: number;
  readonly default?: number;
  readonly trimmed?: true;
}

export const limits = {
  /** Only for streaming search, create_task and contact search; the interface states none for the others. */
  requestBody: { field: 'request body', unit: 'bytes', min: 0, max: 1_048_576 },
  idempotencyKey: { field: 'Idempotency-Key', unit: 'characters', min: 1, max: 128 },
  entityObjective: { field: 'objective', unit: 'bytes', min: 1, max: 4000, trimmed: true },
  contactObjective: { field: 'objective', unit: 'characters', min: 1, max: 4000, trimmed: true },
  entityLimit: { field: 'limit', unit: 'entities', min: 1, max: 1000, default: 100 },
  entityEnrichFields: { field: 'enrich_fields', unit: 'items', min: 0, max: 20 },
  dedupServiceLeads: { field: 'dedup_service_leads', unit: 'items', min: 0, max: 100 },
  dedupCustomLeads: { field: 'dedup_custom_leads', unit: 'items', min: 0, max: 1000 },
  fetchPts: { field: 'pts', unit: 'position', min: 0, max: Number.MAX_SAFE_INTEGER, default: 0 },
  fetchNum: { field: 'num', unit: 'entities', min: 1, max: 500, default: 5 },
  leadsSearchId: { field: 'leads_search_id', unit: 'characters', min: 1, max: Number.MAX_SAFE_INTEGER },
  deepSearchQuery: { field: 'query', unit: 'characters', min: 1, max: 4000 },
  enrichContextLength: { field: 'entity_context', unit: 'characters', min: 1, max: Number.MAX_SAFE_INTEGER },
  enrichContext: { field: 'entity_context', unit: 'bytes', min: 1, max: 16_384, trimmed: true },
  enrichSchema: { field: 'enrich_fields', unit: 'bytes', min: 0, max: 262_144 },
  enrichSchemaDepth: { field: 'enrich_fields', unit: 'levels', min: 1, max: 12 },
  enrichSchemaProperties: { field: 'enrich_fields', unit: 'properties', min: 1, max: 200 },
  extractTarget: { field: 'target', unit: 'characters', min: 1, max: 2048 },
  extractInstruction: { field: 'instruction', unit: 'characters', min: 0, max: 4000 },
  extractLimit: { field: 'limit', unit: 'items', min: 1, max: 10_000, default: 100 },
} as const satisfies Record<string, Limit>;

/** Pure: the maximum number of leads that a request asks for. */
export function leadLimitOf({ limit = limits.entityLimit.default }: { readonly limit?: number }): number {
  return limit;
}

/** How long the service remembers an idempotency key, in milliseconds. Not documented: leadpipe assumes one day. */
export const rememberedMs = 24 * 3_600_000;

/** The fixed limit of `web2list`, which ignores `limit`. It is returned in `metadata.limit`. */
export const web2listLimit = 100;
