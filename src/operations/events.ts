import type { TaskState } from '../contract/types.ts';
import type { Charged, LeadpipeError } from '../errors.ts';
import type { InputRow } from '../requests/rows.ts';
import type { Preview } from '../transport/request.ts';
import type { ListCounts } from './kinds/list-outcome.ts';
import type { CountedRows } from './kinds/list-rows.ts';
import type { RowFailure } from './kinds/row-parts.ts';
import type { Operation } from './operation.ts';
import type { Cost } from './prices.ts';

/** The steps that take time. */
export type Stage = 'asking' | 'searching' | 'creating' | 'waiting' | 'fetching';

/** The events of a running operation. Its caller shows them. */
export type OperationEvent =
  /** Shown instead of sending. */
  | ({ readonly is: 'preview' } & Previewed)
  /** The request is stored and goes out. From now on the operation can be found by its ID, if it is recorded. */
  | {
      readonly is: 'begun';
      readonly operationId: string | undefined;
      readonly isResumable: boolean;
      /** Whether the request can cost credits; `credits` is the maximum, null if unknown and for a list. */
      readonly isPaid: boolean;
      readonly credits: number | null;
    }
  /** The answer that the operation now waits for. */
  | { readonly is: 'stage'; readonly stage: Stage }
  /** This many more records are in the output. */
  | { readonly is: 'delivered'; readonly records: number }
  | { readonly is: 'task_seen'; readonly state: TaskState; readonly readyCount: number }
  /** A read failed and is retried. */
  | { readonly is: 'stumbled'; readonly fault: Error }
  /** Something odd that did no harm. */
  | { readonly is: 'warning'; readonly line: string }
  /** The task exists, even if its ID can't be written to the output. */
  | { readonly is: 'created'; readonly task: BoughtTask }
  /** The order was run before and is about to be bought again, for at most `credits` (null if unknown). Nothing is recorded yet. */
  | { readonly is: 'again'; readonly before: EarlierRun; readonly credits: number | null }
  /** An operation is resumed. */
  | { readonly is: 'resuming'; readonly resuming: Resuming }
  /** The first row of a list that this run buys, before it is sent. */
  | { readonly is: 'first_row'; readonly row: InputRow; readonly sends: string }
  | { readonly is: 'row_failed'; readonly row: InputRow; readonly failure: RowFailure }
  /** A list is over, or was stopped. */
  | {
      readonly is: 'rows_ended';
      readonly counts: ListCounts;
      readonly charged: Charged;
      readonly isStopped: boolean;
    }
  /** How many rows of a list have ended. */
  | { readonly is: 'rows'; readonly counts: Pick<ListCounts, 'done' | 'failed'> }
  /** The run was stopped, and waits up to `seconds` for this many answers. */
  | { readonly is: 'stopping'; readonly answers: number; readonly seconds: number }
  /**
   * The run is over: what its operation has received, in words, if anything; its maximum cost, and the part that `earlier` runs cost. With the
   * balance before and after, if a limit needs it; `after` is undefined if the service did not answer in time.
   */
  | {
      readonly is: 'settled';
      readonly received: string | undefined;
      readonly cost: Cost;
      readonly earlier: Cost;
      readonly balance: { readonly before: number; readonly after: number | undefined } | undefined;
    }
  /** The operation is over, and its rows are in place. For a search also what arrived, even if it was cut. */
  | { readonly is: 'ended'; readonly received?: Received };

/** A preview of the purchase. */
export interface Previewed {
  /** The request that would be sent (of a list, the first); undefined if nothing that can cost would be sent. */
  readonly request: Preview | undefined;
  readonly worst: Cost;
  /** The balance, if the service sent it. */
  readonly available: number | undefined;
  /** For a list. */
  readonly rows: CountedRows | undefined;
  /**
   * The operation that would be resumed. `isAgain`: the same request is sent again, with its key. `isRunning`: another process is working
   * on it and must end first.
   */
  readonly resumes:
    | { readonly operation: Operation; readonly isAgain: boolean; readonly isRunning: boolean }
    | undefined;
}

/** An earlier run of the same order that is not resumed, and why. It may have been charged. */
export interface EarlierRun {
  readonly operation: Operation;
  /** It has all; it is resumed only when the user asks for it; or it can't be resumed. */
  readonly why: 'complete' | 'unfinished' | Unresumable;
}

/** Nothing arrived; the answer was lost; the service has lost the task; what arrived is no longer stored; or it can't be read. */
export type Unresumable = 'in_doubt' | 'lost' | 'gone' | 'not_kept' | LeadpipeError;

/** An earlier run that can't be resumed. */
export type UnresumableRun = EarlierRun & { readonly why: Unresumable };

/** The operation to resume, and the cost of its rest. */
export interface Resuming {
  readonly operation: Operation;
  /** How many of its leads are stored. */
  readonly stored?: number;
  /** For a list: how many of its rows are paid for, and how many there are. */
  readonly rows?: Pick<CountedRows, 'done' | 'all'> | undefined;
  /** How many leads are bought at most; undefined where that is not known. */
  readonly rest?: number;
  /** The most that the rest can cost; undefined where that is not known. */
  readonly credits?: number | undefined;
  /** Whether its last request may have been charged, and nothing of it arrived. */
  readonly isInDoubt?: boolean;
}

export interface Received {
  readonly leads: number;
  /** How many of them were dropped on this machine. */
  readonly excluded: number;
  readonly leadsSearchId: string | undefined;
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
  readonly stopReason: string | undefined;
}

export interface BoughtTask {
  readonly leadsSearchId: string;
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
}

/** An operation: a generator of events that returns its result. */
export type Running<T, Event = OperationEvent> = AsyncGenerator<Event, T, void>;

/** Timeout for the balance at the end of a run, in milliseconds. */
export const balanceMs = 300;

/**
 * Runs an operation to its end and waits for `show` at each event. What `show` throws is thrown at the operation's `yield`. Throws what the
 * operation throws.
 */
export async function runToEnd<T, Event>(
  operation: Running<T, Event>,
  show: (event: Event) => void | Promise<void>,
): Promise<T> {
  let step = await operation.next();
  while (!step.done) {
    try {
      await show(step.value);
    } catch (error) {
      step = await operation.throw(error);
      continue;
    }
    step = await operation.next();
  }
  return step.value;
}

/** The warnings that helpers of an operation collected. */
export function* warningsOf(lines: string[]): Generator<OperationEvent, void, void> {
  for (const line of lines.splice(0)) yield { is: 'warning', line };
}
