import { Argument, Option } from 'commander';
import { noCredits, type Row, type RowResult, sectionOf, type Verdict } from '../../conformance/row.ts';
import { furtherKeys, type KeyName, type Keys } from '../../conformance/service.ts';
import type { Route } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, UsageError } from '../../errors.ts';
import type { localKeys } from '../../local-service/keys.ts';
import { countOf } from '../../operations/wording.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout } from '../../output/layout.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { flawOfKey } from '../../requests/api-key.ts';
import { defineCommand } from '../command.ts';
import { withRoute } from '../connect.ts';
import { freeOutcomes } from '../exit-codes.ts';
import { createNotes, toCounted, withStatus } from '../messages/status-line.ts';
import { readNamedFile } from '../options/inputs.ts';
import { type ConnectionOptions, createMaxCreditsOption, type RecordOptions } from '../options/options.ts';
import { withOutput } from '../records/record-output.ts';
import { toAnnouncement, toBound, toBudget, withRecord } from './conformance/spending.ts';

interface ConformanceOptions extends ConnectionOptions, RecordOptions {
  readonly keys?: string;
  readonly free?: true;
  readonly only?: string;
  readonly maxCredits?: number;
}

const names = ['row', 'section', 'rule', 'result', 'expected', 'got', 'request_id'];

/** What a failed row got says what was expected, too. */
const layout: Layout = {
  ...memberLayout(names),
  table: [
    memberColumn('result', { min: 7, max: 7, role: 'detail' }),
    memberColumn('row', { min: 36, max: 46, role: 'title' }),
    memberColumn('got', { min: 26, max: 90 }),
    memberColumn('rule', { min: 24, max: 90, role: 'body', yields: true }),
  ],
};

const furtherKeysOfLocalService = {
  other: 'lp_local_other',
  sibling: 'lp_local_entity_only',
  revoked: 'lp_local_revoked',
  expired: 'lp_local_expired',
  no_access: 'lp_local_no_access',
  no_credits: 'lp_local_broke',
  // Opens with fewer than 10,000 credits, as all accounts of such a run.
  few_credits: 'lp_local_other',
  busy: 'lp_local_busy',
} as const satisfies Record<keyof typeof furtherKeys, (typeof localKeys)[number]['key']>;

/** A run of a local service is over in seconds; its tasks need not take their time. */
const quickly = [
  'batch_pause_ms=0',
  'batch_size=2',
  'task_start_ms=20',
  'task_step_ms=50',
  'task_step=3',
  // Less than 10,000 items of an extraction cost.
  'opening_credits=9000',
];
const pollMs = { local: 25, remote: 1000 };

export const createCommand = defineCommand({
  name: 'conformance',
  description:
    'Checks whether a service follows the interface. It sends valid and invalid requests and compares the answers with the rules of the interface. Without --free this spends credits.',
  arguments: [new Argument('[base-url]', 'address of the service, if no option or setting names it')],
  options: [
    new Option('--keys <file>', 'JSON file with more API keys: {"other":"…","revoked":"…"}; see below'),
    new Option('--free', 'check only rules that cost nothing'),
    new Option('--only <rows>', 'check only one section, or the rules whose names begin with this'),
    createMaxCreditsOption('refuse (exit code 5) what can cost more than this by your price.* settings'),
  ],
  takes: ['records', 'connection'],
  examples: ['leadpipe conformance --local', 'leadpipe conformance --local --free --only fetch -f csv'],
  output: [
    'one row for each rule:',
    '{"row":"search/limit-0","section":"search","rule":"limit is at least 1",',
    ' "result":"passed","expected":"422 invalid_request_error",',
    ' "got":"422 invalid_request_error","request_id":"…"}',
  ],
  outcomes: [...freeOutcomes.filter((outcome) => outcome !== 'not_enabled'), 'partial', 'credits'],
  lists: [
    {
      heading: 'More API keys, for the file of --keys; a row whose key is missing is left out',
      rows: Object.entries(furtherKeys),
    },
  ],
  run: runConformance,
});

/** Pure: the rows of a section, or those whose names begin so. Throws UsageError when there are none. */
export function toRows(all: readonly Row[], only: string | undefined): readonly Row[] {
  if (only === undefined) return all;
  const sections = [...new Set(all.map(sectionOf))];
  const chosen = all.filter((row) =>
    sections.includes(only) ? sectionOf(row) === only : row.id.startsWith(only),
  );
  if (chosen.length > 0) return chosen;
  throw new UsageError(
    `--only: there is no section ${only}, and no row whose name begins with it`,
    `Sections: ${sections.join(', ')}.`,
  );
}

