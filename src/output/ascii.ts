import type { Context, OutputStream } from '../context.ts';

/** ASCII replacements of the same width for leadpipe's own signs; `~` ends a text that is cut. */
const signs: Readonly<Record<string, string>> = {
  '·': '-',
  '–': '-',
  '─': '-',
  '█': '#',
  '→': '>',
  '…': '~',
};

/**
 * Pure: replaces leadpipe's own signs by ASCII on a terminal whose locale is not UTF-8. Other characters stay, since its character set is not
 * known.
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
