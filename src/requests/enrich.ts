import { limits } from '../contract/limits.ts';
import type { EnrichRequest } from '../contract/types.ts';
import { checkSchemaLimits } from './enrich-schema.ts';
import type { InputNames } from './input-names.ts';
import { checkText } from './within-limits.ts';

/** Pure: the request of an enrichment, checked against the interface's limits. Throws UsageError. */
// rule: enrich.context
export function toEnrichRequest(entityContext: string, schema: unknown, names: InputNames): EnrichRequest {
  return {
    entity_context: checkText(limits.enrichContext, names.entity_context, entityContext),
    enrich_fields: checkSchemaLimits(schema),
  };
}
