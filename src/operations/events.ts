import type { TaskState } from '../contract/types.ts';
import type { Preview } from '../transport/request.ts';
import type { WorstCase } from './money.ts';

/** The steps that take time. */
export type Stage = 'asking' | 'searching' | 'creating' | 'waiting' | 'fetching';

/** What happens while an operation runs. Its caller shows it. */
export type OperationEvent =
  /** Shown instead of sending: the request and its possible cost. `available` is the balance, if the service told it. */
  | {
      readonly is: 'preview';
      readonly request: Preview;
      readonly worst: WorstCase;
      readonly available: number | undefined;
    }
  /** The request is stored and goes out. From now on the operation can be found. */
  | { readonly is: 'begun' }
  /** What the operation now waits for. */
  | { readonly is: 'stage'; readonly stage: Stage }
  /** This many more records are in the output. */
  | { readonly is: 'delivered'; readonly records: number }
  | { readonly is: 'task_seen'; readonly state: TaskState; readonly readyCount: number }
  /** The service failed, and is asked again. */
  | { readonly is: 'stumbled'; readonly fault: Error }
  /** Something odd that did no harm. */
  | { readonly is: 'warning'; readonly line: string }
  /** The task exists, even if its ID can't be written to the output. */
  | { readonly is: 'created'; readonly task: BoughtTask }
  /** The last page of a task, which begins at this position, is printed again. */
  | { readonly is: 'resuming'; readonly from: number }
  /** The rows in the file are gone: the whole task is read again. */
  | { readonly is: 'reading_again'; readonly why: Error }
  /** The operation is over, and its rows are in place. For a search also what arrived, even if it was cut. */
  | { readonly is: 'ended'; readonly arrived?: Arrived };

export interface Arrived {
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
  readonly idempotencyKey: string;
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
}

/** An operation: a generator of events that returns its result. */
export type Running<T, Event = OperationEvent> = AsyncGenerator<Event, T, void>;

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
