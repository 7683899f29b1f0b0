import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { JsonText } from '../../json/text.ts';

const linePattern = /^\{"(sha256|crc32)":"([0-9a-f]+)","([a-z]+)":(.*)\}$/s;

/** Pure: a value of JSON with its checksum, as one object: `{"sha256":"…","entry":…}`. It ends its line. */
export function toCheckedLine(member: string, text: JsonText): string {
  return `{"sha256":"${checksumOf(text)}","${member}":${text}}\n`;
}

/** Pure: what such a line, without its end, says; undefined when it is damaged. */
export function fromCheckedLine(
  line: string,
): { readonly member: string; readonly text: JsonText } | undefined {
  const [, kind, checksum, member = '', text = ''] = linePattern.exec(line) ?? [];
  const expected = kind === 'crc32' ? quickChecksumOf(text) : checksumOf(text);
  return checksum === expected ? { member, text } : undefined;
}

/** Pure: whether the writing of a last line without a line end was cut off. If the line itself is whole, only its end was lost. */
export function isTorn(rest: string): boolean {
  return fromCheckedLine(rest.slice(0, -1)) === undefined;
}

/**
 * Pure: the same in a line of which there may be a million. Its checksum takes a third of the time; it finds any damage to a
 * few bytes, and misses one in four thousand million others.
 */
export function toQuickLine(member: string, text: JsonText): string {
  return `{"crc32":"${quickChecksumOf(text)}","${member}":${text}}\n`;
}

function quickChecksumOf(value: string): string {
  return crc32(value).toString(16).padStart(8, '0');
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}
