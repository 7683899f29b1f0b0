import { linksIn } from '../../columns/record-parts.ts';
import { digestOf } from '../../digest.ts';
import { type JsonText, JsonView, stringOf } from '../../json/text.ts';

/**
 * The identity of a lead: a digest of its name alone, and digests of the name with each of its links. The name and the first link are there
 * to be shown.
 */
export type Identity = readonly [name: string, link: string, nameDigest: string, ...linkDigests: string[]];

/** 72 bits: enough to tell millions apart, and short enough for a line. */
const toDigest = (text: string): string => digestOf(text, 18);
/** Longer names are compared by their digest, and never sent as an exclusion. */
const longestName = 300;
/** A longer link is not stored: a list may have half a million. */
const longestLink = 200;
/** More links than any entity type has. It limits the length of a line. */
const maxLinks = 20;

/**
 * Pure: what identifies a lead. Its score, description and order of links change from search to search; its name and links stay. Undefined
 * for a record that has neither.
 */
export function identityOf(lead: JsonText): Identity | undefined {
  const record = new JsonView(lead);
  const name = (stringOf(record.member('name')) ?? '').trim();
  const texts = linksIn(record.member('links')).map((link) => stringOf(link) ?? link);
  const links = new Set(texts.map(bareLink));
  links.delete('');
  if (name === '' && links.size === 0) return undefined;
  const key = nameKey(name);
  const linked = [...links]
    .sort()
    .slice(0, maxLinks)
    .map((link) => `${key}\n${link}`);
  const shown = [upTo(longestName, name), upTo(longestLink, texts[0] ?? '')] as const;
  return [...shown, toDigest(key), ...linked.map(toDigest)];
}

function upTo(longest: number, text: string): string {
  return text.length > longest ? '' : text;
}

export type Known = ReturnType<typeof createKnown>;

export function createKnown(identities: Iterable<Identity>) {
  const names = new Set<string>();
  const withoutLinks = new Set<string>();
  const links = new Set<string>();
  for (const [, , name, ...some] of identities) {
    names.add(name);
    if (some.length === 0) withoutLinks.add(name);
    for (const link of some) links.add(link);
  }
  return {
    isEmpty: names.size === 0,
    /**
     * Whether a lead is unknown. Two leads are the same if they have the same name and a common link, or the same name and one of them has no
     * links. A lead without an identity is always unknown.
     */
    isUnknown(identity: Identity | undefined): boolean {
      if (identity === undefined) return true;
      const [, , name, ...some] = identity;
      if (some.length === 0) return !names.has(name);
      return !withoutLinks.has(name) && !some.some((link) => links.has(link));
    },
  };
}

/** Pure: a key that is equal for names that differ only in case, outer spaces, or Unicode normalization. */
export function nameKey(name: string): string {
  const trimmed = name.trim();
  return (isAscii.test(trimmed) ? trimmed : trimmed.normalize('NFC')).toLowerCase();
}

const isAscii = /^[\x20-\x7e]*$/;

/** Pure: a link in lower case, without its scheme, `www.`, and `/`, `#` or `?` at the end. */
function bareLink(link = ''): string {
  const whole = link.trim().toLowerCase();
  const scheme = ['https://', 'http://'].find((one) => whole.startsWith(one)) ?? '';
  const start = whole.startsWith('www.', scheme.length) ? scheme.length + 'www.'.length : scheme.length;
  let end = whole.length;
  while (end > start && '/#?'.includes(whole.charAt(end - 1))) end--;
  return whole.slice(start, end);
}
