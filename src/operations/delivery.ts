import type { Addition } from '../files/addition.ts';
import type { Records } from '../json/text.ts';

/** An output for records. */
export interface Delivery {
  /** The file that records go to, as the user named it. Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether another program reads the output while it is written (standard output, a FIFO). It can't be restarted then. */
  readonly isPipe: boolean;
  /** Resolves when more can be written (back-pressure). */
  write(records: Records): Promise<void>;
  /**
   * Call this when all is written: puts the file in place, or adds the rows to it. Without rows, the file has only its header. `isPartial`: records
   * are missing; without any rows, the existing file then stays. `placing` is awaited right before the file changes; if rows are added, its argument
   * lets a later run detect whether that has happened. Returns the real path of the file, if it is in place.
   */
  finish(isPartial?: boolean, placing?: (addition?: Addition) => Promise<void>): Promise<string | undefined>;
  /** Closes an incomplete output. Returns the file with the received records, if any, also when called again. Does nothing after `finish`. */
  cut(): Promise<string | undefined>;
}

/**
 * Opens the output before anything is sent, so that a wrong path costs nothing. The caller must end it with `finish` or `cut`. `operationId` is
 * undefined if the operation is not recorded. `announce` is awaited before a file is created.
 */
export type OpenDelivery = (
  operationId: string | undefined,
  announce: (file: string) => Promise<void>,
) => Promise<Delivery>;
