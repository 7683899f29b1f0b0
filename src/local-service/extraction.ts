import { createHash } from 'node:crypto';
import type { EntityType, ExtractionType } from '../contract/types.ts';
import { objectOf } from '../json/text.ts';
import { type Catalogue, firstOf } from './catalogue.ts';
import { bareAddress } from './catalogue-index.ts';
import type { Lead } from './lead.ts';

/** Extracted items as JSON texts (some of their numbers are larger than JavaScript's), or why there are none. */
export type Extraction = readonly string[] | { readonly failure: string };

/** The account of this name does not exist on any platform, so that a failure can be tried out. */
const nobody = 'nobody';

interface Platform {
  readonly site: string;
  /** Whose names the members have. */
  readonly members: EntityType;
  /** Ids of the size each platform gives out; those above 2^53 show who rounds. */
  readonly idDigits: number;
}

const platforms: Readonly<Record<string, Platform>> = {
  x: { site: 'https://x.example', members: 'twitter_creator', idDigits: 19 },
  ins: { site: 'https://instagram.example', members: 'instagram_creator', idDigits: 17 },
  tiktok: { site: 'https://tiktok.example', members: 'tiktok_creator', idDigits: 19 },
  github: { site: 'https://github.example', members: 'person', idDigits: 9 },
};

/** The last part of a handle or address: `@ada`, `https://x.com/ada` and `ada` are the same account. */
function accountOf(target: string, isRepository: boolean): string {
  const parts = bareAddress(target.trim().replace(/^@/, '')).split('/').filter(Boolean);
  return parts
    .slice(isRepository ? -2 : -1)
    .join('/')
    .replace(/^@/, '');
}

/** Members of a list on a platform: invented, and the same each time for the same target. */
export function extractMembers(
  catalogue: Catalogue,
  type: ExtractionType,
  target: string,
  limit: number,
): Extraction {
  const platform = platforms[type.split('_')[0] as string] as Platform;
  const account = accountOf(target, type.startsWith('github_repo'));
  if (account.split('/').at(-1) === nobody) return { failure: `${target} does not exist` };
  const leads = catalogue.all(platform.members);
  const seed = hashOf(`${type}:${account}`);
  const size = Math.min(limit, leads.length, 40 + (seed % 400));
  // A stride that shares no factor with the length visits every lead once.
  const stride = strideFor(leads.length, seed);
  return Array.from({ length: size }, (_, index) =>
    toMember(type, platform, leads[(seed + index * stride) % leads.length] as Lead),
  );
}

function toMember(type: ExtractionType, { site, idDigits }: Platform, lead: Lead): string {
  const handle = handleOf(lead);
  const [link = ''] = lead.links.values();
  const members: [string, string][] = [
    ['id', idOf(`${lead.name.toLowerCase()}\n${link}`, idDigits)],
    [type.startsWith('github') ? 'login' : 'username', JSON.stringify(handle)],
    ['name', JSON.stringify(lead.name)],
    ['url', JSON.stringify(`${site}/${handle}`)],
  ];
  if (type === 'github_repo_contributors')
    members.push(['contributions', String(1 + (hashOf(lead.name) % 900))]);
  const followers = lead.facts.get('followers') ?? lead.facts.get('subscribers');
  if (followers !== undefined && /^\d+$/.test(followers)) members.push(['followers_count', followers]);
  return objectOf(members);
}

function handleOf({ name, id }: Lead): string {
  const letters = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '');
  return letters === '' ? `user${id}` : letters.slice(0, 30);
}

/** Digits of a hash; those of 19 fit into 64 bits. */
function idOf(text: string, digits: number): string {
  const number = BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 30)}`).toString();
  return `1${number.padStart(digits, '7').slice(-(digits - 1))}`;
}

/** A list on a web page: who belongs to the site's owner, else whatever fits the instruction. */
export async function extractFromPage(
  catalogue: Catalogue,
  target: string,
  instruction: string,
  limit: number,
): Promise<Extraction> {
  const { hostname } = new URL(target);
  const host = hostname.replace(/^www\./, '');
  const ofSite = catalogue.mentioning(host, limit);
  if (ofSite.length > 0) return ofSite.map(toPageItem);
  const { matches } = await catalogue.search(undefined, instruction);
  const fitting = await firstOf(matches, limit);
  if (fitting.length === 0) return { failure: `nothing on ${target} matches the instruction` };
  return fitting.map(({ lead }) => toPageItem(lead));
}

function toPageItem(lead: Lead): string {
  const item = new Map<string, unknown>([['name', lead.name], ...lead.facts, ...lead.links]);
  if (lead.description !== '') item.set('description', lead.description);
  return objectOf([...item].map(([member, value]) => [member, JSON.stringify(value)] as const));
}

function strideFor(length: number, seed: number): number {
  let stride = 1 + (seed % Math.max(1, length - 1));
  while (divisor(stride, length) !== 1) stride += 1;
  return stride;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

function hashOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}
