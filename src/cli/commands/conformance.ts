import { Argument, Option } from 'commander';
import {
  noCredits,
  paidRequestsOf,
  type Row,
  type RowResult,
  sectionOf,
  type Verdict,
} from '../../conformance/row.ts';
import { furtherKeys, type KeyName, type Keys, type Request, toJson } from '../../conformance/service.ts';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, UsageError } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import type { localKeys } from '../../local-service/keys.ts';
import { toTerminal } from '../../operations/journal/entries.ts';
import { beginJournal, naming } from '../../operations/journal/journal.ts';
import { isPaid, kinds, type PaidKind } from '../../operations/kinds/kinds.ts';
import {
  exact,
  type PriceName,
  type Prices,
  tariffOf,
  toOverLimit,
  toSpending,
  toUnknownPrice,
} from '../../operations/money.ts';
import { toIndexed } from '../../operations/order-digests.ts';
import { countOf } from '../../operations/wording.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout } from '../../output/layout.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { flawOfKey } from '../../requests/api-key.ts';
import { defineCommand } from '../command.ts';
import { withConnection } from '../connect.ts';
import { freeOutcomes } from '../exit-codes.ts';
import { createNotes, toCounted, withStatus } from '../messages/status-line.ts';
import { readNamedFile } from '../options/inputs.ts';
import { type ConnectionOptions, createMaxCreditsOption, type RecordOptions } from '../options/options.ts';
import { withOutput } from '../records/record-output.ts';

interface ConformanceOptions extends ConnectionOptions, RecordOptions {
  readonly keys?: string;
  readonly free?: true;
  readonly only?: string;
  readonly maxCredits?: number;
}

/** For a failed row, the answer also says what was expected. */
const layout: Layout = {
  ...memberLayout(['row', 'section', 'rule', 'result', 'expected', 'got', 'request_id']),
  table: () => [
    memberColumn('result', { min: 7, max: 7, role: 'detail' }),
    memberColumn('row', { min: 36, max: 46, role: 'title' }),
    memberColumn('got', { min: 26, max: 90 }),
    memberColumn('rule', { min: 24, max: 90, role: 'body', yields: true }),
  ],
};

export const furtherKeysOfLocalService = {
  other: 'lp_local_other',
  sibling: 'lp_local_entity_only',
  revoked: 'lp_local_revoked',
  expired: 'lp_local_expired',
  no_access: 'lp_local_no_access',
  no_credits: 'lp_local_broke',
  // As all accounts of such a run, it has fewer than 10,000 credits.
  few_credits: 'lp_local_other',
  busy: 'lp_local_busy',
} as const satisfies Record<keyof typeof furtherKeys, (typeof localKeys)[number]['key']>;

/**
 * Makes a run of the local service last seconds: its tasks need not take time. Its credits are fewer than 10,000 items of an extraction
 * cost.
 */
