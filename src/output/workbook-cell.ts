import { type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';
import { wellFormed } from './clean.ts';

/** A cell, as it will stand in a sheet. */
export interface Cell {
  readonly kind: 'empty' | 'text' | 'integer' | 'number' | 'truth' | 'header';
  readonly text: string;
  /** Where it leads, when all of it is an address. */
  readonly link?: string;
  /** Whether it had more characters than a cell takes. */
  readonly isCut?: true;
}

/** UTF-16 units, as Excel counts them. */
const longestText = 32_767;
const longestLink = 2_079;
const mostDigits = 15;
/** The places of `styles` in workbook-parts.ts. */
const styleOf = { text: 1, integer: 2, header: 3, link: 4 } as const;

// What XML can't hold, and what makes a text look like another one.
const dropped =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;
const address = /^https?:\/\/[^\s<>"]+$/i;

/** What is known of the column of a cell. */
export interface Holds {
  /** Whether all its texts are numbers, and all its numbers are what Excel keeps as they are. */
  readonly isPlain: boolean;
  readonly isExact: boolean;
}

/**
 * Text as text, also where it looks like a number or a formula, unless the whole column is plain numbers; numbers as numbers
 * where Excel keeps all of the column as they are: others are IDs, or would be rounded.
 */
export function toCell(value: JsonText, { isPlain, isExact }: Holds): Cell {
  switch (kindOf(value)) {
    case 'null':
      return { kind: 'empty', text: '' };
    case 'boolean':
      return { kind: 'truth', text: value.trim() };
    case 'number':
      return isExact ? numberCell(value.trim()) : { kind: 'text', text: value.trim() };
    case 'string': {
      const text = stringOf(value) ?? '';
      return isPlain && isExact && isPlainNumber(text) ? numberCell(text) : textCell(text);
    }
    default:
      return textCell(toLine(value));
  }
}

/** Pure: a text that is a number and nothing else: no leading zero, no plus. */
export function isPlainNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) && fitsNumber(text);
}

/** Pure: whether Excel keeps a number as it was written, which it does with 15 digits. */
export function fitsNumber(written: string): boolean {
  const digits = written.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
  return digits.length <= mostDigits && Math.abs(Number(written)) < 10 ** mostDigits;
}

function numberCell(text: string): Cell {
  return { kind: /^-?\d+$/.test(text) ? 'integer' : 'number', text };
}

export function header(text: string): Cell {
  return { ...textCell(text), kind: 'header' };
}

function textCell(given: string): Cell {
  const clean = wellFormed(given).replace(dropped, '').replace(/\r\n?/g, '\n');
  if (clean === '') return { kind: 'empty', text: '' };
  if (clean.length > longestText) return { kind: 'text', text: cutOf(clean), isCut: true };
  return { kind: 'text', text: clean, ...linkOf(clean) };
}

function cutOf(text: string): string {
  const end = longestText - 1;
  // Not in the middle of a character.
  return `${text.slice(0, (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end)}…`;
}

function linkOf(text: string): Pick<Cell, 'link'> {
  if (!address.test(text) || !URL.canParse(text)) return {};
  const { href } = new URL(text);
  return href.length > longestLink ? {} : { link: href };
}

export function xmlOf(at: string, { kind, text }: Cell, isLink: boolean): string {
  switch (kind) {
    case 'empty':
      return '';
    case 'truth':
      return `<c r="${at}" t="b"><v>${text === 'true' ? 1 : 0}</v></c>`;
    case 'number':
      return `<c r="${at}"><v>${text}</v></c>`;
    case 'integer':
      return `<c r="${at}" s="${styleOf.integer}"><v>${text}</v></c>`;
    default: {
      const style = isLink ? styleOf.link : styleOf[kind];
      return `<c r="${at}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`;
    }
  }
}

/** Also `_x0041_`, which Excel would read as an A. */
export function escapeXml(text: string): string {
  return text
    .replace(/_(?=x[\da-f]{4}_)/gi, '_x005F_')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** A, B, … Z, AA, … */
export function columnName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}
