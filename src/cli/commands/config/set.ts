import { Argument } from 'commander';
import {
  changeSettings,
  profileInUse,
  type SettingName,
  settingNames,
  toSettingValue,
} from '../../../config/settings.ts';
import { readKeyRecord } from '../../../config/stored-keys.ts';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import { toBaseUrl } from '../../../requests/address.ts';
import { defineCommand } from '../../command.ts';
import { changeOutcomes } from '../../exit-codes.ts';
import { flagOf } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import { readNamedFile } from '../../options/inputs.ts';
import type { ProfileOptions } from '../../options/shared-options.ts';
import { toSettingName } from './setting.ts';

const several = 'leadpipe config set price.contact.email=5 price.contact.phone=10';

export const createConfigSet = defineCommand({
  name: 'set',
  summary: 'change settings',
  description: 'Changes one setting of a profile, or several. A profile that does not exist yet is created.',
  arguments: [
    // Checked below, since the argument can also be name=value.
    new Argument('<setting>', 'such as base_url, or base_url=https://…; `leadpipe config --help` lists them')
      .choices(settingNames)
      .argParser((value) => value),
    new Argument('[value...]', 'the new value (an invalid one lists the allowed values), or more settings'),
  ],
  takes: ['profile'],
  examples: ['leadpipe config set timeout.idle 60', several],
  output: ['nothing'],
  outcomes: changeOutcomes,
  run: runConfigSet,
});

/** Pure: the settings and their values, as `name value` or as any number of `name=value`. Throws UsageError. */
function toGivenSettings(first: string, others: readonly string[]): ReadonlyMap<SettingName, string> {
  const [value, ...more] = others;
  if (!first.includes('=') && more.length === 0) {
    const name = toSettingName(first);
    if (value !== undefined) return new Map([[name, value]]);
    throw new UsageError('the value is missing', 'For example: leadpipe config set timeout.idle 60');
  }
  const given = new Map<SettingName, string>();
  for (const word of [first, ...others]) {
    const [, name, text = ''] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
    if (name === undefined) {
      throw new UsageError(`"${word}" must have the form <setting>=<value>`, `To set several: ${several}`);
    }
    const setting = toSettingName(name);
    if (given.has(setting)) throw new UsageError(`${setting} is given twice`, 'Give it once.');
    given.set(setting, text);
  }
  return given;
}

async function runConfigSet(
  context: Context,
  first: string,
  others: readonly string[],
  options: ProfileOptions,
): Promise<void> {
  const given = toGivenSettings(first, others);
  const changes = Object.fromEntries(
    Array.from(given, ([name, text]) => [name, toSettingValue(name, text)] as const),
  );
  // With a wrong file, no command would reach the service.
  if (changes.ca_file !== undefined) await readNamedFile(String(changes.ca_file), 'ca_file');
  const profile = await profileInUse(context, options.profile);
  await changeSettings(context, profile, changes);
  const address = given.get('base_url');
  if (address === undefined) return;
  const record = await readKeyRecord(context.directories.config, profile);
  if (record === undefined || record.origin === toBaseUrl(address, 'from the argument').origin) return;
  createNotes(context, options).warn(
    `the key of the profile "${profile}" is only for ${record.origin}, and is not sent to the new address. To store another key: leadpipe auth login${flagOf(options.profile)}`,
  );
}
