import type { JsonView } from '../../../json/text.ts';
import type { Total, TotalsBy } from '../../../operations/report/totals.ts';
import type { ListedLead, ListRecord } from '../../../operations/only-new/lists.ts';
import { memberLayout } from '../../../output/columns.ts';
import type { Layout, TableColumn } from '../../../output/layout.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, toneOfState } from '../../../output/table-columns.ts';
import { timeColumn } from '../../records/record-output.ts';

const operationId = memberColumn('operation_id', { min: 17, max: 17 });
const origin = memberColumn('origin', { min: 16, max: 60, yields: 1 });

export const listsLayout: Layout = {
  ...memberLayout(['list', 'leads', 'runs', 'last_run', 'origin'] satisfies (keyof ListRecord)[]),
  table: () => [
    memberColumn('list', { min: 4, max: 40, role: 'title' }),
    memberColumn('leads', { min: 5, max: 9 }),
    memberColumn('runs', { min: 4, max: 7 }),
    timeColumn('last_run', { role: 'detail' }),
    origin,
  ],
};

const leadMembers = [
  'list',
  'name',
  'time',
  'operation_id',
  'leads_search_id',
  'origin',
] satisfies (keyof ListedLead)[];

export const leadsLayout: Layout = {
  ...memberLayout(leadMembers),
  table: () => [
    memberColumn('name', { min: 16, max: 60, role: 'title' }),
    timeColumn('time', { role: 'detail' }),
    operationId,
    memberColumn('leads_search_id', { min: 39, max: 60, yields: 2 }),
    origin,
  ],
};

export const prunedLayout: Layout = {
  ...memberLayout(['operation_id', 'time', 'command', 'removed']),
  table: () => [
    timeColumn('time'),
    memberColumn('command', { min: 14, max: 40, role: 'title' }),
    memberColumn('removed', { min: 9, max: 9 }),
    operationId,
  ],
};

/** A card shows it in its summary. */
const inRowsOnly = { long: () => '' };

/** For people: when, what, how it ended, what it cost, and how to get it again. Empty columns are left out. */
export const purchaseColumns: readonly TableColumn[] = [
  timeColumn('time', { recent: true, role: 'detail' }),
  {
    ...{ header: 'what', role: 'title', min: 14, max: 60 },
    text: (record) => toWhat(textOf(record, 'command'), record),
    short: (record) => toWhat(textOf(record, 'command').replace(/ .*/, ''), record),
  },
  { ...memberColumn('state', { min: 5, max: 11, tone: toneOfState }), long: toSummary },
  { ...memberColumn('leads', { min: 5, max: 7, yields: 4 }), ...inRowsOnly },
  {
    ...{ header: 'credits', min: 7, max: 14, ...inRowsOnly },
    text: creditsOf,
    value: (record) => record.member('credits_at_most'),
  },
  { header: 'charged', min: 7, max: 13, ...inRowsOnly, text: chargedOf },
  operationId,
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
  memberColumn('request_id', { min: 24, max: 40, yields: 1 }),
  {
    // If the balance was asked for, people want to see it. It needs its full width.
    ...{ header: 'balance', min: 15, max: 24, yields: 3 },
    text(record) {
      const before = textOf(record, 'credits_before');
      return before === '' ? '' : `${before} → ${textOf(record, 'credits_after') || '?'}`;
    },
  },
];

function toWhat(command: string, record: JsonView): string {
  // The name of an input file is the most useful part of its path.
  const subject = textOf(record, 'subject').replace(/^\/(?:.*\/)/, '');
  return subject === '' ? command : `${command}: ${subject}`;
}

/** What was bought from the local service is free. */
function isFree(record: JsonView): boolean {
  return textOf(record, 'service') === 'local';
}

function creditsOf(record: JsonView): string {
  if (isFree(record)) return 'free';
  const most = textOf(record, 'credits_at_most');
  return most === '' || most === '0' ? most : `≤ ${most}`;
}

function chargedOf(record: JsonView): string {
  const charged = textOf(record, 'charged');
  if (isFree(record)) return '';
  // The service tells what a task cost when it has ended.
  return charged === '' && textOf(record, 'command').startsWith('task ') ? 'not known yet' : charged;
}

function toSummary(record: JsonView): string {
  const labelled = (label: string, fact: string): string => (fact === '' ? '' : `${label} ${fact}`);
  const facts = [
    textOf(record, 'state'),
    labelled('leads', textOf(record, 'leads')),
    isFree(record) ? 'free' : labelled('credits', creditsOf(record)),
    labelled('charged', chargedOf(record)),
  ];
  return facts.filter((fact) => fact !== '').join(', ');
}

const counts = ['purchases', 'leads', 'charged', 'maybe_charged'];
const longestBar = 12;

/** Sums, with a bar for each. */
export function totalsLayout(by: TotalsBy, totals: readonly Total[]): Layout {
  // Compares credits or, where no price was known, purchases.
  const measure = totals.some((total) => (total.credits_at_most ?? 0) > 0) ? 'credits_at_most' : 'purchases';
  const most = Math.max(...totals.map((total) => total[measure] ?? 0));
  const table: TableColumn[] = [
    memberColumn(by, { min: 10, max: 26, role: 'title' }),
    ...counts.map((name) => ({
      ...memberColumn(name, { min: name.length, max: 13 }),
      // On a card, the first line has all of them.
      long: name === 'purchases' ? toSummaryOfTotal : () => '',
    })),
    {
      ...{ header: 'credits_at_most', min: 15, max: 26, text: creditsIn, long: () => '' },
      value: (record) => record.member('credits_at_most'),
    },
    {
      ...{ header: 'bar', role: 'detail', yields: true, min: longestBar, max: longestBar },
      text: (record) => '█'.repeat(Math.ceil((longestBar * Number(textOf(record, measure))) / most)),
    },
  ];
  return { ...memberLayout([by, ...counts, 'credits_at_most', 'unpriced', 'unsettled']), table: () => table };
}

function toSummaryOfTotal(record: JsonView): string {
  const [purchases, leads, charged, maybe] = counts.map((name) => textOf(record, name));
  const credits = creditsIn(record);
  const bound = credits === 'unknown' || credits === '0' ? credits : `≤ ${credits}`;
  const doubtful = maybe === '0' ? '' : `, maybe charged ${maybe}`;
  return `${purchases}, leads ${leads}, charged ${charged}${doubtful}, credits ${bound}`;
}

/** For example `847 + 5 unpriced`. */
function creditsIn(record: JsonView): string {
  const [credits, unpriced] = [textOf(record, 'credits_at_most'), textOf(record, 'unpriced')];
  if (credits === '') return 'unknown';
  return unpriced === '0' ? credits : `${credits} + ${unpriced} unpriced`;
}

function textOf(record: JsonView, name: string): string {
  return readable(record.member(name));
}
