import { Argument, Command } from 'commander';
import { changeSetting } from '../../../config/change-settings.ts';
import { checkSettingName, profileInUse, toSettingValue, wordsOf } from '../../../config/settings.ts';
import { readKeyRecord } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { toBaseUrl } from '../../../requests/address.ts';
import { withValuesAfter } from '../../completion/values-after.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import { readNamedFile } from '../../options/inputs.ts';
import { addProfileOption, addReportOptions, type ProfileOptions } from '../../options/options.ts';
import { settingArgument } from './setting-argument.ts';

const help: CommandHelp = {
  examples: ['leadpipe config set timeout.idle 60', 'leadpipe config set format csv --profile work'],
  output: ['nothing'],
  outcomes: changeOutcomes,
};

export function createConfigSetCommand(context: Context): Command {
  const command = new Command('set')
    .summary('change one setting')
    .description('Changes a setting of a profile. A profile that does not exist yet is created.')
    .addArgument(settingArgument())
    .addArgument(
      withValuesAfter(
        new Argument('<value>', 'the new value; `leadpipe config --help` lists what each setting can be'),
        ([setting = '']) => wordsOf(setting),
      ),
    );
  return addHelp(addReportOptions(addProfileOption(command)), help).action(
    (setting: string, value: string, options: ProfileOptions) =>
      runConfigSet(context, setting, value, options),
  );
}

async function runConfigSet(
  context: Context,
  setting: string,
  given: string,
  options: ProfileOptions,
): Promise<void> {
  const name = checkSettingName(setting);
  const value = toSettingValue(name, given);
  // Without it no command would reach the service.
  if (name === 'ca_file') await readNamedFile(String(value), name);
  const profile = await profileInUse(context, options.profile);
  await changeSetting(context, profile, name, value);
  if (name !== 'base_url') return;
  const record = await readKeyRecord(context.directories.config, profile);
  if (record === undefined || record.origin === toBaseUrl(given, 'the argument').origin) return;
  createNotes(context, options).warn(
    `the key of the profile "${profile}" is only for ${record.origin}, and is not sent to the new address. To store another key: leadpipe auth login`,
  );
}
