import type { PayingClient } from '../connection/paying-client.ts';
import type { Records } from '../json/text.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { Buyer } from './buyer.ts';
import type { Delivery } from './delivery.ts';
import type { EarlierRun, Resuming, Running } from './events.ts';
import type { Cost, Intent, JournalEntry } from './journal/entries.ts';
import type { Journal } from './journal/journal.ts';
import type { Reader } from './journal/operation-index.ts';
import type { ReceivedLog, ReceivedRecord } from './journal/received.ts';
import type { CountedRows } from './kinds/list-rows.ts';
import type { Operation } from './operation.ts';
import type { Order } from './order.ts';
import type { Costs } from './reservation.ts';

/**
 * The state of one purchase, or of reading a task for free. Its members are set in this order: order, earlier run, plan, journal, output. A kind
 * gets it to make its plan, which writes nothing, and again to perform the plan.
 */
export interface Run<Body extends object = object> {
  readonly buyer: Buyer;
  readonly order: Order<string, Body>;

  /** What this machine has bought. */
  readonly reader: Reader;
  /** The operation that is resumed, as it was before this run; undefined for a new one. */
  readonly operation: Operation | undefined;
  /** For a named run of a list: operations that have bought rows of it, newest first. */
  readonly answers: readonly Operation[];
  /** Whether to buy everything again if the operation can't be resumed. */
  readonly mayStartOver: boolean;
  /** An earlier run of the same order that is not resumed: this one is bought again. */
  readonly before: EarlierRun | undefined;
  /** Adds a warning, which is shown before anything is sent. */
  warn(line: string): void;

  /** The key of what is sent; empty where nothing is. */
  readonly idempotencyKey: string;

  /** The open journal. It holds the lock of the operation. */
  readonly journal: Journal;
  /** The operation, as far as it is recorded; undefined where only its cost is. */
  readonly operationId: string | undefined;
  /** Where this machine stores what arrives; undefined where nothing is stored. */
  readonly folder: string | undefined;
  /** What it has received, to add to it; undefined where nothing is stored, and for a list. */
  readonly received: ReceivedLog | undefined;

  readonly delivery: Delivery;
  /**
   * The only way to get a client that can buy. Returns when the request is in the journal on the disk, and the output is open and has all records of
   * earlier runs.
   */
  begin(): Running<(waits?: WaitListener) => PayingClient>;
  /** Writes records into the output, and counts them where they can't be printed again. */
  deliver(records: Records): Promise<void>;
  /** Puts the output into its place. */
  place(isPartial?: boolean): Promise<void>;
  /** Keeps the rows in a temporary file, and returns its path; undefined without rows. Removes files of earlier runs that are not larger. */
  keep(): Promise<string | undefined>;
  /** Whether rows of an earlier run of this operation were added to the output, which then has all of them. */
  isAddedBefore(): Promise<boolean>;
  /** Writes entries and syncs them to the disk. Throws LocalIoError, LockLostError. */
  append(...entries: readonly JournalEntry[]): Promise<void>;
  /**
   * Counts an additional possible cost for today; `moved` was counted for an earlier day, and is sent now. Throws `credits` if the limit of the day
   * does not cover it, LocalIoError.
   */
  reserve(cost: Cost, moved?: Cost): Promise<void>;
  /** Moves a cost that was counted for earlier runs of the operation to this run. */
  countNow(cost: Cost): void;
  /**
   * Writes and syncs the last entries, with the cost of the operation, which only this computes. Throws LocalIoError if not even the spare file makes
   * enough space for them.
   */
  end(...entries: readonly JournalEntry[]): Promise<void>;
}

/** The plan of a run, which its kind makes before anything is paid. */
export interface Plan<Result> {
  /**
   * What is sent; undefined where nothing is left to buy, and for a list, of which a preview shows the first request. `again`: the key with
   * which exactly this was sent before.
   */
  readonly purchase?: { readonly body: object; readonly again?: string | undefined } | undefined;
  readonly costs: Costs;
  /** For a list: its requests, where they could be counted. */
  readonly rows?: CountedRows | undefined;
  /** Additional members for the intent of a new operation. */
  readonly intent?: Partial<Intent>;
  /** Additional members for the entry `rest`; undefined if a resumed operation buys nothing with another key. */
  readonly rest?: { readonly delivered: number; readonly excluded: number };
  /** The data for the event `resuming`. */
  readonly resuming?: Resuming;
  /** How many of the stored records are valid, if not all: the others are cut off. */
  readonly stored?: number;
  /** Formats stored records for the output. By default, dropped ones are left out, and the others unchanged. `from`: number of the first. */
  readonly toPrinted?: (records: readonly ReceivedRecord[], from: number) => Records;
  perform(): Running<Result>;
}
