import { Command } from 'commander';
import { profileInUse } from '../../../config/settings.ts';
import { forgetKey } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import { addProfileOption, addReportOptions, type ProfileOptions } from '../../options/options.ts';

const help: CommandHelp = {
  examples: ['leadpipe auth logout', 'leadpipe auth logout --profile work'],
  output: ['nothing on stdout; stderr says which key was removed'],
  outcomes: changeOutcomes,
};

export function createAuthLogoutCommand(context: Context): Command {
  const command = new Command('logout')
    .summary('remove the stored key of a profile')
    .description(
      'Removes the stored key of a profile from this machine. The key stays valid at the service.',
    );
  return addHelp(addReportOptions(addProfileOption(command)), help).action((options: ProfileOptions) =>
    runAuthLogout(context, options),
  );
}

async function runAuthLogout(context: Context, options: ProfileOptions): Promise<void> {
  // Also of a profile whose settings are damaged or gone.
  const name = await profileInUse(context, options.profile);
  const forgotten = await forgetKey(context, name);
  createNotes(context, options).say(
    forgotten === undefined
      ? `No key is stored for the profile "${name}".`
      : `Removed the key of the profile "${name}" for ${forgotten.origin}.`,
  );
}
