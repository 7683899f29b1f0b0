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
 * Pure: what stands in front of a value in a line of which there may be a million, and the line's end behind it. Their
 * checksum takes a third of the time; it finds any damage to a few bytes, and misses one in four thousand million others.
 */
export function quickFront(member: string, value: JsonText | Buffer): string {
  return `{"crc32":"${quickChecksumOf(value)}","${member}":`;
}
export const lineEnd = '}\n';

const hexDigits = Buffer.from('0123456789abcdef');

/** The same as a function that puts it into a block, without making a text of it; it returns the index behind it. */
export function quickFrontInto(member: string): (block: Buffer, at: number, value: Buffer) => number {
  const front = Buffer.from(quickFront(member, ''));
  const digits = front.indexOf('00000000');
  return (block, at, value) => {
    for (let index = 0; index < front.length; index++) block[at + index] = front[index] as number;
    let rest = crc32(value);
    for (let index = at + digits + 7; index >= at + digits; index--) {
      block[index] = hexDigits[rest & 0xf] as number;
      rest >>>= 4;
    }
    return at + front.length;
  };
}

function quickChecksumOf(value: string | Buffer): string {
  return crc32(value).toString(16).padStart(8, '0');
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}
