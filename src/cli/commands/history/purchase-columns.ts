import { type JsonText, JsonView } from '../../../json/text.ts';
import type { TableColumn } from '../../../output/layout.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, toneOfState } from '../../../output/table-columns.ts';
import { timeColumn } from '../../records/record-output.ts';

/** For people: when, what, how it ended and what it cost; and how to get it again. */
const historyTable: readonly TableColumn[] = [
  timeColumn('time', { recent: true, role: 'detail' }),
  {
    header: 'what',
    role: 'title',
    min: 14,
    max: 60,
    text: (record) => toWhat(textOf(record, 'command'), record),
    short: (record) => toWhat(textOf(record, 'command').replace(/ .*/, ''), record),
  },
  { ...memberColumn('state', { min: 5, max: 11, tone: toneOfState }), long: summaryOf },
  onlyInRows(memberColumn('leads', { min: 5, max: 7, yields: 4 })),
  onlyInRows({
    header: 'credits',
    min: 7,
    max: 14,
    text: creditsOf,
    value: (record) => record.member('credits_at_most'),
  }),
  onlyInRows({ header: 'charged', min: 7, max: 13, text: chargedOf }),
  memberColumn('operation_id', { min: 17, max: 17 }),
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
  memberColumn('request_id', { min: 24, max: 40, yields: 1 }),
];

/** Where the balance was asked for, people want to see it. */
const balanceColumn: TableColumn = {
  header: 'balance',
  // Half of one says nothing.
  min: 15,
  max: 24,
  yields: 3,
  text: (record) => {
    const [before, after] = ['credits_before', 'credits_after'].map((name) => textOf(record, name));
    return before === '' ? '' : `${before} → ${after || '?'}`;
  },
};

export function toHistoryTable(records: readonly JsonText[]): readonly TableColumn[] {
  const isUsed = ({ text }: TableColumn): boolean => records.some((one) => text(new JsonView(one)) !== '');
  return [...historyTable, balanceColumn].filter(isUsed);
}

function toWhat(command: string, record: JsonView): string {
  // Of the path of an input, the name of the file says most in little room.
  const subject = textOf(record, 'subject').replace(/^\/(?:.*\/)/, '');
  return subject === '' ? command : `${command}: ${subject}`;
}

/** What the local service sells costs nothing. */
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
  // Of a task, the service says it when it has ended.
  return charged === '' && textOf(record, 'command').startsWith('task ') ? 'not known yet' : charged;
}

function summaryOf(record: JsonView): string {
  const [state, leads] = ['state', 'leads'].map((name) => textOf(record, name));
  const [credits, charged] = [creditsOf(record), chargedOf(record)];
  const facts = [
    state,
    leads === '' ? '' : `leads ${leads}`,
    credits === '' ? '' : isFree(record) ? credits : `credits ${credits}`,
    charged === '' ? '' : `charged ${charged}`,
  ];
  return facts.filter((fact) => fact !== '').join(', ');
}

/** A card has it in its summary. */
function onlyInRows(column: TableColumn): TableColumn {
  return { ...column, long: () => '' };
}

function textOf(record: JsonView, name: string): string {
  return readable(record.member(name));
}
