import { headersOf, wordedLayout } from '../../../columns/columns.ts';
import type { Layout } from '../../../columns/layout.ts';
import { readProfile } from '../../../config/settings.ts';
import { findTarget } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError, StoppedError } from '../../../errors.ts';
import { toYesOrNo } from '../../../output/readable.ts';
import { toAddressText } from '../../../requests/address.ts';
import { toMaskedKey } from '../../../requests/api-key.ts';
import { defineCommand } from '../../command.ts';
import { addressOf } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ConnectionOptions } from '../../options/shared-options.ts';
import { printRecords } from '../../records/record-output.ts';
import { readBalance } from './key-check.ts';

export const createAuthStatus = defineCommand({
  name: 'status',
  summary: 'show which key is used and whether it is valid',
  description:
    'Prints the profile, its address, where the key comes from, the last characters of the key, and whether the service accepts it.',
  takes: ['records', 'service'],
  examples: ['leadpipe auth status', 'leadpipe auth status --profile work -f json | jq .valid'],
  output: [
    'one object; valid is null when the key could not be checked:',
    '{"profile":"default","base_url":"https://…","key_from":"keychain",',
    ' "key":"…9f3c","valid":true,',
    ' "available_credits":1200}',
  ],
  columns: () => headersOf(statusLayout),
  outcomes: freeOutcomes,
  run: runAuthStatus,
});

const wordedStatus = wordedLayout({
  profile: 'profile',
  base_url: 'address',
  key_from: 'key from',
  key: 'key',
  valid: 'valid',
  available_credits: 'available credits',
});

const statusLayout: Layout = {
  ...wordedStatus,
  sheet: (record) =>
    (wordedStatus.sheet?.(record) ?? []).map((column) =>
      column.header === 'valid'
        ? { ...column, from: (one) => JSON.stringify(toYesOrNo(one.member('valid'))) }
        : column,
    ),
};

async function runAuthStatus(context: Context, options: ConnectionOptions & RecordOptions): Promise<void> {
  const profile = await readProfile(context, options.profile);
  const target = await findTarget(context, addressOf(options), profile);
  const balance = await readBalance(context, options, { ...target, profile }).catch((error: unknown) => {
    if (error instanceof LeadpipeError && !(error instanceof StoppedError)) return error;
    throw error;
  });
  const isValid = typeof balance === 'number';
  const status = {
    profile: profile.name,
    base_url: toAddressText(target.baseUrl),
    key_from: target.source,
    key: toMaskedKey(target.apiKey),
    valid: isValid ? true : balance.outcome === 'authentication' ? false : null,
    available_credits: isValid ? balance : null,
  };
  await printRecords(
    context,
    options,
    { shape: 'single', layout: statusLayout, settings: profile.settings },
    [status],
  );
  if (!isValid) throw balance;
}
