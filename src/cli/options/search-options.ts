import { Argument, Option } from 'commander';
import { headersOf } from '../../columns/columns.ts';
import { entityLayout } from '../../columns/entity-layout.ts';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import type { CreateTaskRequest, EntityType } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import type { Order } from '../../operations/order.ts';
import { checkTaskEntityType, contactFieldsIn, toCreateTaskRequest } from '../../requests/entity-search.ts';
import { createNotes } from '../messages/status-line.ts';
import { inputNames, readList, readTextArgument } from './inputs.ts';
import { argumentOf, collect, numberIn, option, under } from './option-builders.ts';
import type { PaidOptions, ReportOptions } from './shared-options.ts';

/** The description of leads in helps. */
export const leadShape = ['{"name":"…","description":"…","links":{"website":"…"},"score":{…},…}'];
export const leadColumns = {
  columns: () => headersOf(entityLayout()),
  moreColumns: 'then <field>, <field>_reference for each of --enrich-fields',
} as const;

/** The options that both forms of Entity Search share. */
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

const longestName = 100;

export function createEntityArguments(types: readonly EntityType[]): readonly Argument[] {
  const objective = 'what to find, in your own words (- reads stdin, @file reads a file)';
  return [argumentOf('<entity-type>', types), new Argument('<objective>', objective)];
}

/** The options for what to find, under one heading; `more` are those of the command itself. */
export function createEntityOptions(more: readonly Option[]): readonly Option[] {
  const { entityLimit } = limits;
  return under('What to find:', [
    option(
      '--limit <n>',
      `at most n leads, ${entityLimit.min} to ${entityLimit.max}`,
      numberIn(entityLimit),
      { default: entityLimit.default },
    ),
    option('--enrich-fields <names>', 'more fields to find, such as job_title,company', collect),
    option('--dedup-service-leads <ids>', 'leave out the leads of these leads_search_ids', collect),
    option('--dedup-custom-leads <names>', 'leave out these names; @leads.csv reads a file', collect),
    ...more,
  ]);
}

export const listOptions: readonly Option[] = [
  new Option('--only-new', 'leave out leads that are already in the list'),
  option(
    '--list <list>',
    'the list to compare with; every search with this name adds its leads',
    checkListName,
    { defaultText: 'the entity type' },
  ),
];

/** Pure: which list an order belongs to. Throws UsageError for options that contradict each other. */
export function toListTerms({
  history,
  list: name,
  onlyNew,
}: ListOptions & PaidOptions): NonNullable<Order['list']> {
  if (history || (name === undefined && !onlyNew)) return { name, onlyNew };
  throw new UsageError(
    `${onlyNew ? '--only-new' : '--list'} can't be used with --no-history: it needs the record of this purchase`,
    'Use only one of the two.',
  );
}

/** Throws UsageError. */
export function checkListName(given: string): string {
  const name = given.trim();
  if (name !== '' && name.length <= longestName && !/\p{Cc}/u.test(name)) return name;
  throw new UsageError(
    `--list must be a name of 1 to ${longestName} characters, on one line`,
    'For example: --list berlin-fintechs',
  );
}

/** Reads the files and the standard input that the options name. Throws UsageError. */
export async function readEntitySearchInput(
  context: Context,
  objective: string,
  options: EntitySearchOptions & Partial<ReportOptions>,
) {
  const notes = createNotes(context, options);
  const read = (name: string, column: string, values: readonly string[] = []) =>
    readList(context, name, column, values, notes);
  const enrichFields = await read(inputNames.enrich_fields, 'name', options.enrichFields);
  const contacts = contactFieldsIn(enrichFields);
  if (contacts.length > 0) {
    notes.warn(
      `a search finds no email addresses or phone numbers, so ${contacts.join(', ')} will probably stay empty. To look them up: leadpipe contact email --input <file of leads>`,
    );
  }
  const { dedupServiceLeads, dedupCustomLeads } = options;
  return {
    objective: await readTextArgument(context, inputNames.objective, objective),
    limit: options.limit,
    enrich_fields: enrichFields,
    dedup_service_leads: await read(inputNames.dedup_service_leads, 'leads_search_id', dedupServiceLeads),
    dedup_custom_leads: await read(inputNames.dedup_custom_leads, 'name', dedupCustomLeads),
  };
}

export interface TaskRequestOptions extends EntitySearchOptions {
  readonly enableWebSearch?: true;
}

export const enableWebSearch = new Option(
  '--enable-web-search',
  'also search the open web: slower and more expensive; needed for xiaohongshu and wechat',
);

export const taskCost = {
  text: 'at most 1 credit for each lead; with --enrich-fields or --enable-web-search the price that you set',
  settings: ['price.task'],
} as const;

/** Reads and checks the request for a task, before anything is sent. Throws UsageError. */
export async function readTaskRequest(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRequestOptions & Partial<ReportOptions>,
): Promise<CreateTaskRequest> {
  const enable_web_search = options.enableWebSearch === true;
  // Check this first, so that standard input is not read without need.
  checkTaskEntityType(entityType, enable_web_search, inputNames);
  const input = await readEntitySearchInput(context, objective, options);
  return toCreateTaskRequest({ entity_type: entityType, ...input, enable_web_search }, inputNames);
}
