import type { TableColumn } from '../../../columns/layout.ts';
import type { JsonView } from '../../../json/text.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, toneOfState } from '../../../output/table-columns.ts';
import { timeColumn } from '../../records/record-output.ts';

export const operationIdColumn = memberColumn('operation_id', { header: 'operation', min: 17, max: 17 });

/** Hides a column on cards, where the summary has it. */
const inRowsOnly = { long: () => '' };

/** For people: when, what, how it ended, what it cost, and how to get it again. Empty columns are left out. */
export const purchaseColumns: readonly TableColumn[] = [
  timeColumn('time', { recent: true, role: 'detail' }),
  {
    ...{ header: 'what', role: 'title', min: 14, max: 60, lines: 2 },
    text: (record) => toWhat(memberText(record, 'command'), record),
    short: (record) => toWhat(memberText(record, 'command').replace(/ .*/, ''), record),
  },
  {
    ...memberColumn('state', {
      min: 5,
      max: 18,
      tone: (text) => toneOfState(text.replace(/.* rows.*/, 'partial')),
    }),
    ...{ text: stateOf, long: toSummary },
  },
  {
    ...{ header: 'found', min: 5, max: 17, ...inRowsOnly, value: (record) => record.member('leads') },
    text: (record) => memberText(record, 'leads') || foundOf(record),
  },
  {
    ...{ header: 'credits', min: 7, max: 14, ...inRowsOnly },
    text: creditsOf,
    value: (record) => record.member('credits_at_most'),
  },
  { header: 'charged', min: 7, max: 13, yields: 4, ...inRowsOnly, text: chargedOf },
  operationIdColumn,
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
  // Support needs the whole ID.
  { ...memberColumn('request_id', { header: 'request', min: 40, max: 40, yields: 1 }), shrinks: true },
  {
    // If the balance was asked for, people want to see it. It needs its full width.
    ...{ header: 'balance', min: 15, max: 24, yields: 3 },
    text(record) {
      const before = memberText(record, 'credits_before');
      return before === '' ? '' : `${before} → ${memberText(record, 'credits_after') || '?'}`;
    },
  },
];

function toWhat(command: string, record: JsonView): string {
  // The name of an input file is the most useful part of its path.
  const subject = memberText(record, 'subject').replace(/^\/(?:.*\/)/, '');
  return subject === '' ? command : `${command}: ${subject}`;
}

/** For example `3 of 50 rows`, where only the first rows of a list were wanted. */
function stateOf(record: JsonView): string {
  const [done, all] = [memberText(record, 'rows_done'), memberText(record, 'rows_total')];
  if (memberText(record, 'state') !== 'partial' || done === '' || done === all)
    return memberText(record, 'state');
  return all === '' ? `${done} rows so far` : `${done} of ${all} rows`;
}

/** Purchases from the local service are free. */
function isFree(record: JsonView): boolean {
  return memberText(record, 'service') === 'local';
}

/** For example `2 of 3`, of lookups some of which found nothing; empty for a single one that has a result. */
function foundOf(record: JsonView): string {
  const [found = '', none = ''] = ['found', 'not_found'].map((name) => memberText(record, name));
  if (Number(none) > 0) return `${found} of ${Number(found) + Number(none)}`;
  return found === '1' ? '' : found;
}

function creditsOf(record: JsonView): string {
  if (isFree(record)) return 'free';
  const credits = memberText(record, 'credits_at_most');
  if (credits === '') return memberText(record, 'charged') === 'no' ? '0' : 'unknown';
  return credits === '0' ? credits : `≤ ${credits}`;
}

function chargedOf(record: JsonView): string {
  const charged = memberText(record, 'charged');
  if (isFree(record)) return '';
  // The service reports the cost of a task only when the task has ended.
  return charged === '' && memberText(record, 'command').startsWith('task ') ? 'not known yet' : charged;
}

function toSummary(record: JsonView): string {
  const labelled = (label: string, fact: string): string => (fact === '' ? '' : `${label} ${fact}`);
  const facts = [
    stateOf(record),
    labelled('leads', memberText(record, 'leads')),
    labelled('found', foundOf(record)),
    isFree(record) ? 'free' : labelled('credits', creditsOf(record)),
    labelled('charged', chargedOf(record)),
  ];
  return facts.filter((fact) => fact !== '').join(', ');
}

export function memberText(record: JsonView, name: string): string {
  return readable(record.member(name));
}
