import type { Client } from '../../client.ts';
import { limits } from '../../contract/limits.ts';
import type { JsonText } from '../../json/text.ts';
import { followTask, type TaskSummary } from '../task/follow.ts';
import type { Waiting } from '../task/patience.ts';

/** How long a cut search is waited for, and how often it is looked at meanwhile. */
const patienceMs = 120_000;
const poll = { firstMs: 5000, maxMs: 30_000 };
const pageSize = 500;

export interface Recovered {
  /** What the stream did not bring, in the order of positions. */
  readonly entities: readonly JsonText[];
  readonly stopReason: string | undefined;
}

/** What the stream of a search brought before it was cut. */
export interface Brought {
  readonly taken: number;
  /** The most leads that the service said there are. */
  counted(): number;
  has(entity: JsonText): boolean;
}

/**
 * Reads a search whose stream was cut as if it were a task: the interface does not promise that this works, and it
 * costs nothing.
 *
 * Returns undefined unless the search ended well, as many leads are read as the stream counted, and everything it
 * brought is among them, to the letter: anything else could write a lead twice. Throws StoppedError.
 */
export async function recoverSearch(
  client: Client,
  waiting: Waiting,
  leadsSearchId: string,
  brought: Brought,
): Promise<Recovered | undefined> {
  const read: JsonText[] = [];
  const summary = await followTask(
    client,
    waiting,
    { leadsSearchId, from: 0, num: pageSize, poll, patienceMs },
    {
      async deliver(entities) {
        for (const entity of entities) read.push(entity);
        // What comes from here on is held in memory, and can't belong to one search.
        if (read.length > brought.taken + limits.entityLimit.max)
          throw new Error('more leads than a search has');
      },
      async delivered() {},
      progress() {},
      stumbled() {},
    },
  );
  if (waiting.signal.aborted) throw summary.failure;
  if (!endedWell(summary) || read.length < brought.counted()) return undefined;
  const entities = read.filter((entity) => !brought.has(entity));
  return read.length - entities.length === brought.taken
    ? { entities, stopReason: summary.stopReason }
    : undefined;
}

function endedWell({ failure, state }: TaskSummary): boolean {
  return failure === undefined && state === 'done';
}
