import { Option } from 'commander';
import { memberLayout } from '../../../columns/columns.ts';
import type { Layout, TableColumn } from '../../../columns/layout.ts';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import type { JsonView } from '../../../json/text.ts';
import { fileOfPast, type PastPurchase, readPast } from '../../../operations/journal/past.ts';
import { keptDays } from '../../../operations/journal/retention.ts';
import { rowsOf } from '../../../operations/kinds/kinds.ts';
import { exact } from '../../../operations/prices.ts';
import { readHistory } from '../../../operations/report/history.ts';
import { toPastPurchase } from '../../../operations/report/remember.ts';
import { addUp, type Total, type TotalsBy, totalsBy } from '../../../operations/report/totals.ts';
import { countOf, plural } from '../../../operations/wording.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { nothingBought } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import { printUsedToday } from '../../messages/used-today.ts';
import { choice } from '../../options/option-builders.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { printRecords } from '../../records/record-output.ts';
import { memberText } from './purchase-columns.ts';
import { createSince, toSince } from './since.ts';

interface HistoryTotalsOptions extends RecordOptions, ReportOptions {
  readonly by: TotalsBy;
  readonly local?: boolean;
  readonly since?: string;
}

export const createHistoryTotals = defineCommand({
  name: 'totals',
  summary: 'add up the purchases of this machine',
  description:
    'Adds up the purchases of this machine: their number, what was found, and the most that it cost.',
  options: [
    choice('--by <what>', 'one sum for each', '--by', totalsBy).default('day'),
    createSince(),
    new Option('--local', 'add up only the purchases of the local service, which cost nothing'),
  ],
  takes: ['records', 'report'],
  examples: ['leadpipe history totals', 'leadpipe history totals --by command -f csv -o totals.csv'],
  output: [
    'one object for each day (or month, command, list, profile); bars on a terminal:',
    '{"day":"2026-01-31","purchases":3,"leads":40,"found":5,"not_found":1,',
    ' "credits_at_most":45,"unpriced":1,"unsettled":20,"balance_fell":44}',
    'purchases: those that were not refused; a run with --input counts as one',
    'leads: leads and items; found, not_found: lookups with and without a result',
    'credits_at_most: the most that they cost, without the unpriced ones; null',
    '       if all of them are unpriced',
    'unpriced: purchases whose price (setting price.*) was not set at the time',
    'unsettled: how much of credits_at_most is for unfinished purchases; it may',
    '       be less',
    'balance_fell: by how much your balance fell, where it was asked for before',
    '       and after (with a limit); null if it never was. If several purchases',
    '       run at the same time, each counts the whole fall',
  ],
  columns: () => ['day', ...sums],
  moreColumns: 'with --by command, list or profile in place of day',
  outcomes: localOutcomes,
  remarks: [
    `Only purchases of this machine in the last ${keptDays.costs} days are counted, without those of --no-history. Purchases without a list are counted under null. Only the service knows what was charged.`,
  ],
  run: runHistoryTotals,
});

async function runHistoryTotals(context: Context, options: HistoryTotalsOptions): Promise<void> {
  const { by, local = false } = options;
  const { clock, directories, zone } = context;
  const since = options.since === undefined ? undefined : toSince(options.since, clock.now(), zone);
  const past = await readPast(directories.state);
  const damages: string[] = [];
  let hasList = false;
  let leftOut = 0;
  /** Operations with a record. After a kill, their costs may be in `past`, too. */
  const recorded = new Set<string>();
  const all = async function* (): AsyncGenerator<PastPurchase> {
    for await (const entry of readHistory(context, since)) {
      recorded.add(entry.record.operation_id);
      if ('damage' in entry) damages.unshift(entry.damage);
      else yield toPastPurchase(entry);
    }
    for (const one of past.purchases) {
      if (recorded.has(one.op) || (since !== undefined && Date.parse(one.time) < since.getTime())) continue;
      yield one;
    }
  };
  const wanted = async function* (): AsyncGenerator<PastPurchase> {
    for await (const one of all()) {
      if (local !== (one.service === 'local')) {
        if (!local) leftOut++;
        continue;
      }
      hasList ||= rowsOf(one.kind) !== undefined;
      yield one;
    }
  };
  const totals = await addUp(wanted(), by, context.zone);
  const records = totals.map(({ of, ...sums }) => ({ [by]: of, ...sums }));
  await printRecords(context, options, { shape: 'list', layout: totalsLayout(by, totals) }, records);
  const { say, warn } = createNotes(context, options);
  for (const damage of damages) warn(damage);
  if (past.damaged > 0) {
    warn(
      `${countOf(past.damaged, 'line')} of ${fileOfPast(directories.state)} can't be read, and ${plural(past.damaged, 'is', 'are')} not counted`,
    );
  }
  if (leftOut > 0) {
    say(
      `${countOf(leftOut, 'purchase')} with --local ${plural(leftOut, 'is', 'are')} left out, because --local costs nothing. To add up only ${plural(leftOut, 'it', 'them')}: leadpipe history totals --local`,
    );
  } else if (totals.length === 0) say(since === undefined ? nothingBought : 'No purchases since then.');
  // If the settings can't be read, the day's limit is not shown.
  const { settings } = await readProfile(context, undefined).catch(() => ({ settings: {} }));
  if (!local) await printUsedToday(context, options, settings);
  const unsettled = exact(totals.reduce((sum, one) => sum + one.unsettled, 0));
  if (unsettled > 0) {
    say(
      `${unsettled} of these credits ${plural(unsettled, 'is', 'are')} for unfinished purchases and may be less.`,
    );
  }
  if (hasList) say('A list (--input) counts as one purchase.');
}

