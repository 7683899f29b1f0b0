import { dayMs } from '../clock.ts';

/* Applies the number formats of a workbook (ECMA-376, part 1, 18.8.30 and 18.8.31). The result is text that any program can read. */

/** The text of a number in this format. */
export type CellFormatter = (value: number, written: string) => string;

/** Built-in formats by ID, without the plain decimals. IDs from 27 on depend on the country. */
const builtIn: Readonly<Record<number, string>> = {
  9: '0%',
  10: '0.00%',
  14: 'm/d/yyyy',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'm/d/yyyy h:mm',
  ...Object.fromEntries([27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'yyyy/m/d'])),
  ...Object.fromEntries([32, 33, 34, 35, 55, 56].map((id) => [id, 'h:mm:ss'])),
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mm:ss.0',
  67: '0%',
  68: '0.00%',
  ...Object.fromEntries([71, 72, 73, 74, 81].map((id) => [id, 'd/m/yyyy'])),
  75: 'h:mm',
  76: 'h:mm:ss',
  77: 'd/m/yyyy h:mm',
  78: 'mm:ss',
  79: '[h]:mm:ss',
  80: 'mm:ss.0',
};

/** Pure: `code` is the workbook's own format for this ID, if it has one. */
export function toCellFormatter(id: number, code: string | undefined, is1904: boolean): CellFormatter {
  const sections = sectionsOf(code ?? builtIn[id] ?? 'General').map(toSection);
  const [first] = sections;
  if (first?.time !== undefined) return (value, written) => timeText(value, first, is1904) ?? written;
  return (value, written) => {
    const section = sectionFor(value, sections);
    return (section?.text ?? numberText)(value, written);
  };
}

type Token = {
  readonly is: 'digit' | 'text' | 'letter' | 'point' | 'percent' | 'elapsed' | 'other';
  readonly text: string;
};

interface Section {
  /** From square brackets at its start, such as [<=9999999]. */
  readonly condition: ((value: number) => boolean) | undefined;
  /** Formats a number. */
  readonly text: CellFormatter;
  /** Which parts of a date and a time it shows; undefined for a number. */
  readonly time:
    | { readonly date: string; readonly hasTime: boolean; readonly isElapsed: boolean }
    | undefined;
  /** Digits after the decimal point of the seconds. */
  readonly fraction: number;
}

const part = /"[^"]*"|\\.|[_*].|\[[^\]]*\]|AM\/PM|A\/P|General|E[+-]|([ymdhsebga])\1*|[\s\S]/giu;

/** Pure: the parts of a format for positive numbers, negative ones, zero and texts. */
function sectionsOf(code: string): string[][] {
  const sections: string[][] = [[]];
  for (const [text] of code.matchAll(part)) {
    if (text === ';') sections.push([]);
    else sections.at(-1)?.push(text);
  }
  return sections;
}

