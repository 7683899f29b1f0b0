import { Argument } from 'commander';
import { changeSetting, profileInUse, type SettingName, toSettingValue } from '../../../config/settings.ts';
import { readKeyRecord } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { toBaseUrl } from '../../../requests/address.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import { readNamedFile } from '../../options/inputs.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';
import { settingArgument } from './setting-argument.ts';

export const createConfigSet = defineCommand({
  name: 'set',
  summary: 'change one setting',
  description: 'Changes a setting of a profile. A profile that does not exist yet is created.',
  arguments: [
    settingArgument,
    new Argument('<value>', 'the new value; for a wrong one, the error says what it can be'),
  ],
  takes: ['profile'],
  examples: ['leadpipe config set timeout.idle 60', 'leadpipe config set format csv --profile work'],
  output: ['nothing'],
  outcomes: changeOutcomes,
  run: runConfigSet,
});

async function runConfigSet(
  context: Context,
  name: SettingName,
  given: string,
  options: ProfileOptions,
): Promise<void> {
  const value = toSettingValue(name, given);
  // With a wrong file, no command would reach the service.
  if (name === 'ca_file') await readNamedFile(String(value), name);
  const profile = await profileInUse(context, options.profile);
  await changeSetting(context, profile, name, value);
  if (name !== 'base_url') return;
  const record = await readKeyRecord(context.directories.config, profile);
  if (record === undefined || record.origin === toBaseUrl(given, 'from the argument').origin) return;
  createNotes(context, options).warn(
    `the key of the profile "${profile}" is only for ${record.origin}, and is not sent to the new address. To store another key: leadpipe auth login`,
  );
}
