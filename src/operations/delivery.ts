import type { Addition } from '../files/addition.ts';
import type { Records } from '../json/text.ts';

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
  /** There should have been more: closes it. Returns the file that holds what arrived, if one does. After `finish` it does nothing. */
  cut(): Promise<string | undefined>;
}

/** Opens the port: what can't be opened is found out before anything is sent. Whoever opens it ends it, with `finish` or `cut`. */
export type OpenDelivery = () => Promise<Delivery>;

/** Awaited before an output is put into place, each once. */
export interface Placing {
  /** Every byte is on the disk, in the .part; undefined where it has no length. */
  written?(length: number | undefined): Promise<void>;
  /** The rows are about to be added to those that the file has. A run that is killed in this is completed with what this says. */
  adding?(addition: Addition): Promise<void>;
}