/** The counts, with their headers for people. */
const counts = { purchases: 'purchases', leads: 'leads', found: 'found', not_found: 'not found' } as const;

const sums = [...Object.keys(counts), 'credits_at_most', 'unpriced', 'unsettled', 'balance_fell'];

const longestBar = 12;

/** Sums; if there are several, with a bar for each. */
function totalsLayout(by: TotalsBy, totals: readonly Total[]): Layout {
  // The bars compare credits or, if no price is known, purchases.
  const measure = totals.some((total) => (total.credits_at_most ?? 0) > 0) ? 'credits_at_most' : 'purchases';
  const shownCounts = Object.entries(counts).filter(
    ([name]) => name === 'purchases' || totals.some((total) => total[name as keyof typeof counts] > 0),
  );
  const max = Math.max(...totals.map((total) => total[measure] ?? 0));
  const bar: TableColumn = {
    ...{ header: '', yields: true, min: longestBar, max: longestBar },
    text: (record) => '█'.repeat(Math.ceil((longestBar * Number(memberText(record, measure))) / max)),
    long: () => '',
  };
  const table: TableColumn[] = [
    {
      ...memberColumn(by, { min: 10, max: 26, role: 'title' }),
      text: (record) => memberText(record, by) || `no ${by}`,
    },
    ...shownCounts.map(([name, header]) => ({
      ...memberColumn(name, { header, min: header.length, max: 14 }),
      // On a card, the first line contains all counts.
      long: name === 'purchases' ? toSummaryOfTotal : () => '',
    })),
    {
      ...{ header: 'credits at most', min: 15, max: 26, text: creditsIn, long: () => '' },
      value: (record) => record.member('credits_at_most'),
    },
    ...(totals.some((total) => total.balance_fell !== null)
      ? [{ ...memberColumn('balance_fell', { header: 'balance fell', min: 12, max: 14 }), long: () => '' }]
      : []),
    ...(totals.length > 1 ? [bar] : []),
  ];
  return { ...memberLayout([by, ...sums]), table: () => table };
}

function toSummaryOfTotal(record: JsonView): string {
  const [purchases, leads, found, none] = Object.keys(counts).map((name) => memberText(record, name));
  const [credits, unpriced] = [memberText(record, 'credits_at_most'), memberText(record, 'unpriced')];
  const bound = credits === '' ? 'credits unknown' : toBound(credits, unpriced);
  const brought = leads === '0' ? '' : `, leads ${leads}`;
  const looked = found === '0' && none === '0' ? '' : `, found ${found}, not found ${none}`;
  const fell = memberText(record, 'balance_fell');
  return `${purchases}${brought}${looked}, ${bound}${fell === '' ? '' : `, balance fell ${fell}`}`;
}

/** Pure: for example `at most 847 credits, and 5 purchases without a known price`. */
function toBound(credits: string, unpriced: string): string {
  const known = credits === '0' ? '0 credits' : `at most ${countOf(Number(credits), 'credit')}`;
  return unpriced === '0'
    ? known
    : `${known}, and ${countOf(Number(unpriced), 'purchase')} without a known price`;
}

/** For example `847 + 5 without a price`. */
function creditsIn(record: JsonView): string {
  const [credits, unpriced] = [memberText(record, 'credits_at_most'), memberText(record, 'unpriced')];
  if (credits === '') return 'unknown';
  return unpriced === '0' ? credits : `${credits} + ${unpriced} without a price`;
}
