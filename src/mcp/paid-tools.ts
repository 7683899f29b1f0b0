import { limits } from '../contract/limits.ts';
import { contactTypes, entityTypes, extractionTypes, streamEntityTypes } from '../contract/types.ts';
import { JsonView } from '../json/text.ts';
import type { EnrichSchema } from '../requests/enrich-schema.ts';
import { toCreateTaskRequest, toEntitySearchRequest } from '../requests/entity-search.ts';
import {
  toContactSearchRequest,
  toDeepSearchRequest,
  toEnrichRequest,
  toExtractRequest,
} from '../requests/lookups.ts';
import { boolean, integer, list, listed, object, type PaidRow, show, string } from './tool.ts';

const textOf = ({ max }: { readonly max: number }) => ({ type: 'string', maxLength: max }) as const;
const listOf = ({ max }: { readonly max: number }) =>
  ({ type: 'array', items: string, maxItems: max }) as const;
const limitOf = ({ min, max, default: defaultValue }: { min: number; max: number; default?: number }) =>
  ({ type: 'integer', minimum: min, maximum: max, default: defaultValue }) as const;
/** With more rows, most clients would not wait long enough. */
const maxRows = 50;

const defaultLimit = limits.entityLimit.default;
const searched = {
  objective: { ...textOf(limits.entityObjective), description: 'what to find, in words' },
  limit: {
    ...limitOf(limits.entityLimit),
    description: `default ${defaultLimit}: up to ${defaultLimit} credits`,
  },
  enrich_fields: {
    ...listOf(limits.entityEnrichFields),
    description: 'further fields to fill, such as headcount; not emails or phones',
  },
  dedup_service_leads: {
    ...listOf(limits.dedupServiceLeads),
    description: 'leave out the leads of these leads_search_ids',
  },
  dedup_custom_leads: { ...listOf(limits.dedupCustomLeads), description: 'leave out leads of these names' },
  only_new: {
    ...boolean,
    description: 'leave out leads of earlier only_new searches of this type',
  },
} as const;

const bought = {
  complete: boolean,
  charged: { enum: ['no', 'maybe', 'yes'] },
  operation_id: string,
  stored: boolean,
  credits_left: {},
  warnings: list,
} as const;
const searchId = { leads_search_id: string } as const;

const table: readonly (Omit<PaidRow, 'annotations' | 'always'> & Partial<PaidRow>)[] = [
  {
    name: 'search',
    title: 'Search leads',
    description:
      'Finds people, companies, creators or stores that fit an objective. Costs up to one credit per lead, more with enrich_fields.',
    takes: { entity_type: { type: 'string', enum: streamEntityTypes }, ...searched, show },
    required: ['entity_type', 'objective'],
    gives: { leads: list, ...listed, ...searchId },
    always: ['leads', 'count'],
    kind: 'search',
    records: 'leads',
    toBody: toEntitySearchRequest,
    about: ({ entity_type, objective, limit }) => `Up to ${limit} leads (${entity_type}): ${objective}`,
  },
  {
    name: 'task_create',
    title: 'Start a search task',
    description:
      'The same search, run by the service without this machine. Costs the same, and more with web search. Then: task_status, task_fetch.',
    takes: {
      entity_type: { type: 'string', enum: entityTypes },
      ...searched,
      enable_web_search: {
        type: 'boolean',
        description: 'needed for xiaohongshu and wechat; more expensive and slower',
      },
    },
    required: ['entity_type', 'objective'],
    gives: { ...searchId, idempotency_key: string },
    always: ['leads_search_id'],
    kind: 'task create',
    toBody: toCreateTaskRequest,
    about: ({ entity_type, objective, limit }) =>
      `A task for up to ${limit} leads (${entity_type}): ${objective}`,
  },
  {
    name: 'contact',
    title: 'Look up a contact',
    description: 'One email address or phone number of someone. Paid per lookup.',
    takes: {
      contact_type: { type: 'string', enum: contactTypes },
      objective: { ...textOf(limits.contactObjective), description: 'who it is, in words' },
    },
    required: ['contact_type'],
    gives: { answer: object },
    kind: 'contact',
    row: 'objective',
    toBody: toContactSearchRequest,
    about: ({ contact_type, objective }) => `One ${contact_type}: ${objective}`,
  },
  {
    name: 'research',
    title: 'Research a question',
    description: 'One answer with citations; takes minutes. Paid per question.',
    takes: { query: textOf(limits.deepSearchQuery) },
    gives: { answer: object },
    kind: 'research',
    row: 'query',
    toBody: toDeepSearchRequest,
    about: ({ query }) => `The answer to: ${query}`,
  },
  {
    name: 'enrich',
    title: 'Fill in fields',
    description: 'Fills the fields of a JSON Schema for one person, company or thing. Paid per request.',
    takes: {
      entity_context: {
        ...textOf(limits.enrichContext),
        description: 'what is known: name, website, handles',
      },
      enrich_fields: { type: 'object', description: 'JSON Schema: {"type":"object","properties":{…}}' },
    },
    required: ['enrich_fields'],
    gives: { answer: object },
    kind: 'enrich',
    row: 'entity_context',
    async toBody({ entity_context, enrich_fields }, names) {
      const request = toEnrichRequest({ entity_context, enrich_fields }, names);
      await checkSchema(request.enrich_fields);
      return request;
    },
    about: ({ entity_context }) => `Fields of: ${entity_context}`,
    async warningsOf({ enrich_fields }, answer) {
      const { deviations } = await checkSchema(enrich_fields);
      const filled = new JsonView(answer).inner('answer')?.text ?? 'null';
      return deviations(JSON.parse(filled));
    },
  },
  {
    name: 'extract',
    title: 'Extract a list',
    description:
      'Followers, following, stargazers or contributors of an account or repository, or with web2list the list on a public page. Paid per item.',
    takes: {
      type: { type: 'string', enum: extractionTypes },
      target: { ...textOf(limits.extractTarget), description: 'handle, repository, or URL for web2list' },
      instruction: {
        ...textOf(limits.extractInstruction),
        description: 'items and fields; needed for web2list',
      },
      limit: limitOf(limits.extractLimit),
      show,
    },
    required: ['type'],
    gives: { items: list, ...listed, metadata: object },
    kind: 'extract',
    row: 'target',
    records: 'items',
    toBody: toExtractRequest,
    about: ({ type, target, limit }) => `Up to ${limit} items (${type}): ${target}`,
  },
];

export const paidTools: readonly PaidRow[] = table.map((tool) => {
  const { row, always = [] } = tool;
  const description = `many, each in place of ${row}`;
  const rows = { ...listOf({ max: maxRows }), minItems: 1, description };
  const results = { rows: { type: 'array', description: 'a result for each' }, failed: integer };
  return {
    ...tool,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    takes: { ...tool.takes, ...(row && { rows }), again: { type: 'boolean', description: 'buy once more' } },
    gives: { ...tool.gives, ...(row && results), ...bought },
    always: [...always, 'complete', 'charged'],
  };
});

async function checkSchema(schema: EnrichSchema) {
  const { checkJsonSchema } = await import('../requests/json-schema.ts');
  return await checkJsonSchema(schema);
}
