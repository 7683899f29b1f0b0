import { join } from 'node:path';
import { Command } from 'commander';
import { readProfile, readSettingsFile, settingsFile } from '../../../config/settings.ts';
import { type KeyRecord, readKeyRecords } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { isObject } from '../../../json/object.ts';
import { type Layout, memberLayout } from '../../../output/columns.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addRecordOptions,
  addReportOptions,
  type RecordOptions,
  type ReportOptions,
} from '../../options/options.ts';
import { printRecords } from '../../records/record-output.ts';

type ListOptions = RecordOptions & ReportOptions;

/** What `auth list` prints of a profile. */
interface ProfileRecord {
  readonly profile: string;
  readonly in_use: boolean;
  readonly base_url: string | null;
  /** Null where no key is stored. */
  readonly key_in: KeyRecord['store'] | null;
  readonly key_for: string | null;
}

const members: readonly (keyof ProfileRecord)[] = ['profile', 'in_use', 'base_url', 'key_in', 'key_for'];

const profilesLayout: Layout = {
  ...memberLayout(members),
  table: [
    memberColumn('profile', { min: 8, max: 24, role: 'title' }),
    memberColumn('in_use', { min: 6, max: 6 }),
    memberColumn('base_url', { min: 16, max: 60 }),
    memberColumn('key_in', { min: 8, max: 8 }),
    memberColumn('key_for', { min: 16, max: 60 }),
  ],
};

const help: CommandHelp = {
  examples: ['leadpipe auth list', 'leadpipe auth list -f jsonl'],
  output: [
    'one object for each profile (the keychain is not read):',
    '{"profile":"default","in_use":true,"base_url":"https://…",',
    ' "key_in":"keychain","key_for":"https://…"}',
  ],
  outcomes: localOutcomes,
};

export function createAuthListCommand(context: Context): Command {
  const command = new Command('list')
    .summary('list the profiles and where their keys are stored')
    .description(
      'Prints each profile with its address, where its key is stored, and the address that the key is for.',
    );
  return addHelp(addReportOptions(addRecordOptions(command)), help).action((options: ListOptions) =>
    runAuthList(context, options),
  );
}

async function runAuthList(context: Context, options: ListOptions): Promise<void> {
  const { config } = context.directories;
  const inUse = await readProfile(context, undefined, 'may be new');
  const { profiles } = await readSettingsFile(join(config, settingsFile));
  const records = toRecords(inUse.name, profiles, await readKeyRecords(config));
  await printRecords(
    context,
    options,
    { shape: 'list', layout: profilesLayout, settings: inUse.settings },
    records,
  );
  if (records.length === 0)
    createNotes(context, options).say('There are no profiles yet. Create one: leadpipe auth login');
}

/** Pure: the profiles of both files, sorted. */
function toRecords(
  inUse: string,
  profiles: Readonly<Record<string, unknown>>,
  keys: Readonly<Record<string, KeyRecord>>,
): ProfileRecord[] {
  const names = [...new Set([...Object.keys(profiles), ...Object.keys(keys)])].sort();
  return names.map((profile) => {
    const settings = profiles[profile];
    const base_url = isObject(settings) && typeof settings.base_url === 'string' ? settings.base_url : null;
    const { store = null, origin = null } = keys[profile] ?? {};
    return { profile, in_use: profile === inUse, base_url, key_in: store, key_for: origin };
  });
}
