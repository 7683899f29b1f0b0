import { defaults } from '../../../config/defaults.ts';
import type { SettingName, Settings, SettingValue } from '../../../config/settings.ts';
import { timeLimits } from '../../../transport/time-limits.ts';

/** Pure: what holds where nothing sets it, in words where that depends; undefined for what has no default. */
export function defaultOf(name: SettingName): SettingValue | undefined {
  switch (name) {
    case 'format':
      return 'table on a terminal, else jsonl';
    case 'timeout.headers':
      return byEndpoint('headers');
    case 'timeout.idle':
      return byEndpoint('idle');
    case 'timeout.event':
      return byEndpoint('event');
    case 'timeout.total':
      return byEndpoint('total');
    default:
      return (defaults as Settings)[name];
  }
}

function byEndpoint(limit: 'headers' | 'idle' | 'event' | 'total'): SettingValue {
  const all = Object.values(timeLimits).flatMap((limits) => limits[limit] ?? []);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return least === most ? least : `${least} to ${most}, by endpoint`;
}
