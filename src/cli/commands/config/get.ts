import { readProfile, type SettingName } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError } from '../../../errors.ts';
import { toTerminalText } from '../../../output/clean.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { toSetCommand } from '../../messages/proposed.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';
import { defaultOf, settingArgument } from './setting.ts';

export const createConfigGet = defineCommand({
  name: 'get',
  summary: 'the value of one setting',
  description: 'Prints the value of a setting in the profile, or else its default.',
  arguments: [settingArgument],
  takes: ['profile'],
  examples: ['leadpipe config get base_url', 'leadpipe config get timeout.idle --profile work'],
  output: [
    'only the value, on one line: from the profile, or else the default. If there',
    'is neither, nothing is printed, and the exit code is 6.',
  ],
  outcomes: [...localOutcomes.filter((outcome) => outcome !== 'local_io'), 'not_found'],
  run: runConfigGet,
});

async function runConfigGet(context: Context, name: SettingName, options: ProfileOptions): Promise<void> {
  const profile = await readProfile(context, options.profile);
  const value = profile.settings[name] ?? defaultOf(name);
  if (value === undefined) {
    throw new LeadpipeError('not_found', `the profile "${profile.name}" does not set ${name}`, {
      type: 'not_set',
      hint: `Set it: ${toSetCommand(name, options, '…')}`,
    });
  }
  context.stdout.stream.write(`${toTerminalText(String(value))}\n`);
}
