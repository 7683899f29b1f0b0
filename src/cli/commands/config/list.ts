import { headersOf, memberLayout } from '../../../columns/columns.ts';
import type { Layout } from '../../../columns/layout.ts';
import {
  readProfile,
  type SettingName,
  type Settings,
  settingNames,
  settingTable,
} from '../../../config/settings.ts';
import { settingsPath } from '../../../config/store.ts';
import type { Context } from '../../../context.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { defineCommand } from '../../command.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { toSetCommand } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import type { RecordOptions } from '../../options/record-options.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';
import { printRecords } from '../../records/record-output.ts';
import { defaultOf } from './setting.ts';

const settingsLayout: Layout = {
  ...memberLayout(['setting', 'value', 'from', 'meaning']),
  table: () => [
    memberColumn('setting', { min: 19, max: 19, role: 'title' }),
    {
      header: 'value',
      role: 'link',
      min: 31,
      max: 60,
      text: (record) => readable(record.member('value')) || 'not set',
    },
    memberColumn('from', { min: 7, max: 25 }),
    { ...memberColumn('meaning', { min: 36, max: 80, role: 'body', yields: true }), lines: 20 },
  ],
};

export const createConfigList = defineCommand({
  name: 'list',
  summary: 'every setting, its value, and where the value comes from',
  description:
    'Shows every setting with the value that is used, and where this value comes from: the environment, the profile, or the built-in default. An option such as --timeout is used before all of them, but only for one run.',
  takes: ['records', 'profile'],
  examples: ['leadpipe config list', 'leadpipe config list --profile work -f jsonl'],
  output: [
    'one object for each setting; from is default, profile or the name of a',
    'variable, or null if the setting has no value:',
    '{"setting":"timeout.idle","value":60,"from":"profile",',
    ' "meaning":"seconds to wait for more data of an answer"}',
  ],
  columns: () => headersOf(settingsLayout),
  outcomes: localOutcomes,
  run: runConfigList,
});

async function runConfigList(context: Context, options: ProfileOptions & RecordOptions): Promise<void> {
  const { name: profile, settings } = await readProfile(context, options.profile);
  const records = settingNames.map((name) => toRecord(name, settings, context.env));
  await printRecords(context, options, { shape: 'list', layout: settingsLayout, settings }, records);
  createNotes(context, options).say(
    `The profile is "${profile}". Its settings are in ${settingsPath(context.directories.config)}. To change one: ${toSetCommand('<setting>', options, '<value>')}`,
  );
}

/** Environment variables that override the profile's setting. */
const variables: Partial<Record<SettingName, string>> = {
  base_url: 'LEADPIPE_BASE_URL',
  credential_store: 'LEADPIPE_CREDENTIAL_STORE',
};

function toRecord(setting: SettingName, settings: Settings, env: Context['env']) {
  const { meaning } = settingTable[setting];
  const variable = variables[setting] ?? '';
  if (env[variable]) return { setting, value: env[variable], from: variable, meaning };
  const own = settings[setting];
  const value = own ?? defaultOf(setting) ?? null;
  return { setting, value, from: own !== undefined ? 'profile' : value === null ? null : 'default', meaning };
}
