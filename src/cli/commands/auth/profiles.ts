import { Argument } from 'commander';
import { readSettingsFile } from '../../../config/settings.ts';
import { readKeyRecords } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';

export const profileArgument = new Argument(
  '<profile>',
  'the name of a profile; `leadpipe auth list` lists them',
);

/** Throws UsageError. */
export async function checkIsThere(context: Context, profile: string): Promise<void> {
  const { names } = await readProfiles(context);
  if (names.includes(profile)) return;
  throw new UsageError(`there is no profile "${profile}"`, { is: 'no_profile', name: profile, known: names });
}

/** The profiles that have settings or a key, sorted by name. */
export async function readProfiles({ directories }: Context) {
  const { profiles } = await readSettingsFile(directories.config);
  const keys = await readKeyRecords(directories.config);
  return { profiles, keys, names: [...new Set([...Object.keys(profiles), ...Object.keys(keys)])].sort() };
}
