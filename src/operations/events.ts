import type { TaskState } from '../contract/types.ts';
import type { Preview } from '../transport/request.ts';
import type { WorstCase } from './spending.ts';

/** What takes its time. */
export type Stage = 'asking' | 'searching' | 'creating' | 'waiting' | 'fetching';

/** What happens while an operation runs, for whoever runs it to show. */
export type OperationEvent =
  /** What would be sent, in place of sending it, and what is known of its cost; `available` credits, where the balance could be had. */
  | {
      readonly is: 'preview';
      readonly request: Preview;
      readonly worst: WorstCase;
      readonly available: number | undefined;
    }
  /** The request is on the disk and goes out: whoever looks for the operation finds it from now on. */
  | { readonly is: 'begun' }
  /** From now on, time goes into this. */
  | { readonly is: 'stage'; readonly stage: Stage }
  /** So many more records are in the output. */
  | { readonly is: 'delivered'; readonly records: number }
  | { readonly is: 'task_seen'; readonly state: TaskState; readonly readyCount: number }
  /** The service has stumbled, and is asked again. */
  | { readonly is: 'stumbled'; readonly fault: Error }
  /** What was odd and did no harm. */
  | { readonly is: 'warning'; readonly line: string }
  /** A task is there; also where its ID can't be written to the output then. */
  | { readonly is: 'created'; readonly task: BoughtTask }
  /** The last page of a task, which begins at this position, is printed again. */
  | { readonly is: 'resuming'; readonly from: number }
  /** What was in the file is gone: all of the task is read again. */
  | { readonly is: 'reading_again'; readonly why: Error }
  /** It is over, and its rows are where they belong; of a search what arrived, also where that was cut. */
  | { readonly is: 'ended'; readonly arrived?: Arrived };

export interface Arrived {
  readonly leads: number;
  /** How many of them were dropped here. */
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

/** An operation: it goes on as its events are asked for, to what it comes to. */
export type Running<T, Event = OperationEvent> = AsyncGenerator<Event, T, void>;

/**
 * Runs an operation to its end, at the pace of `show`: what that throws, the operation meets where it yielded. Throws what the
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

/** What helpers of an operation have to say, which it yields when they have returned. */
export function* warningsOf(lines: string[]): Generator<OperationEvent, void, void> {
  for (const line of lines.splice(0)) yield { is: 'warning', line };
}
