import { Command } from 'commander';
import { switchProfile } from '../../../config/change-settings.ts';
import { defaultProfile, readProfileNames } from '../../../config/settings.ts';
import { readKeyRecords } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import { addReportOptions, type ReportOptions } from '../../options/options.ts';

const help: CommandHelp = {
  examples: ['leadpipe auth switch work', 'leadpipe auth switch default'],
  output: ['nothing on stdout'],
  outcomes: changeOutcomes,
};

export function createAuthSwitchCommand(context: Context): Command {
  const command = new Command('switch')
    .summary('use another profile from now on')
    .description('Chooses the profile that is used when neither --profile nor LEADPIPE_PROFILE names one.')
    .argument('<profile>', 'the name of a profile; `leadpipe auth list` lists them');
  return addHelp(addReportOptions(command), help).action((profile: string, options: ReportOptions) =>
    runAuthSwitch(context, profile, options),
  );
}

async function runAuthSwitch(context: Context, profile: string, options: ReportOptions): Promise<void> {
  const { config } = context.directories;
  const keys = Object.keys(await readKeyRecords(config));
  const known = [...new Set([...(await readProfileNames(config)), ...keys])].sort();
  if (profile !== defaultProfile && !known.includes(profile)) {
    throw new UsageError(
      `there is no profile "${profile}"`,
      `${known.length === 0 ? '' : `The profiles are ${known.join(', ')}. `}To create "${profile}": leadpipe auth login --profile ${profile}`,
    );
  }
  await switchProfile(context, profile);
  const notes = createNotes(context, options);
  notes.say(`The profile in use is now "${profile}".`);
  const { LEADPIPE_PROFILE } = context.env;
  if (LEADPIPE_PROFILE)
    notes.warn(`LEADPIPE_PROFILE is set, so the profile "${LEADPIPE_PROFILE}" is still used`);
}
