import { Option } from 'commander';
import { dayMs, fromWallTime, toMinutes, type Zone } from '../../../clock.ts';
import { UsageError } from '../../../errors.ts';

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: dayMs,
  w: 7 * dayMs,
};

export function createSince(): Option {
  return new Option(
    '--since <time>',
    'only purchases since this time: today, month (its first day), 7d, 12h, 2026-11-01 or 2026-11-01T09:30',
  );
}

/**
 * Pure: parses `today`, `month` (their first moment in the local zone), `7d`, `2026-11-01` (start of that day) or `2026-11-01T09:30`.
 * Throws UsageError.
 */
export function toSince(given: string, now: Date, zone: Zone): Date {
  const today = toMinutes(now, zone).slice(0, 10);
  if (given === 'today') return fromWallTime(`${today}T00:00`, zone);
  if (given === 'month') return fromWallTime(`${today.slice(0, 7)}-01T00:00`, zone);
  const [, count, unit = ''] = /^(\d{1,5})([mhdw])$/.exec(given) ?? [];
  if (count !== undefined) return new Date(now.getTime() - Number(count) * (unitMs[unit] as number));
  const [, day, clock = '00:00', offset] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(given) ?? [];
  const shown = `${day}T${clock}`;
  // Date would accept June 31 as July 1.
  const isDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(String(day)) === true;
  const isTime = isDay && !Number.isNaN(Date.parse(`${shown}${offset ?? 'Z'}`));
  if (isTime) return offset === undefined ? fromWallTime(shown, zone) : new Date(`${shown}${offset}`);
  throw new UsageError(
    `--since must be a time, not "${given.slice(0, 40)}"`,
    'For example: --since today, --since month, --since 7d (also m, h, w for minutes, hours, weeks), --since 2026-11-01, or --since 2026-11-01T09:30.',
  );
}
