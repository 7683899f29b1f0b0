import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Layout } from '../../../columns/layout.ts';
import { readProfile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { isObject } from '../../../json/object.ts';
import { toYesOrNo } from '../../../output/readable.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ReportOptions } from '../../options/shared-options.ts';
import { printRecords } from '../../records/record-output.ts';
import { readProfiles } from './profiles.ts';

const profilesLayout: Layout = {
  ...memberLayout(['profile', 'in_use', 'base_url', 'key_in', 'key_for']),
  table: () => [
    memberColumn('profile', { min: 7, max: 30, role: 'title' }),
    {
      ...memberColumn('in_use', { header: 'in use', min: 6, max: 6 }),
      text: (record) => toYesOrNo(record.member('in_use')),
    },
    memberColumn('base_url', { header: 'address', min: 20, max: 60 }),
    memberColumn('key_in', { header: 'key in', min: 8, max: 8 }),
    memberColumn('key_for', { header: 'key for', min: 20, max: 60, yields: true }),
  ],
};

export const createAuthList = defineCommand({
  name: 'list',
  summary: 'list the profiles and where their keys are stored',
  description:
    'Prints each profile with its address, where its key is stored, and the address that the key is for.',
  takes: ['records', 'report'],
  examples: ['leadpipe auth list', 'leadpipe auth list -f jsonl'],
  output: [
    'one object for each profile (the keychain is not read):',
    '{"profile":"default","in_use":true,"base_url":"https://…",',
    ' "key_in":"keychain","key_for":"https://…"}',
  ],
  columns: () => headersOf(profilesLayout),
  outcomes: localOutcomes,
  run: runAuthList,
});

async function runAuthList(context: Context, options: RecordOptions & ReportOptions): Promise<void> {
  const { name, settings } = await readProfile(context, undefined, 'may be new');
  const { profiles, keys, names } = await readProfiles(context);
  const records = names.map((profile) => {
    const own = profiles[profile];
    const base_url = isObject(own) && typeof own.base_url === 'string' ? own.base_url : null;
    const { store = null, origin = null } = keys[profile] ?? {};
    return { profile, in_use: profile === name, base_url, key_in: store, key_for: origin };
  });
  await printRecords(context, options, { shape: 'list', layout: profilesLayout, settings }, records);
  if (records.length === 0)
    createNotes(context, options).say('There are no profiles yet. Create one: leadpipe auth login');
}
