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
/** The places of `styles` in workbook-parts.ts. */
const styleOf = { text: 1, integer: 2, header: 3, link: 4 } as const;

// What XML can't hold, and what makes a text look like another one.
const dropped =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;
const address = /^https?:\/\/[^\s<>"]+$/i;

/** Text as text, also where it looks like a number or a formula; numbers as numbers where Excel keeps them as they are. */
export function toCell(value: JsonText): Cell {
  switch (kindOf(value)) {
    case 'null':
      return { kind: 'empty', text: '' };
    case 'boolean':
      return { kind: 'truth', text: value.trim() };
    case 'number':
      return numberCell(value.trim());
    case 'string':
      return textCell(stringOf(value) ?? '');
    default:
      return textCell(toLine(value));
  }
}

export function header(value: JsonText): Cell {
  return { ...textCell(stringOf(value) ?? ''), kind: 'header' };
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
  if (!address.test(text)) return {};
  try {
    const { href } = new URL(text);
    return href.length > longestLink ? {} : { link: href };
  } catch {
    return {};
  }
}

/** A number that a double can't hold as it was written stays text: it is an ID, or would be rounded. */
function numberCell(written: string): Cell {
  const value = Number(written);
  if (/^-?\d+$/.test(written)) {
    const isExact = Number.isSafeInteger(value) && String(value) === written;
    return { kind: isExact ? 'integer' : 'text', text: written };
  }
  const digits = written.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');
  const isExact = digits.length <= 15 && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return { kind: isExact ? 'number' : 'text', text: written };
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