const quickly =
  'batch_pause_ms=0 batch_size=2 task_start_ms=20 task_step_ms=50 task_step=3 opening_credits=9000'.split(
    ' ',
  );
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
  async run(context, address: string | undefined, options: ConformanceOptions) {
    const { local = false, free = false, only, timeout } = options;
    if (address !== undefined && (local || options.baseUrl !== undefined)) {
      throw new UsageError(`the address is given twice: as the argument ${address} and as an option`);
    }
    const connected = address === undefined ? options : { ...options, baseUrl: address };
    const [{ rows: all, runRows }, { createMask }, { timeLimits }] = await Promise.all([
      import('../../conformance/run.ts'),
      import('../../transport/mask.ts'),
      import('../../transport/time-limits.ts'),
    ]);
    const rows = toRows(all, only);
    const further = options.keys === undefined ? {} : await readFurtherKeys(options.keys);
    const notes = createNotes(context, options);

    const check = async (connection: Connection): Promise<void> => {
      const { route, settings } = connection;
      const { apiKey, dispatcher } = route;
      const keys: Keys = { ...(local ? furtherKeysOfLocalService : {}), ...further, main: apiKey };
      const bound = toBound(free ? [] : rows, settings);
      const budget = local ? undefined : toBudget(bound, options.maxCredits, settings);
      if (!local && bound.units !== '') notes.warn(toAnnouncement(bound));
      const masks = Object.values(keys).map(createMask);
      const results: RowResult[] = [];
      const run = runRows(rows, {
        ...route,
        ...context,
        // Certificates are checked, and the proxy of the environment is used. Node's fetch accepts a dispatcher, which its type does not say.
        fetch: (input, init) => context.fetch(input, { ...init, ...({ dispatcher } as object) }),
        newKey: context.ids.idempotencyKey,
        userAgent: `leadpipe/${context.version}`,
        keys,
        secondsFor: (endpoint) => timeout ?? timeLimits[endpoint].total,
        free,
        budget,
        pollMs: local ? pollMs.local : pollMs.remote,
        trace: notes.trace,
        mask: (text) => masks.reduce((rest, mask) => mask(rest), text),
      });
      const line = (seconds: number) => toCounted({ unit: 'row' }, results.length, 'checking', seconds);
      const work = () =>
        withOutput(context, options, { shape: 'list', layout, settings }, (output) =>
          withStatus(context, options, line, async (update) => {
            for await (const result of run) {
              await output.write([JSON.stringify(result)]);
              results.push(result);
              update();
            }
            return results;
          }),
        );
      if (bound.units === '') await work();
      else await withRecord(context, connection, bound, work);
      notes.say(toClosingLine(results));
      const failure = toFailure(results);
      if (failure !== undefined) throw failure;
    };
    await withConnection(context, connected, check, { local: { alone: true, set: quickly } });
  },
});

/** Pure: the rows of a section, or those whose names begin with `only`. Throws UsageError when there are none. */
function toRows(all: readonly Row[], only: string | undefined): readonly Row[] {
  if (only === undefined) return all;
  const sections = [...new Set(all.map(sectionOf))];
  const isSection = sections.includes(only);
  const chosen = all.filter((row) => (isSection ? sectionOf(row) === only : row.id.startsWith(only)));
  if (chosen.length > 0) return chosen;
  throw new UsageError(
    `--only: there is no section ${only}, and no row whose name begins with it`,
    `Sections: ${sections.join(', ')}.`,
  );
}

/** Reads the file of --keys. Throws UsageError, which never quotes a key. */
async function readFurtherKeys(file: string): Promise<Partial<Record<KeyName, string>>> {
  const wrong = (why: string): UsageError =>
    new UsageError(
      `--keys: ${file} ${why}`,
      `Write it as a JSON object, for example {"other":"…"}. The names are ${Object.keys(furtherKeys).join(', ')}.`,
    );
  const value = toJson(await readNamedFile(file, '--keys'));
  if (!isObject(value)) throw wrong('is not a JSON object');
  for (const [name, key] of Object.entries(value)) {
    if (!Object.hasOwn(furtherKeys, name)) throw wrong(`has an unknown name: ${JSON.stringify(name)}`);
    if (typeof key !== 'string' || flawOfKey(key) !== undefined)
      throw wrong(`has a value for ${JSON.stringify(name)} that is not an API key`);
  }
  return value;
}

function tariffOfRequest({ endpoint, body }: Request) {
  const kind = Object.keys(kinds).find((name) => isPaid(name) && kinds[name].endpoint === endpoint);
  return tariffOf(kind as PaidKind, body as never);
}

const units: Partial<Record<PriceName, string>> = {
  'price.search': 'search lead',
  'price.task': 'task lead',
  'price.contact.email': 'email lookup',
  'price.contact.phone': 'phone lookup',
  'price.research': 'research question',
  'price.enrich': 'enrichment',
  'price.extract': 'extracted item',
};

type Bound = ReturnType<typeof toBound>;

/** Pure: the most that rows cost if the service only charges for what it must accept. */
export function toBound(rows: readonly Row[], prices: Prices) {
  const counts = new Map<PriceName, number>();
  for (const { setting, units } of paidRequestsOf(rows).map(tariffOfRequest))
    counts.set(setting, (counts.get(setting) ?? 0) + units);
  const all = [...counts];
  return {
    /** `12 search leads, 3 enrichments`; empty where nothing is paid. */
    units: all.map(([setting, count]) => countOf(count, units[setting])).join(', '),
    /** The first price that is not set; then the credits are not known. */
    missing: all.find(([setting]) => prices[setting] === undefined)?.[0],
    credits: all.reduce((sum, [setting, count]) => exact(sum + count * (prices[setting] ?? 0)), 0),
  };
}

