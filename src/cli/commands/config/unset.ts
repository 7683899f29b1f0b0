import { Command } from 'commander';
import { changeSetting } from '../../../config/change-settings.ts';
import { checkSettingName, profileInUse } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { addProfileOption, addReportOptions, type ProfileOptions } from '../../options/options.ts';
import { settingArgument } from './setting-argument.ts';

const help: CommandHelp = {
  examples: ['leadpipe config unset timeout.idle', 'leadpipe config unset base_url --profile work'],
  output: ['nothing, even if the setting was not set'],
  outcomes: changeOutcomes,
};

export function createConfigUnsetCommand(context: Context): Command {
  const command = new Command('unset')
    .summary('use the default of one setting again')
    .description('Removes a setting from a profile. The default is used again.')
    .addArgument(settingArgument());
  return addHelp(addReportOptions(addProfileOption(command)), help).action(
    (setting: string, options: ProfileOptions) => runConfigUnset(context, setting, options),
  );
}

async function runConfigUnset(context: Context, setting: string, options: ProfileOptions): Promise<void> {
  const name = checkSettingName(setting);
  await changeSetting(context, await profileInUse(context, options.profile), name, undefined);
}
