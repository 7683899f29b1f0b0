import { dayMs } from '../clock.ts';

/* What a number format of a workbook shows (ECMA-376, part 1, 18.8.30 and 18.8.31), as text that any program can read. */

/** The text of a number in this format. */
export type Shows = (value: number, written: string) => string;

/** The built-in formats that are more than a number with decimals, by their ID. Those from 27 on depend on the country. */
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

/** Pure: `code` is that of the workbook, if it has one for this ID. */
export function toShows(id: number, code: string | undefined, is1904: boolean): Shows {
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
  /** In square brackets before it, such as [<=9999999]. */
  readonly condition: ((value: number) => boolean) | undefined;
  /** A number in it. */
  readonly text: Shows;
  /** Which parts of a date and a time it shows; undefined for a number. */
  readonly time:
    | { readonly date: string; readonly hasTime: boolean; readonly isElapsed: boolean }
    | undefined;
  /** Digits that it shows of a second. */
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
    // A colour, a country, the room for a character.
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
  // An m is a minute beside hours and seconds, unless a day or a year shows that it is a month.
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
  // Times are fractions of a day, which no number has exactly.
  const units = 86_400 * 10 ** fraction;
  const rounded = Math.round(Math.abs(value) * units);
  if (time.isElapsed) {
    return `${value < 0 && rounded > 0 ? '-' : ''}${clockText(rounded, fraction)}`;
  }
  if (value < 0) return undefined;
  const day = Math.floor(rounded / units);
  const clock = time.hasTime ? clockText(rounded % units, fraction) : '';
  // Day 0 is none: what stands there is a time alone.
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

/** Counted from 1900-01-01 as 1 with a day that never was, 1900-02-29; or, as on an old Mac, from 1904-01-01 as 0. */
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

function toNumberShows(tokens: readonly Token[]): Shows {
  if (tokens.some(({ is }) => is === 'percent')) return (value) => `${numberText(value * 100, '')}%`;
  // In quotes it is a text behind the number.
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

/** Whether it is the form of a number that is a name: 00000, 000-00-0000, +0, (###) ###-####. A space between digits groups them. */
function isPattern(tokens: readonly Token[], zeros: number): boolean {
  if (tokens.some(({ is, text }) => (is !== 'digit' && is !== 'text') || text === '/')) return false;
  const digits = tokens.flatMap(({ is }, at) => (is === 'digit' ? [at] : []));
  if (digits.length === 0) return false;
  const between = tokens.slice(digits[0], digits.at(-1)).filter(({ is }) => is === 'text');
  const isPhone = tokens.slice(0, digits[0]).some(({ text }) => text.includes('+'));
  return zeros > 1 || isPhone || between.some(({ text }) => /[-()]/.test(text));
}

/** The first place takes the digits that the others have no room for. */
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

/** A number without grouping and exponent, as far as Excel keeps it: 15 digits. `written` is what the file has. */
function numberText(value: number, written: string): string {
  if (/^-?\d+$/.test(written)) return written;
  const [, sign, first = '', rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?E\+?(\d+)$/i.exec(written) ?? [];
  // A whole number that is written with an exponent.
  if (Number(exponent) <= 30 && Number(exponent) >= rest.length) {
    return `${sign}${first}${rest.padEnd(Number(exponent), '0')}`;
  }
  return Number.isFinite(value) ? String(Number(value.toPrecision(15))) : written;
}
