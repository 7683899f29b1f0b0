import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { limits, web2listLimit } from '../contract/limits.ts';
import {
  type EntityType,
  type ExtractionType,
  type ExtractRequest,
  type ExtractResponse,
  extractionTypes,
} from '../contract/types.ts';
import { objectOf } from '../json/text.ts';
import { invalid } from './answer.ts';
import { answerBilled, type Outcome } from './billed.ts';
import { type Catalogue, firstOf } from './catalogue.ts';
import { bareAddress, plainText } from './catalogue-index.ts';
import type { Lead } from './lead.ts';
import { typeIn } from './lead-finder.ts';
import { integer, oneOf, onlyFields, text } from './request.ts';
import type { Exchange, Service } from './service.ts';

/** POST /v1/extract */
export function extract(service: Service, exchange: Exchange): Promise<void> {
  const { price_extract: price, extract_replay } = service.switches;
  return answerBilled(service, exchange, ({ fields }) => {
    const request = toExtract(fields);
    return {
      cost: { price, units: request.limit },
      work: () => run(service, request),
      keepAnswer: extract_replay === 'on',
    };
  });
}

type Extract = Required<ExtractRequest> & { readonly instruction: string | null };

// rule: extract.target, extract.instruction, extract.limit, extract.closed, extract.web2list-instruction
function toExtract(fields: Readonly<Record<string, unknown>>): Extract {
  onlyFields(fields, ['type', 'target', 'instruction', 'limit']);
  const type = oneOf(fields, 'type', extractionTypes);
  const target = text(fields, 'target', limits.extractTarget);
  const absent = fields.instruction === undefined || fields.instruction === null;
  const instruction = absent ? null : text(fields, 'instruction', limits.extractInstruction);
  const limit = integer(fields, 'limit', limits.extractLimit);
  if (type !== 'web2list') return { type, target, instruction, limit };
  if (instruction === null || instruction.trim() === '')
    throw invalid('instruction is required for web2list');
  if (!isPublicUrl(target)) throw invalid('target must be a public HTTP or HTTPS URL for web2list');
  return { type, target, instruction, limit: web2listLimit };
}

// rule: extract.web2list-target
function isPublicUrl(target: string): boolean {
  if (!URL.canParse(target)) return false;
  const { protocol, hostname, username, password } = new URL(target);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (username !== '' || password !== '') return false;
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) === 4) return !notPublic.check(host);
  // Of the other half of IPv6 nothing is public.
  if (isIP(host) === 6) return /^[23]/.test(host) && !notPublic.check(host, 'ipv6');
  return (
    host.includes('.') && !/\.(local|localhost|internal|lan|home|arpa|test|invalid|corp|intranet)$/.test(host)
  );
}

/** Networks of one's own, and those kept for documents, measurements and protocols. */
const notPublic = new BlockList();
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/3', '2001:db8::/32', '3fff::/20'],
]) {
  const [address = '', bits] = network.split('/');
  notPublic.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
}

async function run({ catalogue }: Service, { type, target, instruction, limit }: Extract): Promise<Outcome> {
  const found =
    type === 'web2list'
      ? await extractFromPage(catalogue, target, instruction ?? '', limit)
      : catalogue.fictional
        ? extractMembers(catalogue, type, target, limit)
        : { failure: 'your own leads have no followers: only the fictional leads can be extracted' };
  // rule: extract.fields, extract.failure, extract.echo, extract.instruction-echo, extract.limit-echo
  const metadata: ExtractResponse['metadata'] = { type, target, instruction, limit };
  if ('failure' in found) {
    const body: ExtractResponse = { success: false, data: found.failure, metadata };
    return { text: JSON.stringify(body), units: 0 };
  }
  const text = `{"success":true,"data":[${found.join(',')}],"metadata":${JSON.stringify(metadata)}}`;
  return { text, units: found.length };
}

/** Extracted items as JSON texts (some of their numbers are larger than JavaScript's), or why there are none. */
type Extraction = readonly string[] | { readonly failure: string };

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
function extractMembers(
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

/** Words of an instruction that say how a list is to be made, and not of what. */
const making =
  /\b(?:return|extract|list|get|each|every|all|their|its|as|columns?|fields?|items?|rows?|entries|page|site|shown|listed|names?|titles?|websites?|links?|urls?|descriptions?|city|cities|country|countries|headcounts?|number of employees|industry|industries|topics?|subscribers|followers)\b/gi;

/**
 * A page of the catalogue's: what it has of the site, and of any other page what fits, as the instruction says. The
 * fields that the instruction names are those of the items.
 */
async function extractFromPage(
  catalogue: Catalogue,
  target: string,
  instruction: string,
  limit: number,
): Promise<Extraction> {
  const host = new URL(target).hostname.replace(/^www\./, '');
  const type = typeIn(instruction);
  const ofSite = catalogue.mentioning(host, limit);
  const { matches } = await catalogue.search(type, instruction.replace(making, ' '));
  const fitting = (await firstOf(matches, ofSite.length === 0 ? limit : 5000)).map(({ lead }) => lead);
  const ids = new Set(fitting.map(({ id }) => id));
  const chosen = ofSite.filter(({ id, entityType }) =>
    // An instruction of which the catalogue has no word leaves all that is there.
    ids.size > 0 ? ids.has(id) : type === undefined || entityType === null || entityType === type,
  );
  const leads = ofSite.length === 0 ? fitting : chosen;
  if (leads.length === 0) return { failure: `nothing on ${target} matches the instruction` };
  const plain = plainText(instruction.replaceAll('_', ' '));
  const isNamed = (member: string) =>
    ['', 's'].some((ending) =>
      plain.includes(`${plainText(member.replaceAll('_', ' ')).trimEnd()}${ending} `),
    );
  const items = leads.map(
    (lead) => new Map([['name', lead.name], ...lead.facts, ...lead.links, ['description', lead.description]]),
  );
  const named = new Set(items.flatMap((item) => [...item.keys()]).filter(isNamed));
  if (named.size > 0) named.add('name');
  return items.map((item) =>
    objectOf(
      [...item]
        .filter(([member, value]) => (named.size === 0 ? value !== '' : named.has(member)))
        .map(([member, value]) => [member, JSON.stringify(value)] as const),
    ),
  );
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
