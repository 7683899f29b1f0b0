import { limits } from '../contract/limits.ts';
import type { DeepSearchRequest } from '../contract/types.ts';
import type { InputNames } from './input-names.ts';
import { checkText } from './within-limits.ts';

/** Pure: the request of a deep search, checked against the interface's limits. Throws UsageError. */
// rule: research.query
export function toDeepSearchRequest(query: string, names: InputNames): DeepSearchRequest {
  // The document does not trim it. White space says nothing, and would be paid for.
  return { query: checkText({ ...limits.deepSearchQuery, trimmed: true }, names.query, query) };
}