async function runConformance(
  context: Context,
  address: string | undefined,
  options: ConformanceOptions,
): Promise<void> {
  if (address !== undefined && (options.local || options.baseUrl !== undefined)) {
    throw new UsageError(`the address is given twice: as the argument ${address} and as an option`);
  }
  const connection = address === undefined ? options : { ...options, baseUrl: address };
  const [{ rows: all }, { runRows }, { createMask }, { timeLimits }] = await Promise.all([
    import('../../conformance/rows.ts'),
    import('../../conformance/run.ts'),
    import('../../transport/mask.ts'),
    import('../../transport/time-limits.ts'),
  ]);
  const rows = toRows(all, options.only);
  const further = options.keys === undefined ? {} : await readFurtherKeys(options.keys);
  const notes = createNotes(context, options);

  const check = async (route: Route): Promise<void> => {
    const { settings, baseUrl, keyHeader } = route;
    const keys: Keys = {
      ...(options.local ? furtherKeysOfLocalService : {}),
      ...further,
      main: route.apiKey,
    };
    const bound = toBound(options.free ? [] : rows, settings);
    const budget = options.local ? undefined : toBudget(bound, options.maxCredits, settings);
    if (!options.local && bound.units !== '') notes.warn(toAnnouncement(bound));
    const kind = { shape: 'list', layout, settings } as const;
    const masks = Object.values(keys).map(createMask);
    const done: RowResult[] = [];
    const text = (seconds: number) => toCounted({ unit: 'row' }, done.length, 'checking', seconds);
    const run = () =>
      withOutput(context, options, kind, (output) =>
        withStatus(context, options, text, async (update) => {
          const run = runRows(rows, {
            fetch: throughRoute(context, route),
            clock: context.clock,
            signal: context.signal,
            newKey: context.ids.idempotencyKey,
            userAgent: `leadpipe/${context.version}`,
            baseUrl,
            keys,
            keyHeader,
            secondsFor: (endpoint) => options.timeout ?? timeLimits[endpoint].total,
            free: options.free === true,
            budget,
            pollMs: options.local ? pollMs.local : pollMs.remote,
            trace: notes.trace,
            mask: (text) => masks.reduce((rest, mask) => mask(rest), text),
          });
          for await (const result of run) {
            await output.write([JSON.stringify(result)]);
            done.push(result);
            update();
          }
          return { rows: done.length, outcome: toOutcome(done), results: done };
        }),
      );
    const record = { ...route, local: options.local === true };
    const { results, outcome } = await withRecord(context, record, bound.units === '' ? null : bound, run);
    notes.say(toClosingLine(results));
    if (outcome === 'interface')
      throw toFailure(
        results.filter(({ result }) => result === 'failed'),
        results.length,
      );
    if (outcome === 'partial') throw toUnpaid(results);
  };
  await withRoute(context, connection, check, { local: { alone: true, set: quickly } });
}

/** Pure: `187 rows: 180 passed, 2 failed, 1 skipped, 4 left out`. */
export function toClosingLine(results: readonly RowResult[]): string {
  const count = (verdict: Verdict): number => results.filter(({ result }) => result === verdict).length;
  const others = count('left_out') === 0 ? '' : `, ${count('left_out')} left out`;
  return `${countOf(results.length, 'row')}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped${others}`;
}

function toOutcome(results: readonly RowResult[]): 'complete' | 'partial' | 'interface' {
  if (results.some(({ result }) => result === 'failed')) return 'interface';
  return results.some(isUnpaid) ? 'partial' : 'complete';
}

const isUnpaid = ({ result, got }: RowResult): boolean => result === 'skipped' && got === noCredits;

function toUnpaid(results: readonly RowResult[]): LeadpipeError {
  const { length } = results.filter(isUnpaid);
  const which = length === 1 ? '1 row was' : `${length} rows were`;
  return new LeadpipeError('partial', `${which} skipped for lack of credits`, { retryable: false });
}

const maxNamed = 8;

function toFailure(failures: readonly RowResult[], total: number): LeadpipeError {
  const named = failures.slice(0, maxNamed).map(({ row }) => row);
  const more = failures.length > maxNamed ? ` and ${failures.length - maxNamed} more` : '';
  return new LeadpipeError(
    'interface',
    `the service breaks the interface in ${failures.length} of ${total} rows: ${named.join(', ')}${more}`,
    {
      type: 'interface',
      hint: `To see the requests of the first one: leadpipe conformance … --only ${named[0]} --verbose`,
      retryable: false,
    },
  );
}

/** Connections with their certificates checked, and through the proxy of the environment. */
function throughRoute(context: Context, { dispatcher }: Route): typeof globalThis.fetch {
  // Node's fetch takes a dispatcher; its type does not say so.
  return (input, init) => context.fetch(input, { ...init, ...({ dispatcher } as object) });
}

/** The file of --keys. Throws UsageError, which never quotes a key. */
async function readFurtherKeys(file: string): Promise<Partial<Record<KeyName, string>>> {
  const wrong = (why: string): UsageError =>
    new UsageError(
      `--keys: ${file} ${why}`,
      `Write it as a JSON object, for example {"other":"…"}. The names are ${Object.keys(furtherKeys).join(', ')}.`,
    );
  const value = toJson(await readNamedFile(file, '--keys'));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong('is not a JSON object');
  for (const [name, key] of Object.entries(value)) {
    if (!Object.hasOwn(furtherKeys, name)) throw wrong(`has an unknown name: ${JSON.stringify(name)}`);
    if (typeof key !== 'string' || flawOfKey(key) !== undefined) {
      throw wrong(`has a value for ${JSON.stringify(name)} that is not an API key`);
    }
  }
  return value;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
