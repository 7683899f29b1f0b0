import { removeProfile } from '../../../config/settings.ts';
import { forgetKey } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { checkIsThere, profileArgument } from './profiles.ts';

export const createAuthRemove = defineCommand({
  name: 'remove',
  summary: 'remove a profile: its settings and its key',
  description:
    'Removes the settings and the stored key of a profile from this machine. The key stays valid at the service, and the history stays.',
  arguments: [profileArgument],
  takes: ['report'],
  examples: ['leadpipe auth remove work', 'leadpipe auth remove old.test'],
  output: ['nothing on stdout; stderr says what was removed'],
  outcomes: changeOutcomes,
  run: runAuthRemove,
});

async function runAuthRemove(context: Context, profile: string, options: ReportOptions): Promise<void> {
  await checkIsThere(context, profile);
  // Remove the key first: if the keychain fails, the profile still records where it is.
  const forgotten = await forgetKey(context, profile);
  await removeProfile(context, profile);
  const key = forgotten === undefined ? '' : `, and its key for ${forgotten.origin}`;
  createNotes(context, options).say(`Removed the settings of the profile "${profile}"${key}.`);
}
