import { Option } from 'commander';
import { memberLayout } from '../../../columns/columns.ts';
import type { Context } from '../../../context.ts';
import { JsonView } from '../../../json/text.ts';
import { isPaid, kinds } from '../../../operations/kinds/kinds.ts';
import { readLists } from '../../../operations/only-new/lists.ts';
import {
  type HistoryEntry,
  type HistoryRecord,
  historyMembers,
  readHistory,
  recordedIn,
} from '../../../operations/report/history.ts';
import { textOf } from '../../../output/table-columns.ts';
import { checkNumber, checkOneOf } from '../../../requests/within-limits.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { nothingBought } from '../../messages/hints.ts';
import { createNotes } from '../../messages/status-line.ts';
import { under } from '../../options/option-builders.ts';
import { fileOf, type RecordOptions } from '../../options/record-options.ts';
import { checkListName } from '../../options/search-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { printRecords, zoned } from '../../records/record-output.ts';
import { purchaseColumns } from './purchase-columns.ts';
import { createSince, toSince } from './since.ts';
import { toUnknownList } from './unknown-list.ts';

interface HistoryListOptions extends RecordOptions, ReportOptions {
  readonly limit?: number;
  readonly since?: string;
  readonly command?: string;
  readonly list?: string;
  readonly search?: string;
}

const allOfThem = 'all';

/** As many as a terminal shows without scrolling. */
const defaultOnTerminal = 20;

const paidCommands = [...new Set(Object.keys(kinds).filter(isPaid).map(firstWord))];

export const createHistoryList = defineCommand({
  name: 'list',
  summary: 'every paid request of this machine',
  description:
    'Shows what this machine has bought: when, what it was about, how it ended, what it cost, and its IDs.',
  options: under('What to show:', [
    new Option(
      '--limit <n>',
      `show only the newest n; ${allOfThem} shows all of them (default on a terminal: ${defaultOnTerminal})`,
    ).argParser((value) =>
      value === allOfThem
        ? Number.POSITIVE_INFINITY
        : checkNumber({ unit: 'number', min: 1, max: 1_000_000 }, '--limit', value),
    ),
    createSince(),
    new Option('--command <command>', 'only this command; "contact email" works too')
      .choices(paidCommands)
      .argParser(checkCommand),
    new Option(
      '--search <text>',
      'only purchases whose objective, query, context or target contains this text (case is ignored)',
    ),
    new Option('--list <list>', 'only purchases whose leads count for this list').argParser(checkListName),
  ]),
  takes: ['records', 'report'],
  examples: [
    'leadpipe history list --since 7d --command search',
    'leadpipe history list --columns time,command,subject,charged -o paid.csv',
  ],
  output: [
    'one object for each purchase, the newest last; null means unknown here:',
    '{"operation_id":"op_…","time":"2026-01-31T09:00:00+01:00",',
    ' "command":"search company","state":"complete","leads":20,',
    ' "leads_search_id":"…","request_id":"…","idempotency_key":"…",',
    ' "charged":"yes","credits_before":null,"credits_after":null,',
    ' "output":null,"list":null,"excluded":null,',
    ' "subject":"fintech in Berlin","credits_at_most":20,',
    ' "service":"https://api.example.com","stop_reason":null,',
    ' "rows_done":null,"rows_total":null,"found":null,"not_found":null}',
    'state: complete, partial (ended early, or failed in part), failed, running,',
    '       interrupted, dropped, damaged, lost (task gone), unknown (no answer)',
    'credits_before, credits_after: your balance, where a limit asked for it',
    'list:  the list that the leads count for (--only-new, --list)',
    'excluded: leads that were left out on this machine (delivered before)',
    'subject: the objective, query, context, target or input file, shortened',
    'credits_at_most: the most that it may have cost; null if no price is known',
    'service: the address of the service; local for --local, which costs nothing',
    'stop_reason: why the search or task ended, as the service says it',
    'rows_done, rows_total: rows of --input that are done, and all rows',
    'found, not_found: lookups with and without a result',
  ],
  columns: () => historyMembers,
  outcomes: [...localOutcomes, 'not_found'],
  run: runHistoryList,
});

async function runHistoryList(context: Context, options: HistoryListOptions): Promise<void> {
  const { clock, directories, stdout, zone } = context;
  const onTerminal = stdout.isTerminal && fileOf(options) === undefined;
  const limit = options.limit ?? (onTerminal ? defaultOnTerminal : Number.POSITIVE_INFINITY);
  const since = options.since === undefined ? undefined : toSince(options.since, clock.now(), zone);
  const isWanted = toFilter(options);
  const records: HistoryRecord[] = [];
  const damages: string[] = [];
  let hasMore = false;
  // The newest come first, so a limit saves reading the others.
  for await (const entry of readHistory(context, since)) {
    if (!isWanted(entry)) continue;
    hasMore = records.length === limit;
    if (hasMore) break;
    records.push(zoned(entry.record, 'time', zone));
    if ('damage' in entry) damages.push(entry.damage);
  }
  if (records.length === 0 && options.list !== undefined) await checkList(directories.state, options.list);
  records.reverse();
  const views = records.map((record) => new JsonView(JSON.stringify(record)));
  const table = purchaseColumns.filter((column) => views.some((view) => textOf(column, view) !== ''));
  const layout = { ...memberLayout(historyMembers), table: () => table };
  await printRecords(context, options, { shape: 'list', layout }, records);
  const notes = createNotes(context, options);
  for (const damage of damages.reverse()) notes.warn(damage);
  if (hasMore && onTerminal) {
    notes.say(
      `Only the newest ${limit === 1 ? 'one is' : `${limit} are`} shown. To see all of them, add --limit ${allOfThem}.`,
    );
  }
  if (records.length > 0) return;
  const { command, list, search } = options;
  const isFiltered = [since, command, list, search].some((one) => one !== undefined);
  notes.say(isFiltered ? 'No purchases match these options.' : nothingBought);
}

function toFilter({ command, list, search }: HistoryListOptions) {
  const text = search?.toLowerCase();
  return (entry: HistoryEntry): boolean =>
    (list === undefined || entry.record.list === list) &&
    (command === undefined || `${entry.record.command} `.startsWith(`${command} `)) &&
    (text === undefined ||
      ('intent' in entry && recordedIn(entry.intent, 'about')?.toLowerCase().includes(text) === true));
}

/** Pure: checks a command as the history shows it: one word, or more, such as `task run`. Throws UsageError. */
function checkCommand(given: string): string {
  checkOneOf('--command', firstWord(given), paidCommands);
  return given;
}

function firstWord(words: string): string {
  return words.split(' ', 1)[0] as string;
}

/** Throws `not_found` for an unknown list, since its name was probably mistyped. */
async function checkList(stateDir: string, list: string): Promise<void> {
  const known = await readLists(stateDir, () => {});
  if (!known.some((one) => one.list === list)) throw toUnknownList(list);
}
