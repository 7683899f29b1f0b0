import { Option } from 'commander';
import { fromWallTime, type Zone } from '../../../clock.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, UsageError } from '../../../errors.ts';
import type { JsonText } from '../../../json/text.ts';
import {
  aboutOf,
  type HistoryEntry,
  type HistoryRange,
  type HistoryRecord,
  readHistory,
} from '../../../operations/journal/history.ts';
import { isPaid, kinds } from '../../../operations/kinds.ts';
import { readLists } from '../../../operations/only-new/lists.ts';
import { memberLayout } from '../../../output/columns.ts';
import { checkOneOf } from '../../../requests/closed-list.ts';
import { checkNumber } from '../../../requests/within-limits.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { nothingBought } from '../../messages/hints.ts';
import { shellWord } from '../../messages/quoted.ts';
import { createNotes } from '../../messages/status-line.ts';
import { checkListName } from '../../options/entity-search.ts';
import { fileOf, type RecordOptions, type ReportOptions, under } from '../../options/options.ts';
import { withOutput, zoned } from '../../records/record-output.ts';
import { toHistoryTable } from './purchase-columns.ts';

interface HistoryListOptions extends RecordOptions, ReportOptions {
  readonly limit?: number | typeof allOfThem;
  readonly since?: string;
  readonly command?: string;
  readonly list?: string;
  readonly search?: string;
}

const members: readonly (keyof HistoryRecord)[] = [
  'operation_id',
  'time',
  'command',
  'state',
  'leads',
  'leads_search_id',
  'request_id',
  'idempotency_key',
  'charged',
  'credits_before',
  'credits_after',
  'output',
  'list',
  'excluded',
  'subject',
  'credits_at_most',
  'service',
];

const allOfThem = 'all';
/** As many as a terminal shows without scrolling away. */
const usualOnTerminal = 20;
/** Earlier operations that are looked at, only to say how many purchases there are. */
const mostCounted = 1000;
const together = 100;

const paidCommands = [...new Set(Object.keys(kinds).filter(isPaid).map(firstWord))];

