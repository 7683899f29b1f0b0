import { toZonedTime, type Zone } from '../../clock.ts';
import type { JsonView } from '../../json/text.ts';
import type { TableColumn } from '../../output/layout.ts';
import { readable } from '../../output/readable.ts';

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
    text: (record) => minutesOf(record, header),
  };
}

/** Pure: the same of what is never kept for a year: without the year. */
export function recentColumn(header: string, rest: Pick<TableColumn, 'role' | 'yields'> = {}): TableColumn {
  return {
    ...timeColumn(header, rest),
    min: 11,
    max: 11,
    text: (record) => minutesOf(record, header).slice(5),
  };
}

function minutesOf(record: JsonView, header: string): string {
  return readable(record.member(header)).slice(0, 16).replace('T', ' ');
}
