import { limits } from '../../contract/limits.ts';
import { type EntityType, streamEntityTypes, webSearchEntityTypes } from '../../contract/types.ts';
import { allowed, allowedAtACost, invalid, section } from '../expectations.ts';
import type { Request, Row } from '../row.ts';
import { companies, names, objectiveOf, sentence } from '../samples.ts';

type Form = 'search' | 'createTask';

const { entityObjective, entityLimit, entityEnrichFields, dedupServiceLeads, dedupCustomLeads } = limits;

/** The fields that both forms of Entity Search have, with the same constraints. */
export function searchFieldRows(form: Form): Row[] {
  const send = (change: object): Request => ({ endpoint: form, body: companies(change) });
  const { wrong, right } = section(names[form], send);
  const list = (length: number): string[] => Array.from({ length }, (_, at) => `item ${at}`);

  const lists = (
    [
      ['enrich_fields', entityEnrichFields],
      ['dedup_service_leads', dedupServiceLeads],
      ['dedup_custom_leads', dedupCustomLeads],
    ] as const
  ).flatMap(([field, { max }]) => {
    const name = field.replaceAll('_', '-');
    return [
      right(`${name}-empty`, `${field} may be empty`, { [field]: [] }),
      right(`${name}-${max}`, `${field} has at most ${max} items`, { [field]: list(max) }),
      wrong(`${name}-${max + 1}`, `${field} has at most ${max} items`, { [field]: list(max + 1) }),
      wrong(`${name}-a-string`, `${field} is an array`, { [field]: 'item' }),
      wrong(`${name}-numbers`, `${field} has only strings as items`, { [field]: [1] }),
    ];
  });

  return [
    wrong('entity-type-missing', 'entity_type is required', { entity_type: undefined }),
    wrong('entity-type-unknown', 'entity_type is one of the types that the interface lists', {
      entity_type: 'planet',
    }),
    wrong('entity-type-a-number', 'entity_type is a string', { entity_type: 1 }),
    ...streamEntityTypes.map((type) => typeRow(form, type, {})),
    wrong('objective-missing', 'objective is required', { objective: undefined }),
    wrong('objective-null', 'objective is a string', { objective: null }),
    wrong('objective-a-number', 'objective is a string', { objective: 42 }),
    wrong('objective-empty', 'objective has at least 1 byte', { objective: '' }),
    wrong('objective-white-space', 'objective has at least 1 byte after trimming', { objective: ' \n\t ' }),
    right('objective-4000-bytes', 'objective has at most 4000 bytes', {
      objective: sentence(entityObjective.max),
    }),
    wrong('objective-4001-bytes', 'objective has at most 4000 bytes', {
      objective: sentence(entityObjective.max + 1),
    }),
    right('objective-trimmed', 'objective is counted after trimming', {
      objective: `  ${sentence(entityObjective.max)}\n`,
    }),
    right('objective-2000-two-byte-characters', 'objective is counted in UTF-8 bytes', {
      objective: 'é'.repeat(entityObjective.max / 2),
    }),
    wrong('objective-2001-two-byte-characters', 'objective is counted in UTF-8 bytes, not in characters', {
      objective: 'é'.repeat(entityObjective.max / 2 + 1),
    }),
    wrong('limit-0', 'limit is at least 1', { limit: 0 }),
    wrong('limit-negative', 'limit is at least 1', { limit: -1 }),
    allowedAtACost(`${names[form]}/limit-1000`, 'limit is at most 1000', send({ limit: entityLimit.max })),
    wrong('limit-1001', 'limit is at most 1000', { limit: entityLimit.max + 1 }),
    wrong('limit-a-string', 'limit is an integer', { limit: '5' }),
    wrong('limit-a-fraction', 'limit is an integer', { limit: 1.5 }),
    ...lists,
    wrong('unknown-field', 'unknown fields are rejected', { entity_kind: 'company' }),
  ];
}

/** A row that a type is accepted; `change` is what else it takes. */
export function typeRow(form: Form, type: EntityType, change: object): Row {
  return allowed(`${names[form]}/entity-type-${type}`, `entity_type can be ${type}`, {
    endpoint: form,
    body: companies({ entity_type: type, objective: objectiveOf(type), ...change }),
  });
}

/** The two types that only tasks with open web search accept, in a form that must refuse them. */
export function webTypeRows(form: Form, name: string, rule: string, change: object): Row[] {
  return webSearchEntityTypes.map((type) => ({
    id: `${names[form]}/${type}-${name}`,
    rule: rule.replace('{type}', type),
    request: { endpoint: form, body: companies({ entity_type: type, objective: 'travel', ...change }) },
    expect: invalid,
  }));
}
