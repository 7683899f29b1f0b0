import type { TaskState } from '../contract/types.ts';
import type { Records } from '../json/text.ts';
import type { WaitListener } from '../transport/retry.ts';

/** The port that records leave by. */
export interface Delivery {
  /** The file that they go to, as the user named it; undefined for a stream, of which nobody knows what was read. */
  readonly file: string | undefined;
  /** Bytes of whole writes in the file so far; undefined where it has no length. */
  readonly length: number | undefined;
  /** Resolves when it can take more. */
  write(records: Records): Promise<void>;
  /** To be called when all rows of an earlier run have been written again: what else stands behind them is not ours. */
  settle(): Promise<void>;
  /** Resolves when everything written is on the disk; returns the bytes of whole writes in the file, undefined where it has no length. */
  sync(): Promise<number | undefined>;
  /**
   * Everything that will ever be there has been written: the file appears, also when the run then fails. `counted` is
   * awaited before that, with the file's length, once every byte is on the disk.
   */
  finish(counted?: (length: number | undefined) => Promise<void>): Promise<void>;
  /** There should have been more: closes it. Returns the file that holds what arrived, if one does. */
  cut(): Promise<string | undefined>;
}

/** Runs `work` with the port open. What can't be opened is found out before anything is sent. */
export type OpenDelivery = <T>(work: (delivery: Delivery) => Promise<T>) => Promise<T>;

/** Where rows of an earlier run may stand in the file that is opened. */
export interface Resumed {
  /** Where the counted rows end; undefined where that run may not have come to opening the file. */
  readonly at: number | undefined;
  /** Where others stand behind them in a file that rows are added to, the rest goes behind those; without it, that is an error. */
  readonly orBehind?: true;
}

/** What takes its time. */
export type Stage = 'asking' | 'searching' | 'creating' | 'waiting' | 'fetching';

/** What is shown meanwhile. */
export interface Watch {
  /** Delivers, and counts what is delivered. */
  write: Delivery['write'];
  /** How far a task is. */
  progress(state: TaskState, readyCount: number): void;
  /** The service has stumbled, and is asked again. */
  stumbled(fault: Error): void;
}

/** Who is told how it goes. */
export interface Listener {
  /** Around what takes its time. */
  during<T>(stage: Stage, delivery: Delivery, work: (watch: Watch) => Promise<T>): Promise<T>;
  /** What was odd and did no harm. */
  warn(line: string): void;
  readonly waits?: WaitListener;
}

/** Pure: `1 lead`, `2 leads`. */
export function countOf(leads: number): string {
  return `${leads} ${leads === 1 ? 'lead' : 'leads'}`;
}