export const createHistoryList = defineCommand({
  name: 'list',
  summary: 'every paid request of this machine',
  description:
    'Shows what this machine has bought: when, what it was about, how it ended, what it cost, and its IDs.',
  options: under('What to show:', [
    new Option(
      '--limit <n>',
      `show only the newest n; ${allOfThem} shows all of them (default on a terminal: ${usualOnTerminal})`,
    ).argParser((value) =>
      value === allOfThem
        ? allOfThem
        : checkNumber({ unit: 'number', min: 1, max: 1_000_000 }, '--limit', value),
    ),
    new Option('--since <time>', 'only purchases since this time: 7d, 12h, 2026-11-01 or 2026-11-01T09:30'),
    new Option('--command <command>', 'only this command, such as search, task or "contact email"')
      .choices(paidCommands)
      .argParser(checkCommand),
    new Option(
      '--search <text>',
      'only purchases whose objective, query, context or target has this text; capitals do not matter',
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
    ' "output":null,"list":"company","excluded":null,',
    ' "subject":"fintech in Berlin","credits_at_most":20,',
    ' "service":"https://api.example.com"}',
    'state: complete, partial, failed, running, interrupted, dropped, damaged, or',
    '       unknown (sent, but no answer arrived)',
    'credits_before, credits_after: your balance before and after a purchase',
    '       with --max-credits; purchases at the same time change it too',
    'list:  the list that the leads count for',
    'excluded: leads that --only-new left out after they had arrived',
    'subject: the objective, query, context, target or input file, shortened',
    'credits_at_most: the most that it may have cost; null if no price is known',
    'service: the address of the service; local for --local, which costs nothing',
  ],
  outcomes: [...localOutcomes, 'not_found'],
  remarks: [
    `On a terminal the newest ${usualOnTerminal} are shown, in local time. A file or a pipe gets all of them.`,
  ],
  async run(context, options: HistoryListOptions) {
    const { clock, directories, stdout, zone } = context;
    const onTerminal = stdout.isTerminal && fileOf(options) === undefined;
    const limit = options.limit ?? (onTerminal ? usualOnTerminal : allOfThem);
    const since = options.since === undefined ? undefined : toSince(options.since, clock.now(), zone);
    const own = memberLayout(members);
    // Rows can only be added where the columns are known before them.
    const layout = options.append
      ? own
      : (records: readonly JsonText[]) => ({ ...own, table: toHistoryTable(records) });
    const damages: string[] = [];
    const page = await withOutput(context, options, { shape: 'list', layout }, async (output) => {
      const write = async (entries: readonly HistoryEntry[]): Promise<void> => {
        for (const entry of entries) if ('damage' in entry) damages.push(entry.damage);
        await output.write(entries.map(({ record }) => JSON.stringify(zoned(record, 'time', zone))));
      };
      const wanted = { isWanted: toFilter(options), since };
      const written =
        limit === allOfThem
          ? await writeAll(context, wanted, write)
          : await writeNewest(context, wanted, limit, onTerminal ? mostCounted : 0, write);
      if (written.shown === 0) await checkList(directories.state, options.list);
      return written;
    });
    const notes = createNotes(context, options);
    for (const damage of damages) notes.warn(damage);
    if (page.earlier > 0) notes.say(toEarlierLine(page, options));
    if (page.shown === 0) {
      const isFiltered = [options.since, options.command, options.list, options.search].some(
        (one) => one !== undefined,
      );
      notes.say(isFiltered ? 'No purchases match these options.' : nothingBought);
    }
  },
});

interface Page {
  readonly shown: number;
  readonly earlier: number;
  readonly isCounted: boolean;
}

interface Wanted extends HistoryRange {
  isWanted(entry: HistoryEntry): boolean;
}

type Write = (entries: readonly HistoryEntry[]) => Promise<void>;

/** All of them, without holding them. */
async function writeAll(context: Context, { isWanted, since }: Wanted, write: Write): Promise<Page> {
  let shown = 0;
  let batch: HistoryEntry[] = [];
  for await (const entry of readHistory(context, { since })) {
    if (!isWanted(entry)) continue;
    shown++;
    if (batch.push(entry) < together) continue;
    await write(batch);
    batch = [];
  }
  if (batch.length > 0) await write(batch);
  return { shown, earlier: 0, isCounted: true };
}

/** The newest, for which no other has to be read; `further` are read to count them. */
async function writeNewest(
  context: Context,
  { isWanted, since }: Wanted,
  limit: number,
  further: number,
  write: Write,
): Promise<Page> {
  const newest: HistoryEntry[] = [];
  let [earlier, looked, isCounted] = [0, 0, true];
  for await (const entry of readHistory(context, { newestFirst: true, since })) {
    if (newest.length === limit && looked++ === further) {
      isCounted = false;
      break;
    }
    if (!isWanted(entry)) continue;
    if (newest.length < limit) newest.push(entry);
    else earlier++;
  }
  if (newest.length > 0) await write(newest.reverse());
  return { shown: newest.length, earlier, isCounted };
}

function toFilter({ command, list, search }: HistoryListOptions): Wanted['isWanted'] {
  const text = search?.toLowerCase();
  return (entry) =>
    (list === undefined || entry.record.list === list) &&
    (command === undefined || `${entry.record.command} `.startsWith(`${command} `)) &&
    (text === undefined ||
      ('intent' in entry && aboutOf(entry.intent)?.toLowerCase().includes(text) === true));
}

/** Where the list is not even known, its name is mistyped. Throws `not_found`. */
async function checkList(stateDir: string, list: string | undefined): Promise<void> {
  if (list === undefined) return;
  const known = await readLists(stateDir, () => {});
  if (!known.some((one) => one.list === list)) throw toUnknownList(list);
}

/** Pure: `task run` too, and what stands behind the name in the history. Throws UsageError. */
function checkCommand(given: string): string {
  checkOneOf('--command', firstWord(given), paidCommands);
  return given;
}

function firstWord(words: string): string {
  return words.split(' ', 1)[0] as string;
}

function toEarlierLine(
  { shown, earlier, isCounted }: Page,
  { since, command, list, search }: HistoryListOptions,
) {
  const same = Object.entries({ '--since': since, '--command': command, '--list': list, '--search': search });
  const words = same.flatMap(([flag, value]) => (value === undefined ? [] : [flag, shellWord(value)]));
  const count = `${isCounted ? '' : 'at least '}${shown + earlier}`;
  const all = ['leadpipe history list', ...words, '--limit', allOfThem].join(' ');
  return `The newest ${shown} of ${count} are shown. To see all: ${all}`;
}

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** Pure: the time that is meant by `7d`, `2026-11-01` (where the day begins here) or `2026-11-01T09:30`. Throws UsageError. */
export function toSince(given: string, now: Date, zone: Zone): Date {
  const [, count, unit = ''] = /^(\d{1,5})([mhdw])$/.exec(given) ?? [];
  if (count !== undefined) return new Date(now.getTime() - Number(count) * (unitMs[unit] as number));
  const [, day, clock = '00:00', offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(given) ?? [];
  const shown = `${day}T${clock}`;
  // There is no 31st of June: Date would take it for the 1st of July.
  const isDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(String(day)) === true;
  const isTime = isDay && !Number.isNaN(Date.parse(`${shown}Z`));
  if (isTime) return offset === undefined ? fromWallTime(shown, zone) : new Date(`${shown}${offset}`);
  throw new UsageError(
    `--since must be a time, not "${given.slice(0, 40)}"`,
    'For example: --since 7d (also m, h, w for minutes, hours, weeks), --since 2026-11-01, or --since 2026-11-01T09:30.',
  );
}

export function toUnknownList(list: string): LeadpipeError {
  return new LeadpipeError('not_found', `there is no list ${list} on this machine`, {
    type: 'list_not_found',
    hint: 'To see which lists there are: leadpipe history lists',
    retryable: false,
  });
}
