import { hash } from 'node:crypto';
import { isObject } from '../../json/object.ts';
import { type JsonText, objectMembers, stringOf } from '../../json/text.ts';

/** What a lead is known by: its name, digests of the name alone, and of the name with each of its links. */
export type Identity = readonly [name: string, nameDigest: string, ...linkDigests: string[]];

/** Longer ones are digested all the same, and never sent as an exclusion. */
const longestName = 300;
/** More than any entity type has; a lead with a million is still a line. */
const mostLinks = 20;

/**
 * Pure: by what a lead is known again. Its score, its description and the order of its links are others each time; the name
 * and the links stay. Undefined for a record without both.
 */
export function identityOf(lead: JsonText): Identity | undefined {
  // Only what counts is read: a description is most of a lead.
  const members = objectMembers(lead);
  const links = members.get('links') ?? 'null';
  return identityOfMembers({ name: stringOf(members.get('name')), links: JSON.parse(links) });
}

export interface Named {
  readonly name?: unknown;
  readonly links?: unknown;
}

export function identityOfMembers({ name: named, links: linked }: Named): Identity | undefined {
  const name = typeof named === 'string' ? named.trim() : '';
  const values = isObject(linked) ? Object.values(linked) : [];
  const links = new Set(values.map((link) => (typeof link === 'string' ? bareLink(link) : '')));
  links.delete('');
  if (name === '' && links.size === 0) return undefined;
  const key = nameKey(name);
  const digests = [...links]
    .sort()
    .slice(0, mostLinks)
    .map((link) => digestOf(`${key}\n${link}`));
  return [name.length > longestName ? '' : name, digestOf(key), ...digests];
}

export type Known = ReturnType<typeof createKnown>;

export function createKnown(identities: Iterable<Identity>) {
  const names = new Set<string>();
  const withoutLinks = new Set<string>();
  const links = new Set<string>();
  for (const [, name, ...some] of identities) {
    names.add(name);
    if (some.length === 0) withoutLinks.add(name);
    for (const link of some) links.add(link);
  }
  return {
    /**
     * Whether a lead is one of them: one of the same name that has a link in common, or, where one of the two has no links, just
     * the same name. Two of one name with other links are two. What is known by nothing is none of them.
     */
    has(identity: Identity | undefined): boolean {
      if (identity === undefined) return false;
      const [, name, ...some] = identity;
      if (some.length === 0) return names.has(name);
      return withoutLinks.has(name) || some.some((link) => links.has(link));
    },
  };
}

/** Pure: names that differ in nothing else are one. */
export function nameKey(name: string): string {
  const trimmed = name.trim();
  return (isAscii.test(trimmed) ? trimmed : trimmed.normalize('NFC')).toLowerCase();
}

const isAscii = /^[\x20-\x7e]*$/;

/** Pure: a link without what differs from day to day. */
function bareLink(link: string): string {
  const whole = link.trim().toLowerCase();
  const scheme = ['https://', 'http://'].find((one) => whole.startsWith(one)) ?? '';
  const start = whole.startsWith('www.', scheme.length) ? scheme.length + 'www.'.length : scheme.length;
  let end = whole.length;
  while (end > start && '/#?'.includes(whole.charAt(end - 1))) end--;
  return whole.slice(start, end);
}

/** 72 bits: two of a million differ, and a line stays short. */
function digestOf(text: string): string {
  return hash('sha256', text, 'base64').slice(0, 12);
}
