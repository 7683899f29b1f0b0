import { join } from 'node:path';
import { Command } from 'commander';
import {
  readProfile,
  type SettingName,
  type Settings,
  type SettingValue,
  settingNames,
  settingsFile,
  settingTable,
} from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { type Layout, memberLayout } from '../../../output/columns.ts';
import { readable } from '../../../output/readable.ts';
import { memberColumn } from '../../../output/table-columns.ts';
import { localOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { createNotes } from '../../messages/notes.ts';
import {
  addProfileOption,
  addRecordOptions,
  addReportOptions,
  type ProfileOptions,
  type RecordOptions,
} from '../../options/options.ts';
import { printRecords } from '../../records/record-output.ts';
import { defaultOf } from './default-of.ts';

type ListOptions = ProfileOptions & RecordOptions;

/** What `config list` prints of a setting. */
interface SettingRecord {
  readonly setting: SettingName;
  readonly value: SettingValue | null;
  /** Where the value is from: a variable of the environment, `profile`, `default`, or null. */
  readonly from: string | null;
  readonly meaning: string;
}

const members: readonly (keyof SettingRecord)[] = ['setting', 'value', 'from', 'meaning'];

/** Settings that the environment has a word in, before the profile. */
const variables: Partial<Record<SettingName, string>> = {
  base_url: 'LEADPIPE_BASE_URL',
  credential_store: 'LEADPIPE_CREDENTIAL_STORE',
};

const settingsLayout: Layout = {
  ...memberLayout(members),
  table: [
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

const help: CommandHelp = {
  examples: ['leadpipe config list', 'leadpipe config list --profile work -f jsonl'],
  output: [
    'one object for each setting; from is default, profile or the name of a',
    'variable, or null if the setting has no value:',
    '{"setting":"timeout.idle","value":60,"from":"profile",',
    ' "meaning":"give up after this many seconds without data in an answer"}',
  ],
  outcomes: localOutcomes,
};

export function createConfigListCommand(context: Context): Command {
  const command = new Command('list')
    .summary('every setting, its value, and where the value comes from')
    .description(
      'Shows every setting with the value that is used, and where this value comes from: the environment, the profile, or the built-in default. An option such as --timeout is used before all of them, but only for one run.',
    );
  return addHelp(addReportOptions(addProfileOption(addRecordOptions(command))), help).action(
    (options: ListOptions) => runConfigList(context, options),
  );
}

async function runConfigList(context: Context, options: ListOptions): Promise<void> {
  const { name: profile, settings } = await readProfile(context, options.profile);
  const records = settingNames.map((name) => toRecord(name, settings, context.env));
  await printRecords(context, options, { shape: 'list', layout: settingsLayout, settings }, records);
  const path = join(context.directories.config, settingsFile);
  createNotes(context, options).say(
    `The profile is "${profile}". Its settings are in ${path}. To see which values are allowed: leadpipe config --help`,
  );
}

/** Pure. */
function toRecord(setting: SettingName, settings: Settings, env: Context['env']): SettingRecord {
  const { meaning } = settingTable[setting];
  const variable = variables[setting];
  const fromEnvironment = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && fromEnvironment)
    return { setting, value: fromEnvironment, from: variable, meaning };
  const own = settings[setting];
  if (own !== undefined) return { setting, value: own, from: 'profile', meaning };
  const value = defaultOf(setting) ?? null;
  return { setting, value, from: value === null ? null : 'default', meaning };
}
