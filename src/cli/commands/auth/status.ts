import { Command } from 'commander';
import { readProfile } from '../../../config/settings.ts';
import { findAddress, findKey, noTarget } from '../../../connection/address-and-key.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError } from '../../../errors.ts';
import { memberLayout } from '../../../output/columns.ts';
import { toAddressText } from '../../../requests/address.ts';
import { StoppedError } from '../../../transport/errors.ts';
import { addressOf, withConnection } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toMaskedKey } from '../../messages/masked-key.ts';
import {
  addRecordOptions,
  addServiceOptions,
  type ConnectionOptions,
  type RecordOptions,
} from '../../options/options.ts';
import { printRecords } from '../../records/record-output.ts';

type StatusOptions = Omit<ConnectionOptions, 'local'> & RecordOptions;

/** What `auth status` prints. */
interface AuthStatus {
  readonly profile: string;
  readonly base_url: string;
  readonly key_from: string;
  readonly key: string;
  /** Null when the service gave no answer about the key. */
  readonly valid: boolean | null;
  readonly available_credits: number | null;
}

const members: readonly (keyof AuthStatus)[] = [
  'profile',
  'base_url',
  'key_from',
  'key',
  'valid',
  'available_credits',
];

const help: CommandHelp = {
  examples: ['leadpipe auth status', 'leadpipe auth status --profile work -f json | jq .valid'],
  output: [
    'one object; valid is null when the key could not be checked:',
    '{"profile":"default","base_url":"https://…","key_from":"keychain",',
    ' "key":"…9f3c","valid":true,',
    ' "available_credits":1200}',
  ],
  outcomes: freeOutcomes,
};

export function createAuthStatusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('show which key is used and whether it is valid')
    .description(
      'Prints the profile, its address, where the key comes from, the last characters of the key, and whether the service accepts it.',
    );
  return addHelp(addServiceOptions(addRecordOptions(command)), help).action((options: StatusOptions) =>
    runAuthStatus(context, options),
  );
}

async function runAuthStatus(context: Context, options: StatusOptions): Promise<void> {
  const profile = await readProfile(context, options.profile);
  const baseUrl = findAddress(context, addressOf(options), profile);
  if (baseUrl === undefined) throw noTarget;
  const { apiKey, source } = await findKey(context, profile, baseUrl);
  const start = { known: { baseUrl, apiKey, profile } };
  const asked = await withConnection(context, options, ({ client }) => client.balance(context.signal), start)
    .then(({ value }) => value.available_credits)
    .catch((error: unknown) => toRefusal(error));
  const isValid = typeof asked === 'number' ? true : asked.outcome === 'authentication' ? false : null;
  const status: AuthStatus = {
    profile: profile.name,
    base_url: toAddressText(baseUrl),
    key_from: source,
    key: toMaskedKey(apiKey),
    valid: isValid,
    available_credits: typeof asked === 'number' ? asked : null,
  };
  await printRecords(
    context,
    options,
    { shape: 'single', layout: memberLayout(members), settings: profile.settings },
    [status],
  );
  if (typeof asked !== 'number') throw asked;
}

/** What the service or the way to it had against the key; a stop or a bug is thrown on. */
function toRefusal(error: unknown): LeadpipeError {
  if (error instanceof LeadpipeError && !(error instanceof StoppedError)) return error;
  throw error;
}
