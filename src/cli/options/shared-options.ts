import { type Command, Option } from 'commander';
import { UsageError } from '../../errors.ts';
import { checkIdempotencyKey } from '../../requests/within-limits.ts';
import { groups } from '../help.ts';
import { withFacts } from './facts.ts';
import { checkFileName, inputNames } from './inputs.ts';
import { numberIn, once, option, seconds, under } from './option-builders.ts';
import { checkRecordOptions, type RecordOptions, recordOptions } from './record-options.ts';

/** Options of every command about what it prints on stderr. */
export interface ReportOptions {
  readonly quiet?: true;
  readonly verbose?: true;
  readonly color: boolean;
  readonly jsonErrors?: true;
}

export interface ProfileOptions extends ReportOptions {
  readonly profile?: string;
  readonly summary?: string;
}

export interface ConnectionOptions extends ProfileOptions {
  readonly baseUrl?: string;
  readonly local?: true;
  readonly timeout?: number;
}

export interface PaidOptions {
  readonly idempotencyKey?: string;
  /** Credits. */
  readonly maxCredits?: number;
  readonly dryRun?: true;
  /** Buys without asking. */
  readonly yes?: true;
  /** False: only the cost is stored. */
  readonly history: boolean;
}

export const anyCredits = { unit: 'credits', min: 0, max: Number.MAX_SAFE_INTEGER } as const;

const reportOptions = under(groups.messages, [
  withFacts(new Option('-q, --quiet', 'print no progress and no closing line'), { common: true }),
  new Option('-v, --verbose', 'print requests, and the stack trace of an error, on stderr'),
  withFacts(new Option('--no-color', 'print no colours'), { variable: 'NO_COLOR' }),
  new Option('--json-errors', 'print an error as one JSON object on stderr, and nothing else there'),
]);

const profileOptions = under(groups.connection, [
  withFacts(new Option('--profile <profile>', 'use the settings and the key of this profile'), {
    variable: 'LEADPIPE_PROFILE',
  }),
]);

const addressOptions = under(groups.connection, [
  withFacts(new Option('--base-url <url>', 'the address of the service'), {
    variable: 'LEADPIPE_BASE_URL',
    settings: ['base_url'],
  }),
  option('--timeout <seconds>', 'give up after this many seconds without data', seconds, {
    defaultText: 'depends on the request',
    settings: ['timeout.headers', 'timeout.idle', 'timeout.event'],
  }),
]);

const localOptions = under(groups.connection, [
  withFacts(new Option('--local', 'offline and free, with fictional leads'), { common: true }).conflicts(
    'baseUrl',
  ),
]);

const paidOptions = under(groups.buying, [
  option(
    '--idempotency-key <key>',
    'the key of this purchase: the service charges a key only once',
    (key) => checkIdempotencyKey(key, inputNames),
    { defaultText: 'a new one each time' },
  ),
  createMaxCreditsOption('refuse if it could cost more than n credits'),
  withFacts(new Option('--dry-run', 'show what it would cost at most; buy nothing'), { common: true }),
  new Option('--yes', 'buy again without asking (only a terminal asks)'),
  new Option(
    '--no-history',
    "store only the cost on this machine; the result can't be shown again or resumed",
  ),
]);

/** For commands that can find nothing. */
export const exitStatusOption = new Option(
  '--exit-status',
  'exit with code 7 when nothing was found',
).helpGroup(groups.output);

const summaryOptions = under(groups.messages, [
  option(
    '--summary <file>',
    'write one JSON object here when the command ends, however it ends; see leadpipe help formats',
    once('--summary', (name) => {
      if (name !== '-') return checkFileName('--summary', name);
      throw new UsageError(
        '--summary: standard output is for data',
        'Name a file, or a descriptor: /dev/fd/3.',
      );
    }),
  ),
]);

/** Options that commands share, in the order of the help. */
export const sharedOptions = {
  records: recordOptions,
  paid: paidOptions,
  report: reportOptions,
  profile: [...profileOptions, ...reportOptions],
  /** For commands about one service: its address and its key. */
  service: [...profileOptions, ...addressOptions, ...reportOptions, ...summaryOptions],
  connection: [...localOptions, ...profileOptions, ...addressOptions, ...reportOptions, ...summaryOptions],
  /** For a server, which buys for others. */
  server: [...localOptions, ...profileOptions, ...addressOptions, ...reportOptions],
} as const;

export type SharedOptions = keyof typeof sharedOptions;

export function addSharedOptions(command: Command, taken: readonly SharedOptions[]): void {
  for (const option of taken.flatMap((name) => sharedOptions[name])) command.addOption(option);
  if (!taken.includes('records')) return;
  command.hook('preAction', async (_, action) => {
    const options = action.opts<RecordOptions>();
    const columns = await checkRecordOptions(options);
    if (columns !== undefined) action.setOptionValue('columns', columns);
  });
}

export function createMaxCreditsOption(description: string): Option {
  return option('--max-credits <n>', description, numberIn(anyCredits), {
    settings: ['max_credits'],
    common: true,
  });
}
