import type { TaskState } from '../contract/types.ts';
import type { Addition } from '../files/addition.ts';
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
  /** Resolves when everything written is on the disk; returns the bytes of whole writes in the file, undefined where it has no length. */
  sync(): Promise<number | undefined>;
  /** Everything that will ever be there has been written: the file appears, or its rows at the end of it, also when the run then fails. */
  finish(placing?: Placing): Promise<void>;
  /** There should have been more: closes it. Returns the file that holds what arrived, if one does. */
  cut(): Promise<string | undefined>;
}

/** Runs `work` with the port open. What can't be opened is found out before anything is sent. */
export type OpenDelivery = <T>(work: (delivery: Delivery) => Promise<T>) => Promise<T>;

/** Awaited before an output is put into place, each once. */
export interface Placing {
  /** Every byte is on the disk, in the .part; undefined where it has no length. */
  written?(length: number | undefined): Promise<void>;
  /** The rows are about to be added to those that the file has. A run that is killed in this is completed with what this says. */
  adding?(addition: Addition): Promise<void>;
}

/**
 * How the .part beside the output is opened. `new`: one that is there is somebody else's, and goes to another name. `anew`: what
 * stands in it is this operation's, and is written again from the start. `at`: it is gone on with behind so many bytes.
 */
export type Opening = 'new' | { readonly anew: true } | { readonly at: number };

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

/** Hears how it goes. */
export interface Listener {
  /** Around what takes its time. */
  during<T>(stage: Stage, delivery: Delivery, work: (watch: Watch) => Promise<T>): Promise<T>;
  /** What was odd and did no harm. */
  warn(line: string): void;
  readonly waits?: WaitListener;
  /** What a list has is left out: how many leads that are. */
  readonly leavesOut?: (list: string, leads: number) => void;
}
