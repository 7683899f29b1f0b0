import { defaults } from '../../../config/defaults.ts';
import type { SettingName, Settings, SettingValue } from '../../../config/settings.ts';
import { type TimeLimits, timeLimits } from '../../../transport/time-limits.ts';

/** Pure: the default of a setting, in words if it varies; undefined if there is none. */
export function defaultOf(name: SettingName): SettingValue | undefined {
  if (name === 'format') return 'table on a terminal, else jsonl';
  const [, limit] = /^timeout\.(headers|idle|event|total)$/.exec(name) ?? [];
  if (limit === undefined) return (defaults as Settings)[name];
  const all = Object.values(timeLimits).flatMap((limits) => limits[limit as keyof TimeLimits] ?? []);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  return min === max ? min : `${min} to ${max}, by endpoint`;
}
