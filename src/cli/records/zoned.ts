import { toZonedTime, type Zone } from '../../clock.ts';

/** Pure: the record with this time, which is kept in UTC, as this place has it. */
export function zoned<Name extends string, Kept extends { readonly [name in Name]: string | null }>(
  record: Kept,
  name: Name,
  zone: Zone,
): Kept {
  const time = record[name];
  return time === null ? record : { ...record, [name]: toZonedTime(new Date(time), zone) };
}
