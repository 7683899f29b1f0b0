import type { Addition } from '../files/addition.ts';
import type { Records } from '../json/text.ts';

/** The port through which records leave. */
export interface Delivery {
  /** The file that records go to, as the user named it. Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether it is read by others as it is written (standard output, a FIFO), and so is never written again from the start. */
  readonly isPipe: boolean;
  /** Resolves when it can take more. */
  write(records: Records): Promise<void>;
  /**
   * Everything has been written: the file appears, or the rows are added to it. Without any rows, the file has its header alone. `isPartial`: there
   * should have been more; such a run without any rows leaves the file as it was. `placing` is awaited right before the file is put in its place, or rows are
   * added to it: then it gets how to see later whether that has happened. Returns the real path of the file, if it is in its place.
   */
  finish(isPartial?: boolean, placing?: (addition?: Addition) => Promise<void>): Promise<string | undefined>;
  /** Closes an output that lacks records. Returns the file that holds what arrived, if there is one, also when it is called again. Does nothing after `finish`. */
  cut(): Promise<string | undefined>;
}

/**
 * Opens the port, before anything is sent, so that a wrong path costs nothing. Who opens it must end it with `finish` or `cut`. `operationId` is undefined
 * for one that is not recorded, and `announce` is awaited before a file is made.
 */
export type OpenDelivery = (
  operationId: string | undefined,
  announce: (file: string) => Promise<void>,
) => Promise<Delivery>;