function toSection(parts: readonly string[]): Section {
  let condition: Section['condition'];
  const tokens = parts.flatMap((text): Token[] => {
    if (/^\[[<>=]/.test(text)) condition = toCondition(text) ?? condition;
    if (/^\[(?:h+|m+|s+)\]$/i.test(text)) return [{ is: 'elapsed', text: text.slice(1, -1).toLowerCase() }];
    // A colour, a locale, or a space as wide as a character: not shown.
    if (/^(?:\[|[_*].)/su.test(text)) return [];
    if (/^"/.test(text)) return text.length < 2 ? [] : [{ is: 'text', text: text.slice(1, -1) }];
    if (/^\\/.test(text)) return [{ is: 'text', text: text.slice(1) }];
    if (/^[0#?]$/.test(text)) return [{ is: 'digit', text }];
    if (text === '.') return [{ is: 'point', text }];
    if (text === '%') return [{ is: 'percent', text }];
    if (/^(?:general|am\/pm|a\/p|e[+-]|[,@])$/i.test(text)) return [{ is: 'other', text }];
    if (/^[ymdhsebga]/i.test(text)) return [{ is: 'letter', text: text.toLowerCase() }];
    return [{ is: 'text', text }];
  });
  return { condition, text: toNumberShows(tokens), ...timeIn(tokens) };
}

function toCondition(text: string): Section['condition'] {
  const [, sign, number] = /^\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]$/.exec(text) ?? [];
  const limit = Number(number);
  switch (sign) {
    case '<=':
      return (value) => value <= limit;
    case '>=':
      return (value) => value >= limit;
    case '<>':
      return (value) => value !== limit;
    case '<':
      return (value) => value < limit;
    case '>':
      return (value) => value > limit;
    case '=':
      return (value) => value === limit;
    default:
      return undefined;
  }
}

function timeIn(tokens: readonly Token[]): Pick<Section, 'time' | 'fraction'> {
  const letters = tokens.flatMap(({ is, text }) => (is === 'letter' ? [text[0] ?? ''] : []));
  const isElapsed = tokens.some(({ is }) => is === 'elapsed');
  const hasTime = isElapsed || letters.some((letter) => /[hs]/.test(letter));
  const has = (some: RegExp): boolean => letters.some((letter) => some.test(letter));
  // m means minutes next to hours or seconds, unless there is also a day or a year.
  const hasMonth = has(/m/) && (!hasTime || has(/[ydbe]/));
  const date = `${has(/[ybe]/) ? 'y' : ''}${hasMonth ? 'm' : ''}${has(/[da]/) ? 'd' : ''}`;
  const point = tokens.findIndex(({ is }) => is === 'point');
  const fraction =
    hasTime && point !== -1 ? tokens.slice(point).filter(({ is }) => is === 'digit').length : 0;
  if (date === '' && !hasTime) return { time: undefined, fraction: 0 };
  return { time: { date, hasTime, isElapsed }, fraction: Math.min(3, fraction) };
}

/** The last day that a workbook knows: 9999-12-31. */
const lastDay = 2_958_465;

/** A date, a time, or both; undefined for a number that is neither. */
function timeText(value: number, { time, fraction }: Section, is1904: boolean): string | undefined {
  if (time === undefined || !Number.isFinite(value) || Math.abs(value) > lastDay) return undefined;
  // Times are fractions of a day, which floating point can't hold exactly.
  const units = 86_400 * 10 ** fraction;
  const rounded = Math.round(Math.abs(value) * units);
  if (time.isElapsed) {
    return `${value < 0 && rounded > 0 ? '-' : ''}${clockText(rounded, fraction)}`;
  }
  if (value < 0) return undefined;
  const day = Math.floor(rounded / units);
  const clock = time.hasTime ? clockText(rounded % units, fraction) : '';
  // Day 0 means that there is only a time.
  if (time.date === '' || (day === 0 && clock !== '' && !is1904)) return clock;
  const date = dateText(day, time.date, is1904);
  return date && (clock === '' ? date : `${date}T${clock}`);
}

function clockText(units: number, fraction: number): string {
  const scale = 10 ** fraction;
  const seconds = Math.floor(units / scale);
  const two = (number: number): string => String(number).padStart(2, '0');
  const rest = fraction === 0 ? '' : `.${String(units % scale).padStart(fraction, '0')}`;
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${rest}`;
}

/** Day 1 is 1900-01-01, and there is a 1900-02-29 that never was; in the system of old Macs, day 0 is 1904-01-01. */
function dateText(day: number, parts: string, is1904: boolean): string | undefined {
  if (!is1904 && day === 0) return undefined;
  const since1970 = is1904 ? day - 24_107 : day - (day < 60 ? 25_568 : 25_569);
  const date = !is1904 && day === 60 ? '1900-02-29' : new Date(since1970 * dayMs).toISOString().slice(0, 10);
  if (parts === 'y') return date.slice(0, 4);
  return parts === 'ym' ? date.slice(0, 7) : date;
}

function sectionFor(value: number, sections: readonly Section[]): Section | undefined {
  const conditional = sections.find(({ condition }) => condition?.(value));
  if (conditional !== undefined) return conditional;
  const [positive, negative, zero] = sections.filter(({ condition }) => condition === undefined);
  if (sections.some(({ condition }) => condition !== undefined)) return positive;
  if (value < 0) return negative ?? positive;
  return value === 0 ? (zero ?? positive) : positive;
}

function toNumberShows(tokens: readonly Token[]): CellFormatter {
  if (tokens.some(({ is }) => is === 'percent')) return (value) => `${numberText(value * 100, '')}%`;
  // A quoted percent sign is only text: the number is not multiplied.
  if (tokens.some(({ is, text }) => is === 'text' && text.trim() === '%')) {
    return (value, written) => `${numberText(value, written)}%`;
  }
  const end = tokens.findIndex(({ is }) => is === 'point');
  const whole = end === -1 ? tokens : tokens.slice(0, end);
  const zeros = whole.filter(({ is, text }) => is === 'digit' && text === '0').length;
  if (end === -1 && isPattern(whole, zeros)) {
    return (value) => filled(Math.round(Math.abs(value)), value < 0, whole);
  }
  if (zeros < 2) return numberText;
  return (value, written) => {
    const [, sign = '', digits = '', rest = ''] = /^(-?)(\d+)(.*)$/s.exec(numberText(value, written)) ?? [];
    return `${sign}${digits.padStart(zeros, '0')}${rest}`;
  };
}

/** Whether the format is for an ID or a phone number: 00000, 000-00-0000, +0, (###) ###-####. A space between digits only groups them. */
function isPattern(tokens: readonly Token[], zeros: number): boolean {
  if (tokens.some(({ is, text }) => (is !== 'digit' && is !== 'text') || text === '/')) return false;
  const digits = tokens.flatMap(({ is }, at) => (is === 'digit' ? [at] : []));
  if (digits.length === 0) return false;
  const between = tokens.slice(digits[0], digits.at(-1)).filter(({ is }) => is === 'text');
  const isPhone = tokens.slice(0, digits[0]).some(({ text }) => text.includes('+'));
  return zeros > 1 || isPhone || between.some(({ text }) => /[-()]/.test(text));
}

/** Digits that do not fit into the other places go into the first one. */
function filled(value: number, isNegative: boolean, tokens: readonly Token[]): string {
  const places = tokens.filter(({ is }) => is === 'digit');
  const digits = numberText(value, '').padStart(places.length, ' ');
  let at = digits.length - places.length;
  const text = tokens.map(({ is, text }) => {
    if (is !== 'digit') return text;
    const from = at === digits.length - places.length ? 0 : at;
    at += 1;
    return digits.slice(from, at).replaceAll(' ', text === '0' ? '0' : '');
  });
  const shown = text.join('').trim();
  // A format for negative numbers has a sign of its own.
  return isNegative && !/^[-(]/.test(shown) ? `-${shown}` : shown;
}

/** A number without grouping and exponent, with the 15 digits that Excel keeps. `written` is the text in the file. */
function numberText(value: number, written: string): string {
  if (/^-?\d+$/.test(written)) return written;
  const [, sign, first = '', rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?E\+?(\d+)$/i.exec(written) ?? [];
  // A whole number that is written with an exponent.
  if (Number(exponent) <= 30 && Number(exponent) >= rest.length) {
    return `${sign}${first}${rest.padEnd(Number(exponent), '0')}`;
  }
  return Number.isFinite(value) ? String(Number(value.toPrecision(15))) : written;
}
