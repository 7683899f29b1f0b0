import { Argument } from 'commander';
import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Layout } from '../../../columns/layout.ts';
import type { Context } from '../../../context.ts';
import {
  type ListedLead,
  type ListRecord,
  readListedLeads,
  readLists,
} from '../../../operations/only-new/lists.ts';
import { shortLinks } from '../../../output/readable.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { printRecords, timeColumn, zoned } from '../../records/record-output.ts';
import { memberText, operationIdColumn } from './purchase-columns.ts';
import { toUnknownList } from './unknown-list.ts';

const leadMembers = [
  'list',
  'name',
  'time',
  'operation_id',
  'leads_search_id',
  'origin',
  'link',
] satisfies (keyof ListedLead)[];

export const createHistoryLists = defineCommand({
  name: 'lists',
  summary: 'the lists of leads that --only-new leaves out',
  description:
    'Shows the lists of this machine, or the leads of one list. These are the leads that --only-new leaves out.',
  arguments: [new Argument('[list]', 'the name of a list: as given with --list, or else the entity type')],
  takes: ['records', 'report'],
  examples: [
    'leadpipe search company "fintech in Berlin" --list fintechs --local -q\nleadpipe history lists',
    'leadpipe history lists fintechs -f csv',
  ],
  output: [
    'one object for each list, sorted by name:',
    '{"list":"company","leads":120,"runs":6,"last_run":"…","origin":"https://…"}',
    'with a name: one object for each lead of that list, the oldest first:',
    '{"list":"company","name":"…","time":"…","operation_id":"op_…",',
    ' "leads_search_id":"…","origin":"https://…","link":"https://…"}',
  ],
  columns: () => headersOf(listsLayout),
  moreColumns: `with a name: ${leadMembers.join(', ')}`,
  outcomes: [...localOutcomes, 'not_found'],
  remarks: [
    '`history prune` removes old purchases, but never a list. The fictional leads of --local have lists of their own.',
  ],
  run: runHistoryLists,
});

async function runHistoryLists(
  context: Context,
  name: string | undefined,
  options: RecordOptions & ReportOptions,
): Promise<void> {
  const { directories, zone } = context;
  const { say, warn } = createNotes(context, options);
  if (name === undefined) {
    const lists = (await readLists(directories.state, warn)).map((one) => zoned(one, 'last_run', zone));
    await printRecords(context, options, { shape: 'list', layout: listsLayout }, lists);
    if (lists.length === 0) say('No search or task with --only-new or --list has delivered leads yet.');
    return;
  }
  const leads = await readListedLeads(directories.state, name, warn);
  if (leads === undefined) throw toUnknownList(name);
  const records = leads.map((lead) => zoned(lead, 'time', zone));
  await printRecords(context, options, { shape: 'list', layout: leadsLayout }, records);
}

const origin = memberColumn('origin', { min: 16, max: 60, yields: 1 });

const listsLayout: Layout = {
  ...memberLayout(['list', 'leads', 'runs', 'last_run', 'origin'] satisfies (keyof ListRecord)[]),
  table: () => [
    memberColumn('list', { min: 4, max: 40, role: 'title' }),
    memberColumn('leads', { min: 5, max: 9 }),
    memberColumn('runs', { min: 4, max: 7 }),
    timeColumn('last_run', { header: 'last run', role: 'detail' }),
    origin,
  ],
};

const leadsLayout: Layout = {
  ...memberLayout(leadMembers),
  table: () => [
    { ...memberColumn('name', { min: 16, max: 40, role: 'title' }), lines: 2 },
    {
      ...{ header: 'link', role: 'link', min: 26, max: 40, lines: 2 },
      text: (lead) => shortLinks(memberText(lead, 'link')),
      value: (lead) => lead.member('link'),
    },
    timeColumn('time', { role: 'detail', yields: 3 }),
    operationIdColumn,
    memberColumn('leads_search_id', { header: 'search', min: 39, max: 60, yields: 2 }),
    origin,
  ],
};
