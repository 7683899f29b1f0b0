import { Argument, type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import type { EntityType } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { Order } from '../../operations/purchase.ts';
import { contactFieldsIn, type EntitySearchInput } from '../../requests/entity-search.ts';
import { checkNumber } from '../../requests/within-limits.ts';
import { createNotes } from '../messages/notes.ts';
import { readList, readTextArgument } from './inputs.ts';
import { argumentOf, collect, inputNames, type ReportOptions } from './options.ts';

/** What to find: the options that both forms of Entity Search share. */
export interface EntitySearchOptions {
  readonly limit?: number;
  readonly enrichFields?: string[];
  readonly dedupServiceLeads?: string[];
  readonly dedupCustomLeads?: string[];
}

/** Which list the leads count for. */
export interface ListOptions {
  readonly list?: string;
  readonly onlyNew?: true;
}

const searchFor = 'What to find:';
/** Of a name; it stands in a file, and in columns. */
const longestName = 100;

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
      'more fields to find for each lead, such as funding_stage,headcount',
    ).argParser(collect),
    new Option(
      '--dedup-service-leads <ids>',
      'leave out the leads of these earlier searches (leads_search_id)',
    ).argParser(collect),
    new Option(
      '--dedup-custom-leads <names>',
      'leave out leads with these names; @leads.csv reads them from a file',
    ).argParser(collect),
    ...more,
  ];
  const [open, close] = needed === 'required' ? ['<', '>'] : ['[', ']'];
  command
    .addArgument(argumentOf(`${open}entity-type${close}`, types))
    .addArgument(
      new Argument(
        `${open}objective${close}`,
        'what to find, in your own words (- reads stdin, @file reads a file)',
      ),
    );
  for (const option of options) command.addOption(option.helpGroup(searchFor));
  return command;
}

/** Adds the options of commands whose leads count as delivered. */
export function addListOptions(command: Command): Command {
  const options = [
    new Option('--only-new', 'leave out leads that earlier runs of the same list delivered on this machine'),
    new Option(
      '--list <list>',
      'the name of the list that --only-new uses; all searches count (default: the entity type)',
    ).argParser(checkListName),
  ];
  for (const option of options) command.addOption(option.helpGroup(searchFor));
  return command.hook('preAction', (_, action) => checkKept(action.opts()));
}

/** Pure: what an order says of its list. */
export function toListTerms({ list: name, onlyNew }: ListOptions): NonNullable<Order['list']> {
  return { name, onlyNew };
}

/** Throws UsageError. */
export function checkListName(given: string): string {
  const name = given.trim();
  if (name === '') throw new UsageError('--list: the name is empty', 'For example: --list berlin-fintechs');
  if (name.length > longestName || /\p{Cc}/u.test(name)) {
    throw new UsageError(
      `--list must be a name of at most ${longestName} characters, on one line`,
      'For example: --list berlin-fintechs',
    );
  }
  return name;
}

/** Throws UsageError for options that contradict each other. */
function checkKept({ list, onlyNew, history }: ListOptions & { readonly history: boolean }): void {
  if (history || (list === undefined && !onlyNew)) return;
  throw new UsageError(
    `${onlyNew ? '--only-new' : '--list'} can't be used with --no-history: it needs the record of this purchase`,
    'Use only one of the two.',
  );
}

/** Reads the files and the standard input that the options name. Throws UsageError. */
export async function readEntitySearchInput(
  context: Context,
  objective: string,
  options: EntitySearchOptions & Partial<ReportOptions>,
): Promise<EntitySearchInput> {
  const enrichFields = await readList(context, inputNames.enrich_fields, 'name', options.enrichFields ?? []);
  const contacts = contactFieldsIn(enrichFields);
  if (contacts.length > 0) {
    createNotes(context, options).warn(
      `a search finds no email addresses or phone numbers, so ${contacts.join(', ')} will probably stay empty. To look them up: leadpipe contact email --input <file of leads>`,
    );
  }
  return {
    objective: await readTextArgument(context, inputNames.objective, objective),
    limit: options.limit,
    enrich_fields: enrichFields,
    dedup_service_leads: await readList(
      context,
      inputNames.dedup_service_leads,
      'leads_search_id',
      options.dedupServiceLeads ?? [],
    ),
    dedup_custom_leads: await readList(
      context,
      inputNames.dedup_custom_leads,
      'name',
      options.dedupCustomLeads ?? [],
    ),
  };
}
