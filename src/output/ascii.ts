import type { Context, OutputStream } from '../context.ts';

/** The signs of leadpipe's own that are not ASCII, with the same width; a text that is cut ends with `~`. */
const signs: Readonly<Record<string, string>> = {
  '·': '-',
  '–': '-',
  '─': '-',
  '█': '#',
  '→': '>',
  '…': '~',
};

/**
 * Pure: the text with its signs as a terminal can show them whose locale is not UTF-8; it is the same everywhere else. Texts of others stay
 * as they are: which letters such a terminal has is not known.
 */
export function toSigns(
  { env }: Pick<Context, 'env'>,
  { isTerminal }: Pick<OutputStream, 'isTerminal'>,
): (text: string) => string {
  if (!isTerminal || hasUtf8(env)) return (text) => text;
  return (text) => text.replace(/[·–─█→…]/g, (sign) => signs[sign] ?? sign).replaceAll('≤', '<=');
}

/** Pure: whether the locale is UTF-8, or says nothing. */
export function hasUtf8({ LC_ALL, LC_CTYPE, LANG }: Context['env']): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return !locale || /utf-?8/i.test(locale);
}
