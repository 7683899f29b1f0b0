import { type JsonText, kindOf, stringOf } from '../json/text.ts';

/** Terminals ignore what is longer, or show it. */
const longest = 2000;

/** Pure: the address that a value is, as a terminal may be given it; undefined for anything else. */
export function addressIn(value: JsonText | undefined): string | undefined {
  if (value === undefined || kindOf(value) !== 'string') return undefined;
  const text = stringOf(value)?.trim() ?? '';
  if (!/^https?:\/\//i.test(text) || text.length > longest || !URL.canParse(text)) return undefined;
  // Controls, spaces and other scripts are escaped by this.
  const { href } = new URL(text);
  return /^https?:\/\/[\x21-\x7e]+$/.test(href) && href.length <= longest ? href : undefined;
}

/** A text that leads to an address, for terminals that know OSC 8; the text is clean already. */
export function linked(text: string, address: string | undefined): string {
  if (address === undefined || text === '') return text;
  return `\u001b]8;;${address}\u001b\\${text}\u001b]8;;\u001b\\`;
}
