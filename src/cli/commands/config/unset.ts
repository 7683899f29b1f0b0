import { changeSettings, profileInUse, type SettingName } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';
import { settingArgument } from './setting.ts';

export const createConfigUnset = defineCommand({
  name: 'unset',
  summary: 'use the default of one setting again',
  description: 'Removes a setting from a profile. The default is used again.',
  arguments: [settingArgument],
  takes: ['profile'],
  examples: ['leadpipe config unset timeout.idle', 'leadpipe config unset base_url --profile work'],
  output: ['nothing, even if the setting was not set'],
  outcomes: changeOutcomes,
  run: runConfigUnset,
});

async function runConfigUnset(context: Context, name: SettingName, options: ProfileOptions): Promise<void> {
  await changeSettings(context, await profileInUse(context, options.profile), { [name]: undefined });
}
