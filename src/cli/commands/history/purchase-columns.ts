import { type JsonText, JsonView } from '../../../json/text.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn, type TableColumn } from '../../../output/table-columns.ts';
import { timeColumn } from '../../records/zoned.ts';

/** For people: when, what, how it ended and what it cost; and how to get it again. */
const historyTable: readonly TableColumn[] = [
  timeColumn('time', { role: 'aside' }),
  {
    header: 'what',
    role: 'title',
    min: 20,
    max: 60,
    text(record) {
      const subject = textOf(record, 'subject');
      return subject === '' ? textOf(record, 'command') : `${textOf(record, 'command')}: ${subject}`;
    },
  },
  { ...memberColumn('state', { min: 11, max: 11 }), long: summaryOf },
  onlyInRows(memberColumn('leads', { min: 5, max: 7 })),
  onlyInRows({ header: 'credits', min: 7, max: 10, yields: 5, text: creditsOf }),
  onlyInRows(memberColumn('charged', { min: 7, max: 7, yields: 4 })),
  memberColumn('operation_id', { min: 17, max: 17 }),
  memberColumn('output', { min: 24, max: 40, yields: 2 }),
  memberColumn('request_id', { min: 24, max: 40, yields: 1 }),
];

/** Where the balance was asked for, people want to see it. */
const balanceColumn: TableColumn = {
  header: 'balance',
  min: 9,
  max: 20,
  yields: 3,
  text: (record) => {
    const [before, after] = ['credits_before', 'credits_after'].map((name) => textOf(record, name));
    return before === '' ? '' : `${before} → ${after || '?'}`;
  },
};

/** Pure: the columns for these first records. */
export function toHistoryTable(records: readonly JsonText[]): readonly TableColumn[] {
  const hasBalance = records.some((record) => textOf(new JsonView(record), 'credits_before') !== '');
  return hasBalance ? [...historyTable, balanceColumn] : historyTable;
}

function creditsOf(record: JsonView): string {
  const most = textOf(record, 'credits_at_most');
  return most === '' || most === '0' ? most : `≤ ${most}`;
}

/** On a card, in one line. */
function summaryOf(record: JsonView): string {
  const [state, leads, charged] = ['state', 'leads', 'charged'].map((name) => textOf(record, name));
  const credits = creditsOf(record);
  const facts = [
    state,
    leads === '' ? '' : `leads ${leads}`,
    credits === '' ? '' : `credits ${credits}`,
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
