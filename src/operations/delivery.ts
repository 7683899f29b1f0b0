import type { Addition } from '../files/addition.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import type { Opening } from '../files/target.ts';
import type { Records } from '../json/text.ts';
import type { Progress } from './operation.ts';

/** The port through which records leave. */
export interface Delivery {
  /** The file that records go to, as the user named it. Undefined for a stream: no one knows what was read from it. */
  readonly file: string | undefined;
  /** Bytes of complete writes in the file so far; undefined where the output has no length. */
  readonly length: number | undefined;
  /** Resolves when it can take more. */
  write(records: Records): Promise<void>;
  /**
   * Resolves when everything written is on the disk. Returns the bytes of complete writes in the file, undefined where it has no length.
   */
  sync(): Promise<number | undefined>;
  /**
   * Everything has been written: the file appears, or the rows are added to it, even if the run fails afterwards. Without any rows, the file has
   * its header alone.
   */
  finish(placing?: Placing): Promise<void>;
  /** Closes an output that lacks records. Returns the file that holds what arrived, if there is one, also when it is called again. Does nothing after `finish`. */
  cut(): Promise<string | undefined>;
}

/**
 * Opens the port, before anything is sent, so that a wrong path costs nothing. Who opens it must end it with `finish` or `cut`. `progress` is
 * what earlier runs have put into the same output, whose lock is `lock`. `operationId` is undefined for one that is not recorded.
 */
export type OpenDelivery = (
  opening: Opening,
  progress: Progress | undefined,
  lock: HeldLock,
  operationId: string | undefined,
) => Promise<Delivery>;

/** How an output is put into place. The functions are awaited, once each, before it is. */
export interface Placing {
  /** There should have been more. Such a run without any rows leaves the file as it was. */
  readonly isPartial?: boolean;
  /** Every byte is on the disk, in the .part. The length is undefined where there is none. */
  written?(length: number | undefined): Promise<void>;
  /** The rows are about to be added to those in the file. If the run is killed now, this describes how to complete it. */
  adding?(addition: Addition): Promise<void>;
}
