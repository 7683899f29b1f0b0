import { toZonedTime, type Zone } from '../../clock.ts';
import { readable } from '../../output/readable.ts';
import type { TableColumn } from '../../output/table-columns.ts';

/** Pure: the record with this time, which is kept in UTC, as this place has it. */
export function zoned<Name extends string, Kept extends { readonly [name in Name]: string | null }>(
  record: Kept,
  name: Name,
  zone: Zone,
): Kept {
  const time = record[name];
  return time === null ? record : { ...record, [name]: toZonedTime(new Date(time), zone) };
}

/** Pure: such a time in the eyes' resolution. */
export function timeColumn(header: string, rest: Pick<TableColumn, 'role' | 'yields'> = {}): TableColumn {
  return {
    header,
    min: 16,
    max: 16,
    ...rest,
    text: (record) => readable(record.member(header)).slice(0, 16).replace('T', ' '),
  };
}
