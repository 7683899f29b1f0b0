import type { Client } from '../client.ts';
import type { JsonText } from '../json/text.ts';
import { followTask, type TaskSummary } from './follow-task.ts';
import type { Waiting } from './patience.ts';

/** How long a cut search is waited for, and how often it is looked at meanwhile. */
const patienceMs = 120_000;
const poll = { firstMs: 5000, maxMs: 30_000 };
const pageSize = 500;

export interface Recovered {
  /** What the stream did not bring, in the order of positions. */
  readonly entities: readonly JsonText[];
  readonly stopReason: string | undefined;
}

/**
 * Reads a search whose stream was cut as if it were a task: the interface does not promise that this works, and it
 * costs nothing. `isDelivered` tells the entities that the stream brought.
 *
 * Returns undefined unless the search ended well and everything the stream brought is among what is read, to the
 * letter: anything else could write a lead twice. Throws StoppedError.
 */
export async function recoverSearch(
  client: Client,
  waiting: Waiting,
  leadsSearchId: string,
  delivered: number,
  isDelivered: (entity: JsonText) => boolean,
): Promise<Recovered | undefined> {
  const read: JsonText[] = [];
  const summary = await followTask(
    client,
    waiting,
    { leadsSearchId, from: 0, num: pageSize, poll, patienceMs },
    {
      async deliver(entities) {
        for (const entity of entities) read.push(entity);
      },
      async delivered() {},
      progress() {},
      stumbled() {},
    },
  );
  if (waiting.signal.aborted) throw summary.failure;
  if (!endedWell(summary)) return undefined;
  const entities = read.filter((entity) => !isDelivered(entity));
  return read.length - entities.length === delivered
    ? { entities, stopReason: summary.stopReason }
    : undefined;
}

function endedWell({ failure, state }: TaskSummary): boolean {
  return failure === undefined && state === 'done';
}
