import { Argument, type Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { limits } from '../contract/limits.ts';
import type { EntitySearchRequest, EntityType } from '../contract/types.ts';
import { checkList, checkNumber, checkText } from '../requests/check-input.ts';
import { readList, readTextArgument } from './inputs.ts';
import { argumentOf, collect } from './options.ts';

/** What to find: the options that both forms of Entity Search share. */
export interface EntitySearchOptions {
  readonly limit?: number;
  readonly enrichFields?: string[];
  readonly dedupServiceLeads?: string[];
  readonly dedupCustomLeads?: string[];
}

/** What the options hold once files and standard input are read. */
export interface EntitySearchInput {
  readonly objective: string;
  readonly limit: number | undefined;
  readonly enrichFields: readonly string[];
  readonly dedupServiceLeads: readonly string[];
  readonly dedupCustomLeads: readonly string[];
}

const searchFor = 'What to find:';

/** Adds the two arguments, and the options under one heading; `more` are the command's own. */
export function addEntitySearchOptions(
  command: Command,
  types: readonly EntityType[],
  more: readonly Option[],
  needed: 'required' | 'optional' = 'required',
): Command {
  const { entityLimit } = limits;
  const options = [
    new Option(
      '--limit <n>',
      `at most this many leads (${entityLimit.min} to ${entityLimit.max}, default ${entityLimit.default})`,
    ).argParser((value) => checkNumber(entityLimit, '--limit', value)),
    new Option(
      '--enrich-fields <names>',
      'further fields to fill, such as funding_stage,headcount',
    ).argParser(collect),
    new Option('--dedup-service-leads <ids>', 'leave out what these earlier searches brought').argParser(
      collect,
    ),
    new Option(
      '--dedup-custom-leads <names>',
      'leave out leads of these names; @leads.csv reads a file',
    ).argParser(collect),
    ...more,
  ];
  const [open, close] = needed === 'required' ? ['<', '>'] : ['[', ']'];
  command
    .addArgument(argumentOf(`${open}entity-type${close}`, types))
    .addArgument(
      new Argument(
        `${open}objective${close}`,
        'what to find, in your own words; - for stdin, @file for a file',
      ),
    );
  for (const option of options) command.addOption(option.helpGroup(searchFor));
  return command;
}

/** Reads the files and the standard input that the options name. Throws UsageError. */
export async function readEntitySearchInput(
  context: Context,
  objective: string,
  options: EntitySearchOptions,
): Promise<EntitySearchInput> {
  return {
    objective: await readTextArgument(context, 'the objective', objective),
    limit: options.limit,
    enrichFields: await readList('--enrich-fields', 'name', options.enrichFields ?? []),
    dedupServiceLeads: await readList(
      '--dedup-service-leads',
      'leads_search_id',
      options.dedupServiceLeads ?? [],
    ),
    dedupCustomLeads: await readList('--dedup-custom-leads', 'name', options.dedupCustomLeads ?? []),
  };
}

/** Pure: what both request bodies hold, each part checked against the interface's limits. Throws UsageError. */
export function toEntitySearchRequest<Type extends EntityType>(
  entityType: Type,
  input: EntitySearchInput,
): Omit<EntitySearchRequest, 'entity_type'> & { entity_type: Type } {
  const enrichFields = checkList(limits.entityEnrichFields, '--enrich-fields', input.enrichFields);
  const serviceLeads = checkList(limits.dedupServiceLeads, '--dedup-service-leads', input.dedupServiceLeads);
  const customLeads = checkList(limits.dedupCustomLeads, '--dedup-custom-leads', input.dedupCustomLeads);
  return {
    entity_type: entityType,
    objective: checkText(limits.entityObjective, 'the objective', input.objective),
    limit: input.limit ?? limits.entityLimit.default,
    ...(enrichFields.length === 0 ? {} : { enrich_fields: enrichFields }),
    ...(serviceLeads.length === 0 ? {} : { dedup_service_leads: serviceLeads }),
    ...(customLeads.length === 0 ? {} : { dedup_custom_leads: customLeads }),
  };
}
