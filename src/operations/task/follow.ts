import type { Client, Page, Status } from '../../client.ts';
import { type TaskState, terminalTaskStates } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import { pause } from '../../transport/pause.ts';
import {
  checkPage,
  createPatience,
  PageError,
  type PollTimes,
  pollWaitMs,
  settledLook,
  type Waiting,
} from './patience.ts';

/** How long the service may be away while a task is followed. */
const outageMs = 10 * 60_000;
/** How often status may count more leads than fetch has before it is an error. */
const mostContradictions = 5;

export interface TaskToRead {
  readonly leadsSearchId: string;
  /** The position to start from. */
  readonly from: number;
  /** The most entities of a page. */
  readonly num: number;
  readonly poll: PollTimes;
  /** Milliseconds after which to give up waiting. */
  readonly patienceMs?: number | undefined;
  /** When this process created it, on the monotonic clock. */
  readonly createdAt?: number | undefined;
}

export interface DeliveredPage {
  readonly pts: number;
  readonly count: number;
  /** The next position: `pts + count`. */
  readonly next: number;
  readonly readyCount: number;
  readonly state: TaskState | undefined;
}

/** What becomes of the task's entities. All are awaited; what they throw ends the reading. */
export interface TaskReader {
  /** Takes new entities as the service wrote them; `pts` is the position of the first. */
  deliver(entities: readonly JsonText[], pts: number): Promise<void>;
  /** A page has been delivered, and the position moved behind it. */
  delivered(page: DeliveredPage): Promise<void>;
  progress(state: TaskState, readyCount: number): void;
  /** The service has stumbled, and is asked again: the first fault in a row. */
  stumbled(fault: Error): void;
}

export interface TaskSummary {
  /** Why there may be more than was read; undefined when the task has ended and all of it was delivered. */
  readonly failure: unknown;
  /** Entities delivered. */
  readonly leads: number;
  /** The next position. */
  readonly position: number;
  readonly readyCount: number;
  /** The last one seen. */
  readonly state: TaskState | undefined;
  readonly stopReason: string | undefined;
  /** Of the last answer. */
  readonly requestId: string | undefined;
  /** What was odd and did no harm, a line each. */
  readonly warnings: readonly string[];
}

/**
 * Reads a task to its `end`, page after page as it becomes ready, in the order of positions; or only what is `ready` now. Ends at its
 * end without a failure only when the state is terminal *and* the position has reached `ready_count`. Never throws: whatever ends
 * it early is in the summary, with what arrived already delivered.
 */
export async function followTask(
  client: Client,
  waiting: Waiting,
  task: TaskToRead,
  reader: TaskReader,
  to: 'end' | 'ready' = 'end',
): Promise<TaskSummary> {
  const { leadsSearchId, from, num, poll } = task;
  const warnings: string[] = [];
  let position = from;
  let readyCount = 0;
  let state: TaskState | undefined;
  let stopReason: string | undefined;
  let requestId: string | undefined;
  let contradictions = 0;
  const deadline = new AbortController();
  const signal = AbortSignal.any([waiting.signal, deadline.signal]);
  const limit = to === 'end' ? task.patienceMs : undefined;
  const cancel =
    limit === undefined ? undefined : waiting.clock.after(limit, () => deadline.abort('temporary'));
  const patience = { ...task, outageMs: to === 'end' ? outageMs : 0, stumbled: reader.stumbled };
  const ask = createPatience({ ...waiting, signal }, patience);

  function noteReady(ready: number): void {
    if (ready < readyCount && warnings.length === 0) {
      warnings.push(
        `the service first said that ${readyCount} leads were ready, now ${ready}. No lead is written twice`,
      );
    }
    readyCount = ready;
  }

  /** Takes a status; returns whether it shows progress. */
  function see(status: Status, id: string | undefined): boolean {
    const progress = status.status !== state || status.ready_count > readyCount;
    requestId = id ?? requestId;
    state = status.status;
    stopReason = status.stop_reason;
    noteReady(status.ready_count);
    reader.progress(state, readyCount);
    return progress;
  }

  async function readPage(): Promise<Page> {
    const page = await client.fetch(leadsSearchId, position, num, signal);
    checkPage(page, leadsSearchId, position, num);
    requestId = page.requestId ?? requestId;
    // rule: page.state
    state = page.value.status ?? state;
    noteReady(page.value.ready_count);
    return page;
  }

  /** Reads on from the position until it has reached what is ready. */
  async function readPages(ready: number): Promise<void> {
    for (let end = ready; position < end; end = readyCount) {
      const { entities, value } = await ask(readPage);
      if (value.count > 0) {
        contradictions = 0;
        const pts = position;
        await reader.deliver(entities, pts);
        // rule: page.next
        position = pts + value.count;
        if (state !== undefined) reader.progress(state, readyCount);
        await reader.delivered({ pts, count: value.count, next: position, readyCount, state });
      } else if (Number.isFinite(ready) && ++contradictions > mostContradictions) {
        const words = `status says that ${ready} leads are ready, but fetch says ${readyCount}`;
        throw new PageError(words, true, requestId);
      }
    }
  }

  async function readToEnd(): Promise<void> {
    for (let asked = 0; ; asked++) {
      const { value, requestId: id } = await ask(() => client.status(leadsSearchId, signal));
      const { status, ready_count } = value.status;
      if (see(value.status, id)) asked = Math.min(asked, settledLook);
      // rule: states.running-fetch, fetch.available
      await readPages(ready_count);
      // rule: states.consumed
      if (terminalTaskStates.some((one) => one === status) && position >= ready_count) return;
      await pause(waiting.clock, pollWaitMs(asked, poll, waiting.random()), signal);
    }
  }

  let failure: unknown;
  try {
    // What is ready is known from the first page on.
    await (to === 'end' ? readToEnd() : readPages(Number.POSITIVE_INFINITY));
  } catch (cause) {
    const gaveUp = deadline.signal.aborted && !waiting.signal.aborted && limit !== undefined;
    failure = gaveUp ? toGivenUp(limit, cause) : cause;
  } finally {
    cancel?.();
  }
  return {
    failure,
    leads: position - from,
    position,
    readyCount,
    state,
    stopReason: stopReason === '' ? undefined : stopReason,
    requestId,
    warnings,
  };
}

/** Reads one page of what is ready now, from a position. Throws RequestError, PageError and StoppedError. */
export async function readPage(
  client: Client,
  waiting: Waiting,
  { leadsSearchId, from, num, poll }: TaskToRead,
): Promise<Page> {
  const ask = createPatience(waiting, { poll, outageMs: 0, stumbled() {} });
  return await ask(async () =>
    checkPage(await client.fetch(leadsSearchId, from, num, waiting.signal), leadsSearchId, from, num),
  );
}

function toGivenUp(limitMs: number, cause: unknown): LeadpipeError {
  return new LeadpipeError('temporary', `gave up waiting after ${limitMs / 1000} s`, {
    type: 'wait_timeout',
    charged: 'no',
    cause,
  });
}
