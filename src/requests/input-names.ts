/** The inputs of requests under the names of the interface, which a program uses too. */
export const wireNames = {
  objective: 'objective',
  limit: 'limit',
  enrich_fields: 'enrich_fields',
  dedup_service_leads: 'dedup_service_leads',
  dedup_custom_leads: 'dedup_custom_leads',
  enable_web_search: 'enable_web_search',
  query: 'query',
  entity_context: 'entity_context',
  target: 'target',
  instruction: 'instruction',
  idempotency_key: 'Idempotency-Key',
} as const;

/** What messages call each input: whoever takes `--limit` says `--limit`. */
export type InputNames = Readonly<Record<keyof typeof wireNames, string>>;
