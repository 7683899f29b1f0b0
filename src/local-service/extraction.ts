import { BlockList, isIP } from 'node:net';
import { limits, web2listLimit } from '../contract/limits.ts';
import { type EntityType, type ExtractionType, extractionTypes } from '../contract/types.ts';
import { digestOf } from '../digest.ts';
import { objectOf } from '../json/text.ts';
import { billed } from './admission.ts';
import { bareAddress, type Catalogue, plainText } from './catalogue.ts';
import { integer, invalid, nullable, oneOf, readFields, text } from './fields.ts';
import type { Lead } from './lead.ts';
import { firstOf, typeIn } from './lead-finder.ts';

const extractFields = {
  type: oneOf(extractionTypes),
  target: text(limits.extractTarget),
  instruction: nullable(text(limits.extractInstruction), null),
  limit: integer(limits.extractLimit),
};

/** POST /v1/extract */
export const extract = billed(({ catalogue, switches }, { fields }) => {
  const given = readFields(fields, extractFields);
  const { type, target, instruction } = given;
  const isPage = type === 'web2list';
  if (isPage && !instruction?.trim()) throw invalid('instruction is required for web2list');
  if (isPage && !isPublicUrl(target)) throw invalid('target must be a public HTTP or HTTPS URL for web2list');
  const limit = isPage ? web2listLimit : given.limit;
  const metadata = { type, target, instruction, limit };
  const work = async () => {
    const items = isPage
      ? await itemsOfPage(catalogue, target, instruction ?? '', limit)
      : await membersOf(catalogue, type, target, limit);
    const success = typeof items !== 'string';
    const data = success ? `[${items.join(',')}]` : JSON.stringify(items);
    const text = `{"success":${success},"data":${data},"metadata":${JSON.stringify(metadata)}}`;
    return { text, units: success ? items.length : 0 };
  };
  const keepAnswer = switches.extract_replay === 'on';
  return { price: switches.price_extract, units: limit, work, keepAnswer };
});

function isPublicUrl(target: string): boolean {
  const { protocol, hostname, username, password } = URL.canParse(target) ? new URL(target) : new URL('x:');
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return false;
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) === 4) return !notPublic.check(host);
  // In IPv6, only addresses that begin with 2 or 3 are public.
  if (isIP(host) === 6) return /^[23]/.test(host) && !notPublic.check(host, 'ipv6');
  return (
    host.includes('.') && !/\.(local|localhost|internal|lan|home|arpa|test|invalid|corp|intranet)$/.test(host)
  );
}

/** Private networks, and those reserved for documentation, benchmarks and protocols. */
const networks = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 2001:db8::/32 3fff::/20',
];
const notPublic = new BlockList();
for (const [address = '', bits] of networks.flatMap((line) => line.split(' ')).map((one) => one.split('/')))
  notPublic.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * For each platform: its site, the type of leads that lend its members their names, and the number of digits of its IDs. More than 15 digits make
 * rounding visible.
 */
const platforms: Readonly<Record<string, readonly [site: string, members: EntityType, idDigits: number]>> = {
  x: ['https://x.example', 'twitter_creator', 19],
  ins: ['https://instagram.example', 'instagram_creator', 17],
  tiktok: ['https://tiktok.example', 'tiktok_creator', 19],
  github: ['https://github.example', 'person', 9],
};

/**
 * Invented members of a list on a platform, always the same for the same target, as JSON texts, since some IDs exceed JavaScript's numbers; or the
 * reason why there are none.
 */
async function membersOf(catalogue: Catalogue, type: ExtractionType, target: string, limit: number) {
  if (!catalogue.fictional)
    return 'your own leads have no followers: only the fictional leads can be extracted';
  const [platform = ''] = type.split('_');
  const [site, members, idDigits] = platforms[platform] ?? ['', 'person', 0];
  // The last part of a handle or address: `@ada`, `https://x.com/ada` and `ada` mean the same account.
  const parts = bareAddress(target.trim()).split('/').filter(Boolean);
  const account = parts.slice(type.startsWith('github_repo') ? -2 : -1).map((part) => part.replace(/^@/, ''));
  // The account "nobody" exists on no platform, so that a failure can be tried out.
  if (account.at(-1) === 'nobody') return `${target} does not exist`;
  const leads = await catalogue.all(members);
  const seed = Number(digitsOf(`${type}:${account.join('/')}`, 9));
  return Array.from({ length: Math.min(limit, leads.length, 40 + (seed % 400)) }, (_, index) => {
    const { id, identity, name, facts } = leads[(seed + index) % leads.length] as Lead;
    const handle =
      plainText(name)
        .replace(/[^a-z0-9]/g, '')
        .slice(0, 30) || `user${id}`;
    const followers = facts.find(([fact]) => fact === 'followers' || fact === 'subscribers');
    return objectOf([
      ['id', digitsOf(identity, idDigits)],
      [platform === 'github' ? 'login' : 'username', JSON.stringify(handle)],
      ['name', JSON.stringify(name)],
      ['url', JSON.stringify(`${site}/${handle}`)],
      ...(type === 'github_repo_contributors' ? [['contributions', String(1 + (id % 900))] as const] : []),
      ...(followers === undefined ? [] : [['followers_count', followers[1]] as const]),
    ]);
  });
}

/** A number with this many digits, from a hash; 19 digits fit into 64 bits. */
function digitsOf(text: string, digits: number): string {
  const number = BigInt(`0x${digestOf(text, 30)}`).toString();
  return `1${number.padStart(digits, '7').slice(1 - digits)}`;
}

/** Words of an instruction about the form of a list, not about its content. */
const making =
  /\b(?:return|extract|list|get|each|every|all|their|its|as|columns?|fields?|items?|rows?|entries|page|site|shown|listed|names?|titles?|websites?|links?|urls?|descriptions?|city|cities|country|countries|headcounts?|number of employees|industry|industries|topics?|subscribers|followers)\b/gi;

/**
 * No page is loaded. The items are leads that match the instruction, preferably with the page's site in their links or facts, and have the fields
 * that the instruction names.
 */
async function itemsOfPage(catalogue: Catalogue, target: string, instruction: string, limit: number) {
  const type = typeIn(instruction);
  const ofSite = await catalogue.mentioning(new URL(target).hostname.replace(/^www\./, ''), limit);
  const { matches } = await catalogue.search(type, instruction.replace(making, ' '));
  const fitting = firstOf(matches, ofSite.length === 0 ? limit : 5000).map(({ lead }) => lead);
  const ids = new Set(fitting.map(({ id }) => id));
  const chosen = ofSite.filter(({ id, entityType }) =>
    // If no lead matches the instruction, all leads of the site and type stay.
    ids.size > 0 ? ids.has(id) : type === undefined || entityType === null || entityType === type,
  );
  const items = (ofSite.length === 0 ? fitting : chosen).map(
    ({ name, facts, links, description }) =>
      [['name', name], ...facts, ...links, ['description', description]] as const,
  );
  const singular = (words: string) => plainText(words.replaceAll('_', ' ')).replace(/s(?= )/g, '');
  const plain = singular(instruction);
  const isNamed = ([member]: readonly [string, string]) => plain.includes(singular(member));
  const areNamed = items.some((item) => item.some(isNamed));
  const isShown = (member: readonly [string, string], at: number) =>
    areNamed ? at === 0 || isNamed(member) : member[1] !== '';
  if (items.length === 0) return `nothing on ${target} matches the instruction`;
  return items.map((item) =>
    objectOf(new Map(item.filter(isShown).map(([member, text]) => [member, JSON.stringify(text)]))),
  );
}
