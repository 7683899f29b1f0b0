import { limits } from '../contract/limits.ts';
import type * as wire from '../contract/types.ts';
import { contactTypes, extractionTypes } from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { clip } from './closed-list.ts';
import { checkSchemaLimits } from './enrich-schema.ts';
import { checkPublicUrl } from './public-url.ts';
import { checkNumber, checkOneOf, checkText, type InputNames } from './within-limits.ts';

interface ExtractInput {
  readonly type: string;
  readonly target: string;
  readonly instruction?: string | null | undefined;
  readonly limit?: number | undefined;
}

/** Pure: the request of an extraction, checked against the interface's rules. Throws UsageError. */
export function toExtractRequest(input: ExtractInput, names: InputNames): wire.ExtractRequest {
  const type = checkExtractionType(input.type);
  const target = checkText({ ...limits.extractTarget, trimmed: true }, names.target, input.target);
  const instruction =
    input.instruction === undefined || input.instruction === null
      ? undefined
      : checkText({ ...limits.extractInstruction, trimmed: true }, names.instruction, input.instruction);
  const limit = checkNumber(limits.extractLimit, names.limit, input.limit ?? limits.extractLimit.default);
  const stated = instruction === undefined ? {} : { instruction };
  if (type.startsWith('github_repo_') && !isRepository(target)) {
    throw new UsageError(
      `${names.target} "${clip(target)}" is not a GitHub repository: ${type} needs its owner and its name, or its URL`,
      'For example: acme/rocket, or https://github.com/acme/rocket.',
    );
  }
  if (type !== 'web2list') return { type, target, ...stated, limit };
  if (!instruction) {
    throw new UsageError(
      `web2list needs ${names.instruction}, which says what to extract from the page`,
      `For example: ${names.instruction} "people: name, role, link"`,
    );
  }
  // The service ignores a limit here.
  return { type, target: checkPublicUrl(names.target, target), instruction };
}

/** Pure: whether a target can be a repository: owner and name, alone or behind a host, which has a point that no owner has. */
function isRepository(target: string): boolean {
  const parts = target.replace(/^[a-z+]+:\/\//i, '').split(/[/:]/);
  const [owner = '', name = ''] = parts[0]?.includes('.') ? parts.slice(1) : parts;
  return owner !== '' && name !== '';
}

/** Throws UsageError. */
export function checkExtractionType(value: string): wire.ExtractionType {
  return checkOneOf('extraction type', value, extractionTypes, extractionWords);
}

/** Synonyms for parts of extraction types. */
const extractionWords = {
  twitter: 'x',
  instagram: 'ins',
  insta: 'ins',
  ig: 'ins',
  star: 'stargazer',
  gh: 'github',
  repository: 'repo',
  page: 'web2list',
  web: 'web2list',
  list: 'web2list',
};

/** Pure: the request of a look-up, checked against the interface's limits. Throws UsageError. */
export function toContactSearchRequest(
  input: { readonly contact_type: string; readonly objective: string },
  names: InputNames,
): wire.ContactSearchRequest {
  return {
    contact_type: checkContactType(input.contact_type),
    objective: checkText(limits.contactObjective, names.objective, input.objective),
  };
}

/** Throws UsageError. */
export function checkContactType(value: string): wire.ContactType {
  return checkOneOf('contact type', value, contactTypes, contactWords);
}

/** Synonyms for contact types. */
const contactWords = { e: 'email', mail: 'email', telephone: 'phone', tel: 'phone', mobile: 'phone' };

/** Pure: the request of a deep search, checked against the interface's limits. Throws UsageError. */
export function toDeepSearchRequest(
  { query }: { readonly query: string },
  names: InputNames,
): wire.DeepSearchRequest {
  // The interface does not trim it, but a blank query would be paid for.
  return { query: checkText({ ...limits.deepSearchQuery, trimmed: true }, names.query, query) };
}

/** Pure: the request of an enrichment, checked against the interface's limits. Throws UsageError. */
export function toEnrichRequest(
  input: { readonly entity_context: string; readonly enrich_fields: unknown },
  names: InputNames,
): wire.EnrichRequest {
  return {
    entity_context: checkText(limits.enrichContext, names.entity_context, input.entity_context),
    enrich_fields: checkSchemaLimits(input.enrich_fields),
  };
}
