import { Argument } from 'commander';
import { defaults } from '../../config/defaults.ts';
import {
  changeSetting,
  profileInUse,
  readProfile,
  type SettingName,
  type Settings,
  type SettingValue,
  settingNames,
  settingTable,
  toSettingValue,
} from '../../config/settings.ts';
import { settingsPath } from '../../config/store.ts';
import { readKeyRecord } from '../../config/stored-keys.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import { toTerminalText } from '../../output/clean.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout } from '../../output/layout.ts';
import { readable } from '../../output/readable.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { toBaseUrl } from '../../requests/address.ts';
import { checkOneOf } from '../../requests/within-limits.ts';
import { type TimeLimits, timeLimits } from '../../transport/time-limits.ts';
import { defineCommand, defineGroup } from '../command.ts';
import { changeOutcomes, localOutcomes } from '../exit-codes.ts';
import { createNotes } from '../messages/status-line.ts';
import { readNamedFile } from '../options/inputs.ts';
import type { ProfileOptions, RecordOptions } from '../options/options.ts';
import { printRecords } from '../records/record-output.ts';

const settingArgument = new Argument('<setting>', 'such as base_url; `leadpipe config --help` lists them')
  .choices(settingNames)
  .argParser((value) => checkOneOf('setting', value, settingNames));

/** Environment variables that come before the profile's setting. */
const variables: Partial<Record<SettingName, string>> = {
  base_url: 'LEADPIPE_BASE_URL',
  credential_store: 'LEADPIPE_CREDENTIAL_STORE',
};

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

const createConfigList = defineCommand({
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
  outcomes: localOutcomes,
  async run(context, options: ProfileOptions & RecordOptions) {
    const { name: profile, settings } = await readProfile(context, options.profile);
    const records = settingNames.map((name) => toRecord(name, settings, context.env));
    await printRecords(context, options, { shape: 'list', layout: settingsLayout, settings }, records);
    createNotes(context, options).say(
      `The profile is "${profile}". Its settings are in ${settingsPath(context.directories.config)}. To change one: leadpipe config set <setting> <value>`,
    );
  },
});

function toRecord(setting: SettingName, settings: Settings, env: Context['env']) {
  const { meaning } = settingTable[setting];
  const variable = variables[setting] ?? '';
  if (env[variable]) return { setting, value: env[variable], from: variable, meaning };
  const own = settings[setting];
  const value = own ?? defaultOf(setting) ?? null;
  return { setting, value, from: own !== undefined ? 'profile' : value === null ? null : 'default', meaning };
}

/** Pure: the default of a setting, in words if it depends on something; undefined without one. */
function defaultOf(name: SettingName): SettingValue | undefined {
  if (name === 'format') return 'table on a terminal, else jsonl';
  const [, limit] = /^timeout\.(headers|idle|event|total)$/.exec(name) ?? [];
  if (limit === undefined) return (defaults as Settings)[name];
  const all = Object.values(timeLimits).flatMap((limits) => limits[limit as keyof TimeLimits] ?? []);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return least === most ? least : `${least} to ${most}, by endpoint`;
}

const createConfigGet = defineCommand({
  name: 'get',
  summary: 'the value of one setting',
  description: 'Prints the value of a setting in the profile, or else its default.',
  arguments: [settingArgument],
  takes: ['profile'],
  examples: ['leadpipe config get base_url', 'leadpipe config get timeout.idle --profile work'],
  output: [
    'only the value, on one line: from the profile, or else the default. If there',
    'is neither, nothing is printed, and the exit code is 6.',
  ],
  outcomes: [...localOutcomes.filter((outcome) => outcome !== 'local_io'), 'not_found'],
  async run(context, name: SettingName, options: ProfileOptions) {
    const profile = await readProfile(context, options.profile);
    const value = profile.settings[name] ?? defaultOf(name);
    if (value === undefined) {
      throw new LeadpipeError('not_found', `the profile "${profile.name}" does not set ${name}`, {
        type: 'not_set',
        hint: `Set it: leadpipe config set ${name} …`,
      });
    }
    context.stdout.stream.write(`${toTerminalText(String(value))}\n`);
  },
});

const createConfigSet = defineCommand({
  name: 'set',
  summary: 'change one setting',
  description: 'Changes a setting of a profile. A profile that does not exist yet is created.',
  arguments: [
    settingArgument,
    new Argument('<value>', 'the new value; for a wrong one, the error says what it can be'),
  ],
  takes: ['profile'],
  examples: ['leadpipe config set timeout.idle 60', 'leadpipe config set format csv --profile work'],
  output: ['nothing'],
  outcomes: changeOutcomes,
  async run(context, name: SettingName, given: string, options: ProfileOptions) {
    const value = toSettingValue(name, given);
    // With a wrong file, no command would reach the service.
    if (name === 'ca_file') await readNamedFile(String(value), name);
    const profile = await profileInUse(context, options.profile);
    await changeSetting(context, profile, name, value);
    if (name !== 'base_url') return;
    const record = await readKeyRecord(context.directories.config, profile);
    if (record === undefined || record.origin === toBaseUrl(given, 'the argument').origin) return;
    createNotes(context, options).warn(
      `the key of the profile "${profile}" is only for ${record.origin}, and is not sent to the new address. To store another key: leadpipe auth login`,
    );
  },
});

const createConfigUnset = defineCommand({
  name: 'unset',
  summary: 'use the default of one setting again',
  description: 'Removes a setting from a profile. The default is used again.',
  arguments: [settingArgument],
  takes: ['profile'],
  examples: ['leadpipe config unset timeout.idle', 'leadpipe config unset base_url --profile work'],
  output: ['nothing, even if the setting was not set'],
  outcomes: changeOutcomes,
  async run(context, name: SettingName, options: ProfileOptions) {
    await changeSetting(context, await profileInUse(context, options.profile), name, undefined);
  },
});

const createConfigPath = defineCommand({
  name: 'path',
  summary: 'where the settings are stored',
  description: 'Prints the path of the settings file.',
  takes: ['report'],
  examples: ['leadpipe config path', 'less "$(leadpipe config path)"'],
  output: ['the path of the settings file, on one line, even if there is no such file yet'],
  outcomes: ['complete', 'usage'],
  async run(context) {
    context.stdout.stream.write(`${settingsPath(context.directories.config)}\n`);
  },
});

export const createCommand = defineGroup(
  {
    name: 'config',
    description: 'Shows and changes the settings of a profile.',
    examples: ['leadpipe config set timeout.idle 60', 'leadpipe config list'],
    lists: [{ heading: 'Settings', rows: settingNames.map((name) => [name, settingTable[name].meaning]) }],
    remarks: [
      'Options and environment variables are used before settings (leadpipe help environment). API keys are not settings: see `leadpipe auth`.',
    ],
  },
  [createConfigList, createConfigGet, createConfigSet, createConfigUnset, createConfigPath],
);
