import { Argument, type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import type { EntityType } from '../../contract/types.ts';
import type { EntitySearchInput } from '../../requests/entity-search.ts';
import { checkNumber } from '../../requests/within-limits.ts';
import { readList, readTextArgument } from './inputs.ts';
import { argumentOf, collect, inputNames } from './options.ts';

/** What to find: the options that both forms of Entity Search share. */
export interface EntitySearchOptions {
  readonly limit?: number;
  readonly enrichFields?: string[];
  readonly dedupServiceLeads?: string[];
  readonly dedupCustomLeads?: string[];
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
    ).argParser((value) => checkNumber(entityLimit, inputNames.limit, value)),
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
    objective: await readTextArgument(context, inputNames.objective, objective),
    limit: options.limit,
    enrich_fields: await readList(inputNames.enrich_fields, 'name', options.enrichFields ?? []),
    dedup_service_leads: await readList(
      inputNames.dedup_service_leads,
      'leads_search_id',
      options.dedupServiceLeads ?? [],
    ),
    dedup_custom_leads: await readList(inputNames.dedup_custom_leads, 'name', options.dedupCustomLeads ?? []),
  };
}
