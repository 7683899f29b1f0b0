import { crc32 } from 'node:zlib';
import type { SearchEvent } from '../../client.ts';
import { isOf, type JsonText, type Records } from '../../json/text.ts';
import { createWarnings, countOf as leadsOf } from '../wording.ts';

/** Maximum number of leads and of batches: far more than a search can have, and few enough for the memory. */
const maxOfOneStream = 1_000_000;

/** Whether an item of a batch or page is a lead. Others are left out: stored and printed, they would count as bought, and no reader expects them. */
export const isLead = isOf('object');

type Batch = Extract<SearchEvent, { kind: 'batch' }>;
type Done = Extract<SearchEvent, { kind: 'done' }>;

export type SearchReading = ReturnType<typeof createSearchReading>;

/**
 * Keeps a digest of each entity, because a long stream would not fit into memory. A repeated batch is dropped; if its content differs, only
 * its new entities are taken.
 */
export function createSearchReading() {
  /** By index: the digests of its entities, and how many the service announced. */
  const batches = new Map<number, { readonly digests: number[]; announced: number }>();
  const unnumbered: number[] = [];
  /** Whether any batch had no index, even an empty one. */
  let hasUnnumbered = false;
  const oddities = createWarnings();
  /** Warnings about the whole stream, kept apart so that warnings about many batches can't displace them. */
  const remarks: string[] = [];
  let all: Set<number> | undefined;
  let leads = 0;
  let counted = 0;
  let countedByDone = 0;
  let leadsSearchId: string | undefined;
  let stopReason: string | undefined;
  let isDone = false;
  let hasSentinel = false;
  /** Why the stream ended early. */
  let end: string | undefined;
  /** Why a done event proves nothing. */
  let doubt: string | undefined;

  /** Those entities of a batch that have not come under its index before. */
  function unseen(index: number | undefined, announced: number, entities: Records): Records {
    const digests = entities.map(fingerprintOf);
    if (index === undefined) {
      hasUnnumbered = true;
      for (const digest of digests) unnumbered.push(digest);
      oddities.add('a batch came without its number');
      return entities;
    }
    const before = batches.get(index);
    if (before === undefined) {
      batches.set(index, { digests, announced });
      return entities;
    }
    const seen = new Set(before.digests);
    const fresh = entities.filter((_, at) => {
      const digest = digests[at] as number;
      return !seen.has(digest) && seen.add(digest) && before.digests.push(digest);
    });
    before.announced = Math.max(before.announced, announced);
    if (fresh.length > 0) oddities.add(`batch ${index} came again with other leads (${fresh.length})`);
    return fresh;
  }

  function takeBatch({ batch, entities }: Batch): Records {
    const { batch_index, count, cum_count } = batch;
    const name = batch_index === undefined ? 'a batch' : `batch ${batch_index}`;
    const sent = entities ?? [];
    const sentLeads = sent.filter(isLead);
    const room = maxOfOneStream - leads;
    const fresh = unseen(batch_index, count ?? 0, sentLeads.slice(0, room));
    if (entities === undefined) oddities.add(`${name} came without a list of leads`);
    if (sentLeads.length < sent.length)
      oddities.add(`${name} had something that is not a lead, which was left out`);
    if (count === undefined) {
      oddities.add(`the service did not say how many leads are in ${name}; it sent ${sent.length}`);
    } else if (count !== sent.length) {
      oddities.add(`the service announced ${leadsOf(count)} in ${name}, but sent ${sent.length}`);
    }
    leadsSearchId ??= batch.leads_search_id;
    counted = Math.max(counted, cum_count ?? 0);
    leads += fresh.length;
    if (sentLeads.length > room || batches.size > maxOfOneStream) {
      end = `the service sent more than ${maxOfOneStream} leads or batches; the rest was not read`;
    }
    return fresh;
  }

  function takeDone({ done, finished }: Done): void {
    isDone = true;
    if (!finished) doubt ??= 'the service did not say that the search is finished';
    if (done.cum_count === undefined) doubt ??= 'the service did not say how many leads it sent';
    leadsSearchId ??= done.leads_search_id;
    stopReason ??= done.stop_reason;
    countedByDone = Math.max(countedByDone, done.cum_count ?? 0);
    counted = Math.max(counted, countedByDone);
  }

  /** Why batches must be missing; undefined when nothing shows that. */
  function flaw(): string | undefined {
    if (hasUnnumbered) return 'a batch came without its number: some leads may be missing or repeated';
    for (const [index, { announced, digests }] of batches) {
      if (announced > digests.length) {
        return `the service announced ${leadsOf(announced)} in batch ${index}, but sent ${digests.length}`;
      }
    }
    const highest = [...batches.keys()].reduce((max, index) => Math.max(max, index), 0);
    for (let index = 1; index < highest; index++) {
      if (!batches.has(index)) return `batch ${index} never arrived`;
    }
    return undefined;
  }

  const isOver = (): boolean => hasSentinel || end !== undefined;

  return {
    /** Returns the new entities of some events. Ignores what follows the sentinel or an error frame. */
    take(events: readonly SearchEvent[]): Records {
      const some: Records[] = [];
      for (const event of events) {
        if (event.kind === 'batch') some.push(takeBatch(event));
        else if (event.kind === 'done') takeDone(event);
        else if (event.kind === 'sentinel') hasSentinel = true;
        else end = `the service reported an error: ${event.message}`;
        if (isOver()) break;
      }
      return some.flat();
    },
    isOver,
    /** Whether an entity has been taken, under any index. Call it when the stream is over. */
    has(entity: JsonText): boolean {
      all ??= new Set([unnumbered, ...[...batches.values()].map(({ digests }) => digests)].flat());
      return all.has(fingerprintOf(entity));
    },
    /** The number of leads taken, and the highest count that the service sent. */
    counts: () => ({ leads, counted }),
    /**
     * Call this after the end of the stream. Why it is not certain that everything arrived; undefined if it is. A done event with the right
     * count is enough, with or without the sentinel, even if the stream was then cut (`cut` is the reason).
     */
    verdict(cut = 'the connection ended too early'): string | undefined {
      if (end !== undefined) return end;
      if (!isDone) return cut;
      if (counted > leads) return `the service counted ${leadsOf(counted)}, but ${leads} arrived`;
      const why = doubt ?? flaw();
      if (why !== undefined) return why;
      const counts = `the service counted ${leadsOf(countedByDone)}, but ${leads} arrived`;
      if (countedByDone < leads && !hasSentinel) return `${cut}: ${counts}`;
      if (countedByDone < leads) remarks.push(counts);
      if (!hasSentinel) remarks.push('the answer has no end marker, but no lead is missing');
      return undefined;
    },
    remark: (line: string) => void remarks.push(line),
    summary: () => ({ leadsSearchId, stopReason, warnings: [...oddities.all(), ...remarks] }),
  };
}

/**
 * 48 bits, which fit into a number: a checksum and the length. Digests of node:crypto take several times as long. They are not stored, so
 * two leads made to have the same digest only hide one of them in this stream.
 */
function fingerprintOf(entity: JsonText): number {
  return crc32(entity) * 2 ** 16 + (entity.length & 0xffff);
}
