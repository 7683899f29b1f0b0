import type { SearchEvent } from '../../client.ts';
import { type JsonText, kindOf, type Records } from '../../json/text.ts';
import { countOf as leadsOf } from '../delivery.ts';
import { createWarnings } from '../warnings.ts';
import { createBatchLog } from './batch-log.ts';

/** Of leads and of batches: far more than any search may bring, and no more than can be remembered. */
const mostOfOneStream = 1_000_000;

/** What the events of one stream add up to. */
export interface SearchReading {
  /** The new entities of some events. What follows the sentinel or an error frame is not looked at. */
  take(events: readonly SearchEvent[]): Records;
  /** Whether nothing more is to be read. */
  isOver(): boolean;
  /** Whether an entity has been taken. */
  has(entity: JsonText): boolean;
  /** Entities taken, and those of them that are leads: what else a list brings is none. */
  readonly taken: number;
  readonly leads: number;
  /** The most leads that the service said there are. */
  counted(): number;
  /**
   * Why it is not proven that everything arrived; undefined when it is, once the stream has ended. A done event whose count
   * is right proves it, however the stream then ends: with its sentinel or not, well or `cut`, for that reason.
   */
  verdict(cut?: string): string | undefined;
  /** Adds a line to the warnings. */
  remark(line: string): void;
  summary(): {
    readonly leadsSearchId: string | undefined;
    readonly stopReason: string | undefined;
    readonly warnings: readonly string[];
  };
}

type Batch = Extract<SearchEvent, { kind: 'batch' }>;
type Done = Extract<SearchEvent, { kind: 'done' }>;

export function createSearchReading(): SearchReading {
  const batches = createBatchLog();
  const oddities = createWarnings();
  /** Of the whole stream: a few lines, which no number of odd batches may hide. */
  const remarks: string[] = [];
  let taken = 0;
  let leads = 0;
  let counted = 0;
  let countedByDone = 0;
  let leadsSearchId: string | undefined;
  let stopReason: string | undefined;
  let isDone = false;
  let hasSentinel = false;
  /** Why the stream is over before its end. */
  let end: string | undefined;
  /** What a done event lacks to prove anything. */
  let doubt: string | undefined;

  // rule: events.batch, events.ids
  function takeBatch({ batch, entities }: Batch): Records {
    const { batch_index, count, cum_count } = batch;
    const name = batch_index === undefined ? 'a batch' : `batch ${batch_index}`;
    const all = entities ?? [];
    const room = mostOfOneStream - taken;
    const { fresh, warning } = batches.take(batch_index, count, all.slice(0, room));
    const ofThem = fresh.filter((entity) => kindOf(entity) === 'object').length;
    if (warning !== undefined) oddities.add(warning);
    if (entities === undefined) oddities.add(`${name} came without a list of leads`);
    if (ofThem < fresh.length) oddities.add(`${name} brought something that is not a lead`);
    if (count !== all.length) {
      oddities.add(
        count === undefined
          ? `the service did not say how many leads are in ${name}; it sent ${all.length}`
          : `the service announced ${leadsOf(count)} in ${name}, but sent ${all.length}`,
      );
    }
    leadsSearchId ??= batch.leads_search_id;
    counted = Math.max(counted, cum_count ?? 0);
    taken += fresh.length;
    leads += ofThem;
    if (all.length > room || batches.size() > mostOfOneStream) {
      end = `the service sent more than ${mostOfOneStream} leads or batches; the rest was not read`;
    }
    return fresh;
  }

  // rule: events.done, events.ids
  function takeDone({ done, finished }: Done): void {
    isDone = true;
    if (!finished) doubt ??= 'the service did not say that the search is finished';
    if (done.cum_count === undefined) doubt ??= 'the service did not say how many leads it sent';
    leadsSearchId ??= done.leads_search_id;
    stopReason ??= done.stop_reason;
    countedByDone = Math.max(countedByDone, done.cum_count ?? 0);
    counted = Math.max(counted, countedByDone);
  }

  const isOver = (): boolean => hasSentinel || end !== undefined;

  return {
    take(events) {
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
    has: batches.has,
    get taken() {
      return taken;
    },
    get leads() {
      return leads;
    },
    counted: () => counted,
    // rule: events.order
    verdict(cut) {
      if (end !== undefined) return end;
      const early = cut ?? 'the connection ended too early';
      if (!isDone) return early;
      if (counted > leads) return `the service counted ${leadsOf(counted)}, but ${leads} arrived`;
      const flaw = doubt ?? batches.flaw();
      if (flaw !== undefined) return flaw;
      const counts = `the service counted ${leadsOf(countedByDone)}, but ${leads} arrived`;
      if (countedByDone < leads && !hasSentinel) return `${early}: ${counts}`;
      if (countedByDone < leads) remarks.push(counts);
      if (!hasSentinel)
        remarks.push('the service did not end its answer as it should, but no lead is missing');
      return undefined;
    },
    remark: (line) => remarks.push(line),
    summary: () => ({ leadsSearchId, stopReason, warnings: [...oddities.all(), ...remarks] }),
  };
}