/** Pure: the limit of a run. Throws `credits` where the rows may cost more, or where their cost is not known. */
function toBudget(
  { units, missing, credits }: Bound,
  asked: number | undefined,
  settings: Connection['settings'],
) {
  const spending = toSpending(asked, { origin: '', settings });
  if (spending === undefined || units === '') return undefined;
  if (missing !== undefined) throw toUnknownPrice(missing);
  if (credits > spending.limit) throw toOverLimit(credits, spending);
  const costOf = (request: Request): number => {
    const { setting, units } = tariffOfRequest(request);
    // A service that accepts an invented type of contact may charge for it as for a real one.
    return units * (settings[setting] ?? settings['price.contact.email'] ?? 0);
  };
  return { credits: spending.limit, costOf };
}

function toAnnouncement({ units, missing, credits }: Bound): string {
  const sum = missing === undefined ? `; by your prices at most ${countOf(credits, 'credit')}` : '';
  return `this costs credits: at most ${units}${sum}. A service that accepts what it should refuse may charge more. To spend nothing: --free`;
}

/** Runs `work` as an operation of the history. */
async function withRecord(
  context: Context,
  { fingerprint, origin, profile }: Connection,
  { missing, credits }: Bound,
  work: () => Promise<readonly RowResult[]>,
): Promise<void> {
  const journal = await beginJournal(context);
  const { operationId = '' } = journal;
  const time = context.clock.now().toISOString();
  const intent = await toIndexed({
    type: 'intent',
    version: 1,
    time,
    command: 'conformance',
    // One key for the run; each request has its own.
    idempotency_key: context.ids.idempotencyKey(),
    worst_case: missing === undefined ? credits : null,
    profile,
    origin,
    key_fingerprint: fingerprint(operationId),
    output: null,
    options: {},
  });
  const charged = origin === 'local' ? 'no' : 'maybe';
  try {
    await journal.append(intent, { type: 'sent', time });
    const results = await work();
    const outcome = toFailure(results)?.outcome ?? 'complete';
    await journal.append(toTerminal(outcome, { leads: results.length, charged }));
  } catch (error) {
    const outcome = error instanceof LeadpipeError ? error.outcome : 'bug';
    await journal.append(toTerminal(outcome, { leads: 0, charged }));
    throw naming(error, operationId);
  } finally {
    await journal.close();
  }
}

/** For example `187 rows: 180 passed, 2 failed, 1 skipped, 4 left out`. */
function toClosingLine(results: readonly RowResult[]): string {
  const count = (verdict: Verdict): number => results.filter(({ result }) => result === verdict).length;
  const others = count('left_out') === 0 ? '' : `, ${count('left_out')} left out`;
  return `${countOf(results.length, 'row')}: ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped${others}`;
}

const maxNamed = 8;

/** The error of a run that was incomplete, or that found something. */
function toFailure(results: readonly RowResult[]): LeadpipeError | undefined {
  const failures = results.filter(({ result }) => result === 'failed').map(({ row }) => row);
  if (failures.length > 0) {
    const more = failures.length > maxNamed ? ` and ${failures.length - maxNamed} more` : '';
    const named = failures.slice(0, maxNamed).join(', ') + more;
    const words = `the service breaks the interface in ${failures.length} of ${results.length} rows: ${named}`;
    const hint = `To see the requests of the first one: leadpipe conformance … --only ${failures[0]} --verbose`;
    return new LeadpipeError('interface', words, { hint });
  }
  const { length } = results.filter(({ result, got }) => result === 'skipped' && got === noCredits);
  if (length === 0) return undefined;
  const which = length === 1 ? '1 row was' : `${length} rows were`;
  return new LeadpipeError('partial', `${which} skipped for lack of credits`);
}
