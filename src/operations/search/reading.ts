import type { SearchEvent } from '../../client.ts';
import type { Records } from '../../json/lines.ts';
import type { JsonText } from '../../json/text.ts';
import { countOf as leadsOf } from '../delivery.ts';
import { createWarnings } from '../warnings.ts';
import { createBatchLog } from './batch-log.ts';
import { countOf, digestsOfEntities, type Entities, gathered, leadsIn, picked } from './entities.ts';

/** Of leads and of batches: far more than any search may bring, and no more than can be remembered. */
const mostOfOneStream = 1_000_000;

/** What the events of one stream add up to. */
export interface SearchReading {
  /** The new entities of some events. What follows the sentinel or an error frame is not looked at. */
  take(events: readonly SearchEvent[]): Records;
  /** To be called when what `take` gave is delivered: what is left to do for it is done, before its bytes may change. */
  settle(): void;
  /** Whether nothing more is to be read. */
  isOver(): boolean;
  /** Whether an entity has been taken. */
  has(entity: JsonText): boolean;
  /** The most leads that the service said there are. */
  counted(): number;
  /** Why it is not proven that everything arrived; undefined when it is, once the stream has ended. */
  verdict(): string | undefined;
  /** Adds a line to the warnings. */
  remark(line: string): void;
  told(): {
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
  /** Of what was taken, those that are leads. */
  let received = 0;
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

  function takeBatch({ batch, entities }: Batch): Entities {
    const { batch_index, count, cum_count } = batch;
    const name = batch_index === undefined ? 'a batch' : `batch ${batch_index}`;
    const all: Entities = entities ?? [];
    const came = countOf(all);
    const room = mostOfOneStream - taken;
    const some = came > room ? picked(all, (number) => number < room) : all;
    const { fresh, warning } = batches.take(batch_index, count, countOf(some), () => digestsOfEntities(some));
    const brought = fresh === undefined ? some : picked(some, (number) => fresh.has(number));
    const leads = leadsIn(brought);
    if (warning !== undefined) oddities.add(warning);
    if (entities === undefined) oddities.add(`${name} came without a list of leads`);
    if (leads < countOf(brought)) oddities.add(`${name} brought something that is not a lead`);
    if (count !== came) {
      oddities.add(
        count === undefined
          ? `the service did not say how many leads are in ${name}; it sent ${came}`
          : `the service announced ${leadsOf(count)} in ${name}, but sent ${came}`,
      );
    }
    leadsSearchId ??= batch.leads_search_id;
    counted = Math.max(counted, cum_count ?? 0);
    taken += countOf(brought);
    received += leads;
    if (came > room || batches.size() > mostOfOneStream) {
      end = `the service sent more than ${mostOfOneStream} leads or batches; the rest was not read`;
    }
    return brought;
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

  const isOver = (): boolean => hasSentinel || end !== undefined;

  return {
    take(events) {
      const batches: Entities[] = [];
      for (const event of events) {
        if (event.kind === 'batch') batches.push(takeBatch(event));
        else if (event.kind === 'done') takeDone(event);
        else if (event.kind === 'sentinel') hasSentinel = true;
        else end = `the service reported an error: ${event.message}`;
        if (isOver()) break;
      }
      return gathered(batches);
    },
    settle: batches.settle,
    isOver,
    has: (entity) => digestsOfEntities([entity]).every(batches.has),
    counted: () => counted,
    verdict() {
      if (end !== undefined) return end;
      if (!isDone) return 'the connection ended too early';
      if (counted > received) return `the service counted ${counted} leads, but ${received} arrived`;
      const flaw = doubt ?? batches.flaw();
      if (flaw !== undefined) return flaw;
      const counts = `the service counted ${countedByDone} leads, but ${received} arrived`;
      if (countedByDone < received && !hasSentinel) return `the connection ended too early: ${counts}`;
      if (countedByDone < received) remarks.push(counts);
      if (!hasSentinel)
        remarks.push('the service did not end its answer as it should, but no lead is missing');
      return undefined;
    },
    remark: (line) => remarks.push(line),
    told: () => ({ leadsSearchId, stopReason, warnings: [...oddities.all(), ...remarks] }),
  };
}
