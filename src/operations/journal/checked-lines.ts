import { hash } from 'node:crypto';
import type { JsonText } from '../../json/text.ts';

const linePattern = /^\{"sha256":"([0-9a-f]{16})","([a-z]+)":(.*)\}$/s;

/** Pure: a value of JSON with its checksum, as one object: `{"sha256":"…","entry":…}`. It ends its line. */
export function toCheckedLine(member: string, text: JsonText): string {
  return `{"sha256":"${checksumOf(text)}","${member}":${text}}\n`;
}

/** Pure: what such a line, without its end, says; undefined when it is damaged. */
export function fromCheckedLine(
  line: string,
): { readonly member: string; readonly text: JsonText } | undefined {
  const [, checksum, member = '', text = ''] = linePattern.exec(line) ?? [];
  return checksum === checksumOf(text) ? { member, text } : undefined;
}

/** Pure: whether a last line without its end was never finished. One that is whole has lost its end later. */
export function isTorn(rest: string): boolean {
  return fromCheckedLine(rest.slice(0, -1)) === undefined;
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}
