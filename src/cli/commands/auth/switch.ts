import { defaultProfile, switchProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { checkIsThere, profileArgument } from './profiles.ts';

export const createAuthSwitch = defineCommand({
  name: 'switch',
  summary: 'use another profile from now on',
  description: 'Chooses the profile that is used when neither --profile nor LEADPIPE_PROFILE names one.',
  arguments: [profileArgument],
  takes: ['report'],
  examples: ['leadpipe auth switch work', 'leadpipe auth switch default'],
  output: ['nothing on stdout'],
  outcomes: changeOutcomes,
  run: runAuthSwitch,
});

async function runAuthSwitch(context: Context, profile: string, options: ReportOptions): Promise<void> {
  if (profile !== defaultProfile) await checkIsThere(context, profile);
  await switchProfile(context, profile);
  const notes = createNotes(context, options);
  notes.say(`The profile in use is now "${profile}".`);
  const { LEADPIPE_PROFILE } = context.env;
  if (LEADPIPE_PROFILE)
    notes.warn(`LEADPIPE_PROFILE is set, so the profile "${LEADPIPE_PROFILE}" is still used`);
}
