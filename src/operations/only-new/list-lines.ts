import type { Block } from '../../json/block.ts';
import { JsonLines } from '../../json/lines.ts';
import { type MemberRanges, unclear } from '../../json/scan.ts';
import type { JsonText } from '../../json/text.ts';
import {
  fromCheckedLine,
  isTorn,
  lineEnd,
  quickFront,
  quickFrontInto,
  toCheckedLine,
} from '../journal/checked-lines.ts';
import { type Identity, identityOf, identityOfMembers, type Named } from './identity.ts';

/** A line of a list: leads that a run of it delivered. */
export interface Delivered {
  readonly list: string;
  readonly operation_id: string;
  /** When the run began. */
  readonly time: string;
  /** Whose search it was: its ID means something to this key at this address alone. */
  readonly origin: string;
  readonly key_fingerprint: string;
  readonly leads_search_id: string | null;
  /** None of them, where the search brought only what was delivered before. */
  readonly leads: readonly Identity[];
}

const member = 'delivered';
const putFront = quickFrontInto(member);

/** Pure. */
export function toDeliveredLine(delivered: Delivered): string {
  return toCheckedLine(member, JSON.stringify(delivered));
}

/** Bytes that a lead may bring to a line as they are; of one that has more, digests are kept. */
const mostNamed = 4096;
const nameFront = Buffer.from('{"name":');
const linksFront = Buffer.from(',"links":');
const nothing = Buffer.from('null');
const [comma, closeBrace, closeBracket] = [0x2c, 0x7d, 0x5d];
/** What stands around what a lead brings, at most. */
const around = nameFront.length + linksFront.length + 2 * nothing.length + '},'.length;

/** Leads as they came, or what they are known again by. */
export type Arrived = Omit<Delivered, 'leads'> & { readonly leads: readonly Identity[] | JsonLines };

/** The line of some leads, which is the caller's until the next one is made. */
export function toArrivedLine({ leads, ...run }: Arrived, blockOf: Block): Buffer {
  if (!(leads instanceof JsonLines)) return Buffer.from(toDeliveredLine({ ...run, leads }));
  const { members } = leads;
  if (members !== undefined && !members.includes(unclear)) return toNamedLine(run, leads, members, blockOf);
  const identities = Array.from<JsonText, Identity | undefined>(leads, identityOf);
  return Buffer.from(toDeliveredLine({ ...run, leads: identities.filter((one) => one !== undefined) }));
}

/**
 * Of leads of which it is known where their names and links are: these go into the line as they came. Digests of them take
 * longer than all else that is done with a lead, and are left to whoever reads the line.
 */
function toNamedLine(
  run: Omit<Delivered, 'leads'>,
  leads: JsonLines,
  places: MemberRanges,
  blockOf: Block,
): Buffer {
  const { block: source, bytes, ends } = leads;
  const opening = `${JSON.stringify(run).slice(0, -1)},"leads":[`;
  const begin = quickFront(member, '').length;
  // The leads stand behind the room for what is put around them, and what is wanted of each moves up: see toStoredBytes.
  const room = begin + 3 * opening.length + ends.length * around;
  const block = blockOf(room + bytes.length + `]}${lineEnd}`.length);
  bytes.copy(block, room);
  const shift = room - leads.startOf(0);
  let at = begin + block.write(opening, begin);
  const put = (text: Buffer): void => {
    for (let index = 0; index < text.length; index++) block[at++] = text[index] as number;
  };
  const copy = (start: number, end: number): void => {
    if (end === 0) put(nothing);
    else at += source.copy(block, at, start, end);
  };
  for (let index = 0; index < ends.length; index++) {
    if (index > 0) block[at++] = comma;
    const [name, nameEnd] = [places[4 * index] as number, places[4 * index + 1] as number];
    const [links, linksEnd] = [places[4 * index + 2] as number, places[4 * index + 3] as number];
    if (nameEnd - name + linksEnd - links > mostNamed) {
      const lead = source.toString('utf8', leads.startOf(index), ends[index]);
      at += block.write(JSON.stringify(identityOf(lead) ?? {}), at);
      continue;
    }
    put(nameFront);
    if (nameEnd > 0 && links === nameEnd + linksFront.length) {
      // One stands behind the other, as mostly.
      block.copyWithin(at, name + shift, linksEnd + shift);
      at += linksEnd - name;
    } else {
      copy(name, nameEnd);
      put(linksFront);
      copy(links, linksEnd);
    }
    block[at++] = closeBrace;
  }
  block[at++] = closeBracket;
  block[at++] = closeBrace;
  putFront(block, 0, block.subarray(begin, at));
  at += block.write(lineEnd, at, 'latin1');
  return block.subarray(0, at);
}

/**
 * Pure: the lines of a file. A last one that was never finished is left out: its leads were not delivered. So is a damaged
 * one, whose number `damaged` is told.
 */
export function toDelivered(text: string, damaged: (line: number) => void): Delivered[] {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const delivered: Delivered[] = [];
  for (const [index, line] of lines.entries()) {
    const found = fromCheckedLine(line);
    if (found?.member === member) delivered.push(toIdentified(JSON.parse(found.text as JsonText)));
    else damaged(index + 1);
  }
  if (!isTorn(rest)) damaged(lines.length + 1);
  return delivered;
}

/** As a line has it: what leads are known again by, or what that is made of. */
type Stored = Omit<Delivered, 'leads'> & { readonly leads: readonly (Identity | Named)[] };

function toIdentified({ leads, ...run }: Stored): Delivered {
  const identities = leads.map((lead) => (isIdentity(lead) ? lead : identityOfMembers(lead)));
  return { ...run, leads: identities.filter((identity) => identity !== undefined) };
}

function isIdentity(lead: Identity | Named): lead is Identity {
  return Array.isArray(lead);
}

/** So much of a list is remembered. A year of a thousand new leads a day takes 30 MB. */
export const kept = { leads: 500_000, searches: 1000 } as const;

/**
 * Pure: the same list in fewer lines: one per search, each lead once, in the order of runs. Of a list that is too long,
 * the oldest goes.
 */
export function folded(lines: readonly Delivered[], most: typeof kept | Most = kept): Delivered[] {
  const seen = new Set<string>();
  const searches = new Map<string, Delivered & { leads: Identity[] }>();
  for (const line of lines.toReversed()) {
    const name = `${line.operation_id} ${line.leads_search_id}`;
    const search = searches.get(name) ?? { ...line, leads: [] };
    searches.set(name, search);
    for (const lead of line.leads.toReversed()) {
      const identity = lead.slice(1).join(' ');
      if (seen.has(identity) || seen.size >= most.leads) continue;
      seen.add(identity);
      search.leads.push(lead);
    }
  }
  return [...searches.values()]
    .filter(({ leads }, index) => leads.length > 0 || index < most.searches)
    .map((search) => ({ ...search, leads: search.leads.reverse() }))
    .reverse();
}

interface Most {
  readonly leads: number;
  readonly searches: number;
}
