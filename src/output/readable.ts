import { arrayItems, type JsonText, kindOf, objectMembers, stringOf } from '../json/text.ts';
import { toTerminalLines, toTerminalText } from './clean.ts';

/** Far more than a cell shows, and far less than a web page: nothing longer is cleaned or measured for a table. */
const longestCell = 4_000;
const deepest = 3;

/** A JSON value as one line for people: no quotes and braces, no escapes, and safe on a terminal. */
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
      return joined(arrayItems(value), (item) => readable(item, depth + 1));
    case 'object':
      if (depth === deepest) return '…';
      return joined(objectMembers(value), ([key, member]) => {
        const text = readable(member, depth + 1);
        return text === '' ? '' : `${toTerminalText(key)}: ${text}`;
      });
    default:
      return value.trim();
  }
}

/** The same with room: a string keeps its lines, an array has an item and an object a member on each. */
export function readableLines(value: JsonText | undefined): string[] {
  if (value === undefined) return [];
  switch (kindOf(value)) {
    case 'string':
      return toTerminalLines((stringOf(value) ?? '').trim());
    case 'array':
      return arrayItems(value).map((item) => readable(item, 1));
    case 'object':
      return [...objectMembers(value)].map(
        ([key, member]) => `${toTerminalText(key)}: ${readable(member, 1)}`,
      );
    default:
      return [readable(value)].filter((line) => line !== '');
  }
}

/** Addresses as people write them. */
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
