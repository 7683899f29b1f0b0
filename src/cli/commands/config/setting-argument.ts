import { Argument } from 'commander';
import { type SettingName, settingNames } from '../../../config/settings.ts';
import { checkOneOf } from '../../../requests/within-limits.ts';

export const settingArgument = new Argument(
  '<setting>',
  'such as base_url; `leadpipe config --help` lists them',
)
  .choices(settingNames)
  .argParser(toSettingName);

/** Throws UsageError. */
export function toSettingName(given: string): SettingName {
  return checkOneOf('setting', given, settingNames);
}
