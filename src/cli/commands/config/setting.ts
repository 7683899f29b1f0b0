import { Argument } from 'commander';
import { defaults } from '../../../config/defaults.ts';
import {
  type SettingName,
  type Settings,
  type SettingValue,
  settingNames,
} from '../../../config/settings.ts';
import { checkOneOf } from '../../../requests/within-limits.ts';
import { type TimeLimits, timeLimits } from '../../../transport/time-limits.ts';

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

/** Pure: the default of a setting, in words if it varies; undefined if there is none. */
export function defaultOf(name: SettingName): SettingValue | undefined {
  if (name === 'format') return 'table on a terminal, else jsonl';
  const [, limit] = /^timeout\.(headers|idle|event|total)$/.exec(name) ?? [];
  if (limit === undefined) return (defaults as Settings)[name];
  const all = Object.values(timeLimits).flatMap((limits) => limits[limit as keyof TimeLimits] ?? []);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return min === max ? min : `${min} to ${max}, by endpoint`;
}
