import { eachItem, type JsonText, kindOf, objectMembers, stringOf } from '../json/text.ts';
import { toTerminalLines, toTerminalText } from './clean.ts';

/** Characters of a cell: far more than a table shows. Nothing longer is cleaned or measured. */
const longestCell = 4_000;
/** Maximum characters of a text with several lines. */
const longestText = 1_000_000;
const deepest = 3;
/** Maximum length of a link: terminals ignore longer ones, or print them. */
const longestAddress = 2000;

/** A JSON value as one line for people: without quotes, braces and escapes, and safe on a terminal. */
export function readable(value: JsonText | undefined, depth = 0): string {
  if (value === undefined) return '';
  switch (kindOf(value)) {
    case 'null':
      return '';
    case 'string':
      return toTerminalText((stringOf(value) ?? '').slice(0, longestCell))
        .replace(/ {2,}/g, ' ')
        .trim();
    case 'array':
      if (depth === deepest) return '…';
      return joined(eachItem(value), (item) => readable(item, depth + 1));
    case 'object':
      if (depth === deepest) return '…';
      return joined(objectMembers(value), ([key, member]) => {
        const text = readable(member, depth + 1);
        return text === '' ? '' : `${label(key)}: ${text}`;
      });
    default:
      return value.trim().slice(0, longestCell);
  }
}

/** As `readable`, on several lines: a string keeps its lines; each array item and object member has its own. */
export function* readableLines(value: JsonText | undefined): Generator<string, void> {
  if (value === undefined) return;
  switch (kindOf(value)) {
    case 'string': {
      const text = (stringOf(value) ?? '').trim();
      yield* toTerminalLines(text.slice(0, longestText));
      if (text.length > longestText) yield '…';
      return;
    }
    case 'array':
      for (const item of eachItem(value)) yield readable(item, 1);
      return;
    case 'object':
      for (const [key, member] of objectMembers(value)) yield `${label(key)}: ${readable(member, 1)}`;
      return;
    default: {
      const line = readable(value);
      if (line !== '') yield line;
    }
  }
}

/** Pure: true and false for people. */
export function toYesOrNo(value: JsonText | undefined): string {
  return value === 'true' ? 'yes' : value === 'false' ? 'no' : '';
}

function label(key: string): string {
  return toTerminalText(key.slice(0, longestCell));
}

/** Pure: the value as an address that is safe for a terminal; undefined if it is not an address. */
export function addressIn(value: JsonText | undefined): string | undefined {
  if (value === undefined || kindOf(value) !== 'string') return undefined;
  const text = stringOf(value)?.trim() ?? '';
  if (!/^https?:\/\//i.test(text) || text.length > longestAddress || !URL.canParse(text)) return undefined;
  // This escapes controls, spaces and other scripts.
  const { href } = new URL(text);
  return /^https?:\/\/[\x21-\x7e]+$/.test(href) && href.length <= longestAddress ? href : undefined;
}

/** Shortens addresses to what people write. */
export function shortLinks(text: string): string {
  return text.replace(/\bhttps?:\/\/(?:www\.)?([^\s,]*?)\/?(?=[\s,]|$)/gi, '$1');
}

function joined<Part>(parts: Iterable<Part>, toText: (part: Part) => string): string {
  let all = '';
  for (const part of parts) {
    const text = toText(part);
    if (text !== '') all += all === '' ? text : `, ${text}`;
    if (all.length > longestCell) break;
  }
  return all;
}
