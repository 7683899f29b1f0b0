import type { FreeClient, Page, Status } from '../../client.ts';
import { pause } from '../../clock.ts';
import { hasEnded, type TaskState } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { type OperationEvent, runToEnd } from '../events.ts';
import { checkPage, PageError } from './task-page.ts';
import { createReadRetry, type PollTimes, pollWaitMs, settledPoll, type Waiting } from './task-patience.ts';

/** How long the service may be unreachable while a task is followed. */
const outageMs = 10 * 60_000;
/** How often status may count more leads than fetch returns before that is an error. */
const maxContradictions = 5;

export interface TaskToRead {
  readonly leadsSearchId: string;
  readonly num: number;
  readonly poll: PollTimes;
  /** How long to wait, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Whether this machine has created it. */
  readonly isOurs?: boolean | undefined;
}

export interface TaskSummary {
  position: number;
  readyCount: number;
  /** The last state that was seen. */
  state: TaskState | undefined;
  stopReason: string | undefined;
  requestId: string | undefined;
  readonly warnings: string[];
}

export function toUnread(position: number): TaskSummary {
  return {
    position,
    readyCount: 0,
    state: undefined,
    stopReason: undefined,
    requestId: undefined,
    warnings: [],
  };
}

/** The pages, and what happens in between. */
type Reading = AsyncGenerator<OperationEvent | { readonly is: 'page'; readonly page: Page }, void, void>;

/**
 * Yields the pages of a task up to its `end`, as they become ready, in the order of positions; or only those that are `ready` now.
 * Ends only when the state is terminal *and* the position has reached `ready_count`; throws if it ends earlier. `seen` has the
 * progress: its position moves behind a page when the next one is requested.
 */
export async function* readTask(
  client: FreeClient,
  waiting: Waiting,
  task: TaskToRead,
  seen: TaskSummary,
  to: 'end' | 'ready' = 'end',
): Reading {
  const { leadsSearchId, num, poll } = task;
  let contradictions = 0;
  const deadline = new AbortController();
  const signal = AbortSignal.any([waiting.signal, deadline.signal]);
  const limit = to === 'end' ? task.timeoutMs : undefined;
  const cancel =
    limit === undefined ? undefined : waiting.clock.after(limit, () => deadline.abort('temporary'));
  const patience = { ...task, outageMs: to === 'end' ? outageMs : 0 };
  const ask = createReadRetry({ ...waiting, signal }, patience);

  function noteReady(ready: number): void {
    if (ready < seen.readyCount && seen.warnings.length === 0) {
      seen.warnings.push(
        `the service first said that ${seen.readyCount} leads were ready, now ${ready}. No lead is written twice`,
      );
    }
    seen.readyCount = ready;
  }

  /** Takes a status. Returns whether it shows progress. */
  function see(status: Status, id: string | undefined): boolean {
    const progress = status.status !== seen.state || status.ready_count > seen.readyCount;
    seen.requestId = id ?? seen.requestId;
    seen.state = status.status;
    seen.stopReason = status.stop_reason || undefined;
    noteReady(status.ready_count);
    return progress;
  }

  async function readNext(): Promise<Page> {
    const page = await client.fetch(leadsSearchId, seen.position, num, signal);
    checkPage(page, leadsSearchId, seen.position, num);
    seen.requestId = page.requestId ?? seen.requestId;
    seen.state = page.value.status ?? seen.state;
    noteReady(page.value.ready_count);
    return page;
  }

  /** Reads all ready leads from the position on. */
  async function* readPages(ready: number): Reading {
    for (let end = ready; seen.position < end; end = seen.readyCount) {
      const page = yield* ask(readNext);
      const { count } = page.value;
      if (count > 0) {
        contradictions = 0;
        const next = seen.position + count;
        yield { is: 'page', page };
        seen.position = next;
        if (seen.state !== undefined) yield toSeen(seen.state);
      } else if (Number.isFinite(ready) && ++contradictions > maxContradictions) {
        const words = `status says that ${ready} leads are ready, but fetch says ${seen.readyCount}`;
        throw new PageError(words, true, seen.requestId);
      }
    }
  }

  const toSeen = (state: TaskState) => ({ is: 'task_seen', state, readyCount: seen.readyCount }) as const;

  async function* readToEnd(): Reading {
    for (let polls = 0; ; polls++) {
      const { value, requestId } = yield* ask(() => client.status(leadsSearchId, signal));
      const { status, ready_count } = value.status;
      if (see(value.status, requestId)) polls = Math.min(polls, settledPoll);
      yield toSeen(status);
      yield* readPages(ready_count);
      if (hasEnded(status) && seen.position >= ready_count) return;
      await pause(waiting.clock, pollWaitMs(polls, poll, waiting.random()), signal);
    }
  }

  try {
    // The first page tells how many leads are ready.
    yield* to === 'end' ? readToEnd() : readPages(Number.POSITIVE_INFINITY);
  } catch (cause) {
    const gaveUp = deadline.signal.aborted && !waiting.signal.aborted && limit !== undefined;
    throw gaveUp ? toGivenUp(limit, cause) : cause;
  } finally {
    cancel?.();
  }
}

/** Reads one page of what is ready now, from a position. Throws RequestError, PageError and StoppedError. */
export async function readPage(
  client: FreeClient,
  waiting: Waiting,
  { leadsSearchId, num, poll }: TaskToRead,
  from: number,
): Promise<Page> {
  const ask = createReadRetry(waiting, { poll, outageMs: 0 });
  const page = ask(async () =>
    checkPage(await client.fetch(leadsSearchId, from, num, waiting.signal), leadsSearchId, from, num),
  );
  return await runToEnd(page, () => {});
}

function toGivenUp(limitMs: number, cause: unknown): LeadpipeError {
  return new LeadpipeError('temporary', `gave up waiting after ${limitMs / 1000} s`, {
    type: 'wait_timeout',
    charged: 'no',
    cause,
  });
}
