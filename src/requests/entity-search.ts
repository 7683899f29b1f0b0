import { limits } from '../contract/limits.ts';
import {
  type CreateTaskRequest,
  type EntitySearchRequest,
  type EntityType,
  entityTypes,
  type StreamEntityType,
  streamEntityTypes,
  webSearchEntityTypes,
} from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { wordsOf } from './closed-list.ts';
import {
  checkList,
  checkNumber,
  checkOneOf,
  checkSize,
  checkText,
  type InputNames,
} from './within-limits.ts';

/** What to find: the input that both forms of Entity Search share. */
export interface EntitySearchInput {
  readonly entity_type: string;
  readonly objective: string;
  readonly limit?: number | undefined;
  readonly enrich_fields?: readonly string[] | undefined;
  readonly dedup_service_leads?: readonly string[] | undefined;
  readonly dedup_custom_leads?: readonly string[] | undefined;
}

/** Pure: the body of a streaming search, checked against the limits of the interface. Throws UsageError. */
export function toEntitySearchRequest(input: EntitySearchInput, names: InputNames): EntitySearchRequest {
  return toRequest(checkStreamEntityType(input.entity_type), input, names, {});
}

/** Pure: the body of create_task, checked against the interface's limits. Throws UsageError. */
export function toCreateTaskRequest(
  input: EntitySearchInput & { readonly enable_web_search?: boolean | undefined },
  names: InputNames,
): CreateTaskRequest {
  const isWeb = input.enable_web_search === true;
  const type = checkTaskEntityType(input.entity_type, isWeb, names);
  return toRequest(type, input, names, isWeb ? { enable_web_search: true } : {});
}

function toRequest<Type extends EntityType, More extends object>(
  entity_type: Type,
  input: EntitySearchInput,
  names: InputNames,
  more: More,
) {
  const { enrich_fields = [], dedup_service_leads = [], dedup_custom_leads = [] } = input;
  const enrichFields = checkList(limits.entityEnrichFields, names.enrich_fields, enrich_fields);
  const serviceLeads = checkList(limits.dedupServiceLeads, names.dedup_service_leads, dedup_service_leads);
  const customLeads = checkList(limits.dedupCustomLeads, names.dedup_custom_leads, dedup_custom_leads, {
    is: 'too_many_names',
  });
  const request = {
    entity_type,
    objective: checkText(limits.entityObjective, names.objective, input.objective),
    limit: checkNumber(limits.entityLimit, names.limit, input.limit ?? limits.entityLimit.default),
    ...(enrichFields.length === 0 ? {} : { enrich_fields: enrichFields }),
    ...(serviceLeads.length === 0 ? {} : { dedup_service_leads: serviceLeads }),
    ...(customLeads.length === 0 ? {} : { dedup_custom_leads: customLeads }),
    ...more,
  };
  const size = Buffer.byteLength(JSON.stringify(request));
  const hint = `Shorten ${names.dedup_custom_leads}, which is most of it.`;
  checkSize('the request body', size, limits.requestBody, hint);
  return request;
}

/** Pure: the enrich fields that ask for email addresses or phone numbers, which a search doesn't find. */
export function contactFieldsIn(fields: readonly string[]): string[] {
  const isContact = (word: string): boolean => /^(?:e?mail|(?:tele|cell|mobile)?phone|mobile)$/.test(word);
  return fields.filter((field) => wordsOf(field.replace(/\be-mail/gi, 'email')).some(isContact));
}

/**
 * Checks an entity type for a streaming search. For the two that only tasks accept, the error names the right command. Throws UsageError.
 */
export function checkStreamEntityType(value: string): StreamEntityType {
  if (webSearchEntityTypes.some((one) => one === value)) {
    throw new UsageError(`a search can't find ${value}: only a task can, with open web search`, {
      is: 'stream_refused_type',
      entityType: value,
    });
  }
  return checkOneOf('entity type', value, streamEntityTypes, entityWords);
}

/** Checks an entity type for a task. Two of them need open web search. Throws UsageError. */
export function checkTaskEntityType(
  value: string,
  enableWebSearch: boolean,
  { enable_web_search }: InputNames,
): EntityType {
  const type = checkOneOf('entity type', value, entityTypes, entityWords);
  if (!enableWebSearch && webSearchEntityTypes.some((one) => one === type)) {
    throw new UsageError(
      `${type} is found by open web search only`,
      `Add ${enable_web_search}; it usually costs more, and takes a minute or two.`,
    );
  }
  return type;
}

/** Synonyms for the parts of entity types. */
export const entityWords: Readonly<Record<string, string>> = {
  people: 'person',
  contact: 'person',
  business: 'company',
  organization: 'company',
  startup: 'company',
  x: 'twitter',
  insta: 'instagram',
  channel: 'creator',
  influencer: 'creator',
  buyer: 'store',
};
