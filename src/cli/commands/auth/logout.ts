import { profileInUse } from '../../../config/settings.ts';
import { forgetKey } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';

export const createAuthLogout = defineCommand({
  name: 'logout',
  summary: 'remove the stored key of a profile',
  description: 'Removes the stored key of a profile from this machine. The key stays valid at the service.',
  takes: ['profile'],
  examples: ['leadpipe auth logout', 'leadpipe auth logout --profile work'],
  output: ['nothing on stdout; stderr says which key was removed'],
  outcomes: changeOutcomes,
  run: runAuthLogout,
});

async function runAuthLogout(context: Context, options: ProfileOptions): Promise<void> {
  // Works also for a profile with damaged or missing settings.
  const name = await profileInUse(context, options.profile);
  const forgotten = await forgetKey(context, name);
  createNotes(context, options).say(
    forgotten === undefined
      ? `No key is stored for the profile "${name}".`
      : `Removed the key of the profile "${name}" for ${forgotten.origin}.`,
  );
}
