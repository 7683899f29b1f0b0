import { Option } from 'commander';
import type { JsonView } from '../../../json/text.ts';
import { readHistory } from '../../../operations/journal/history.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { createTotals, type Total, type TotalsBy, totalsBy } from '../../../operations/journal/totals.ts';
import { rowsOf } from '../../../operations/kinds.ts';
import { creditsOf, exact } from '../../../operations/spending.ts';
import { memberLayout } from '../../../output/columns.ts';
import type { Layout, TableColumn } from '../../../output/layout.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { checkOneOf } from '../../../requests/closed-list.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { nothingBought } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions, ReportOptions } from '../../options/options.ts';
import { printRecords } from '../../records/record-output.ts';

interface HistoryTotalsOptions extends RecordOptions, ReportOptions {
  readonly by: TotalsBy;
  readonly local?: boolean;
}

export const createHistoryTotals = defineCommand({
  name: 'totals',
  summary: 'add up the purchases of this machine',
  description:
    'Adds up the purchases of this machine: how many there were, how many leads they brought, and what they cost at most.',
  options: [
    new Option('--by <what>', 'a sum for each day, command, list or profile')
      .choices(totalsBy)
      .default('day')
      .argParser((value) => checkOneOf('--by', value, totalsBy)),
    new Option('--local', 'add up the purchases of the local service instead, which cost nothing'),
  ],
  takes: ['records', 'report'],
  examples: ['leadpipe history totals', 'leadpipe history totals --by command -f csv -o totals.csv'],
  output: [
    'one object for each day (or command, list, profile); bars on a terminal:',
    '{"day":"2026-01-31","purchases":3,"leads":40,"charged":2,',
    ' "maybe_charged":0,"credits_at_most":45,"unpriced":1,"unsettled":20}',
    'purchases: a run with --input is one; leads: its answers count too',
    'charged, maybe_charged: how many of the purchases; all others cost nothing',
    'credits_at_most: the most that they cost, without the unpriced ones; null',
    '       if all of them are unpriced',
    'unpriced: purchases whose price (setting price.*) was not set at the time',
    'unsettled: how much of credits_at_most is of purchases that did not come to',
    '       their end: it is only a bound, and less may have been charged',
  ],
  outcomes: localOutcomes,
  remarks: [
    `Only purchases of this machine in the last ${keptDays.operations} days are counted, without those of --no-history. Only the service knows what was charged.`,
  ],
  async run(context, options: HistoryTotalsOptions) {
    const { by, local = false } = options;
    const sums = createTotals(by, context.zone);
    const damages: string[] = [];
    let hasList = false;
    let leftOut = 0;
    for await (const entry of readHistory(context)) {
      if ('damage' in entry) damages.push(entry.damage);
      else if (!local && entry.record.service === 'local') leftOut++;
      else if (!local || entry.record.service === 'local') {
        sums.add(entry);
        hasList ||= rowsOf(entry.intent.command) !== undefined;
      }
    }
    const totals = sums.sums();
    const records = totals.map(({ of, ...sums }) => ({ [by]: of, ...sums }));
    await printRecords(context, options, { shape: 'list', layout: toLayout(by, totals) }, records);
    const notes = createNotes(context, options);
    for (const damage of damages) notes.warn(damage);
    if (leftOut > 0) notes.say(toLeftOut(leftOut, by));
    else if (totals.length === 0) notes.say(nothingBought);
    const unsettled = exact(totals.reduce((sum, one) => sum + one.unsettled, 0));
    if (unsettled > 0) {
      notes.say(
        `${creditsOf(unsettled)} of this are only a bound: the most that unfinished purchases can have cost.`,
      );
    }
    if (hasList) notes.say('A list (--input) counts as one purchase; its answers are counted as leads.');
  },
});

function toLeftOut(count: number, by: TotalsBy): string {
  const why =
    count === 1
      ? '1 purchase with --local is left out: it costs nothing'
      : `${count} purchases with --local are left out: they cost nothing`;
  return `${why}. To add them up: leadpipe history totals --by ${by} --local`;
}

const counts = ['purchases', 'leads', 'charged', 'maybe_charged'] as const;
const sums = [...counts, 'credits_at_most', 'unpriced', 'unsettled'] as const;

function toLayout(by: TotalsBy, totals: readonly Total[]): Layout {
  const table = [
    memberColumn(by, { min: 10, max: 26, role: 'title' }),
    ...counts.map((name) => ({
      ...memberColumn(name, { min: name.length, max: 13 }),
      // A card has all of them behind the first.
      long: name === 'purchases' ? toSummary : () => '',
    })),
    {
      header: 'credits_at_most',
      min: 15,
      max: 26,
      text: creditsIn,
      value: (record: JsonView) => record.member('credits_at_most'),
      long: () => '',
    },
    toBars(totals),
  ];
  return { ...memberLayout([by, ...sums]), table };
}

function toSummary(record: JsonView): string {
  const of = (name: string): string => readable(record.member(name));
  const maybe = of('maybe_charged') === '0' ? '' : `, maybe charged ${of('maybe_charged')}`;
  const most = record.member('credits_at_most');
  const credits = most === 'null' ? 'unknown' : most === '0' ? '0' : `≤ ${creditsIn(record)}`;
  return `${of('purchases')}, leads ${of('leads')}, charged ${of('charged')}${maybe}, credits ${credits}`;
}

/** As `847 + 5 unpriced`. */
function creditsIn(record: JsonView): string {
  const [credits, unpriced] = ['credits_at_most', 'unpriced'].map((name) => readable(record.member(name)));
  if (credits === '') return 'unknown';
  return unpriced === '0' ? `${credits}` : `${credits} + ${unpriced} unpriced`;
}

const longestBar = 12;

/** Of the credits; where no price was known, of the purchases. */
function toBars(totals: readonly Total[]): TableColumn {
  const measure = totals.some((total) => (total.credits_at_most ?? 0) > 0) ? 'credits_at_most' : 'purchases';
  const most = Math.max(...totals.map((total) => total[measure] ?? 0));
  return {
    header: 'bar',
    role: 'detail',
    yields: true,
    min: longestBar,
    max: longestBar,
    text: (record) => '█'.repeat(Math.ceil((longestBar * Number(readable(record.member(measure)))) / most)),
  };
}
