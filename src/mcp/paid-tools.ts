import type { ContactType } from '../contract/types.ts';
import { type JsonText, JsonView } from '../json/text.ts';
import { toContactSearchRequest } from '../requests/contact.ts';
import { toDeepSearchRequest } from '../requests/deep-search.ts';
import { toEnrichRequest } from '../requests/enrich.ts';
import type { EnrichSchema } from '../requests/enrich-schema.ts';
import {
  type EntitySearchInput,
  toCreateTaskRequest,
  toEntitySearchRequest,
} from '../requests/entity-search.ts';
import { toExtractRequest } from '../requests/extract.ts';
import { wireNames } from '../requests/input-names.ts';
import type { Arguments } from './arguments.ts';
import type { ToolKind, Wanted } from './plan.ts';

/** How a paid tool asks, and what it gives back. */
export interface PaidTool {
  readonly kind: ToolKind;
  /** The argument that `rows` stand for, where many can be looked up in one call. */
  readonly row?: string;
  /** Checked against the limits of the service. Throws UsageError. */
  toBody(given: Arguments): Promise<Wanted['body']>;
  /** What the person is asked about. */
  about(given: Arguments): string;
  /** What the records are called in the result; undefined for one answer, or none. */
  readonly records?: 'leads' | 'items';
  /** What an answer that came does not keep of what was asked, a line each. */
  warningsOf?(given: Arguments, answer: JsonText): Promise<readonly string[]>;
}

export const paidTools: Readonly<Record<string, PaidTool>> = {
  search: {
    kind: 'search',
    records: 'leads',
    toBody: async (given) => toEntitySearchRequest(text(given.entity_type), toSearched(given), wireNames),
    about: ({ entity_type, objective, limit }) => `Up to ${limit} leads (${entity_type}): ${objective}`,
  },
  task_create: {
    kind: 'task create',
    toBody: async (given) =>
      toCreateTaskRequest(
        text(given.entity_type),
        { ...toSearched(given), enable_web_search: given.enable_web_search === true },
        wireNames,
      ),
    about: ({ entity_type, objective, limit }) =>
      `A task for up to ${limit} leads (${entity_type}): ${objective}`,
  },
  contact: {
    kind: 'contact',
    row: 'objective',
    toBody: async ({ contact_type, objective }) =>
      toContactSearchRequest(text(contact_type) as ContactType, text(objective), wireNames),
    about: ({ contact_type, objective }) => `One ${contact_type}: ${objective}`,
  },
  research: {
    kind: 'research',
    row: 'query',
    toBody: async ({ query }) => toDeepSearchRequest(text(query), wireNames),
    about: ({ query }) => `The answer to: ${query}`,
  },
  enrich: {
    kind: 'enrich',
    row: 'entity_context',
    async toBody({ entity_context, enrich_fields }) {
      const request = toEnrichRequest(text(entity_context), enrich_fields, wireNames);
      await checkSchema(request.enrich_fields);
      return request;
    },
    about: ({ entity_context }) => `Fields of: ${entity_context}`,
    async warningsOf({ enrich_fields }, answer) {
      const { deviations } = await checkSchema(enrich_fields as EnrichSchema);
      const filled = new JsonView(answer).inner('answer')?.text ?? 'null';
      return deviations(JSON.parse(filled)).map((line) => `the answer does not follow the schema ${line}`);
    },
  },
  extract: {
    kind: 'extract',
    row: 'target',
    records: 'items',
    toBody: async ({ type, target, instruction, limit }) =>
      toExtractRequest(
        text(type),
        { target: text(target), instruction: instruction as string | undefined, limit: limit as number },
        wireNames,
      ),
    about: ({ type, target, limit }) => `Up to ${limit} items (${type}): ${target}`,
  },
};

async function checkSchema(schema: EnrichSchema) {
  const { checkJsonSchema } = await import('../requests/json-schema.ts');
  return await checkJsonSchema(schema);
}

function toSearched(given: Arguments): EntitySearchInput {
  return given as unknown as EntitySearchInput;
}

/** Required, and checked to be a text. */
function text(value: unknown): string {
  return value as string;
}
