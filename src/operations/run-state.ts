import type { PayingClient } from '../connection/paying-client.ts';
import type { Records } from '../json/text.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { Buyer } from './buyer.ts';
import type { Delivery } from './delivery.ts';
import type { EarlierRun, Resuming, Running } from './events.ts';
import type { Cost, Intent, JournalEntry } from './journal/entries.ts';
import type { Journal } from './journal/journal.ts';
import type { Reader } from './journal/operation-index.ts';
import type { Received, ReceivedRecord } from './journal/received.ts';
import type { CountedRows } from './kinds/list-rows.ts';
import type { Operation } from './operation.ts';
import type { Order } from './order.ts';
import type { Costs } from './reservation.ts';

/**
 * The one object that carries a purchase, or the reading of a task that is free. It is built in the order in which the story goes: ordered,
 * found, planned, written down, performed. A kind gets it to plan, which writes nothing, and again to perform what it has planned.
 */
export interface Run<Body extends object = object> {
  readonly buyer: Buyer;
  readonly order: Order<string, Body>;

  /** What this machine has bought. */
  readonly reader: Reader;
  /** The operation that is resumed; undefined for a new one. It says what was there before this run. */
  readonly operation: Operation | undefined;
  /** For a named run of a list: operations that have bought rows of it, newest first. */
  readonly answers: readonly Operation[];
  /** Whether it is bought again where the operation can't be resumed. */
  readonly mayStartOver: boolean;
  /** An earlier run of the same order that is not resumed: this one is bought again. */
  readonly before: EarlierRun | undefined;
  /** Collects what is to be told before anything is sent. */
  warn(line: string): void;

  /** The key of what is sent; empty where nothing is. */
  readonly idempotencyKey: string;

  /** Also the lock of the operation: its right to write. */
  readonly journal: Journal;
  /** The operation, as far as it is recorded; undefined where only its cost is. */
  readonly operationId: string | undefined;
  /** Where this machine stores what arrives; undefined where nothing is stored. */
  readonly folder: string | undefined;
  /** What it has received, to add to it; undefined where nothing is stored, and for a list. */
  readonly received: Received | undefined;

  readonly delivery: Delivery;
  /**
   * The only way to a client that can buy. It returns once the journal on the disk says what will be sent, the output is open, and has everything that
   * earlier runs have received.
   */
  begin(): Running<(waits?: WaitListener) => PayingClient>;
  /** Writes records into the output, and counts them where they can't be printed again. */
  deliver(records: Records): Promise<void>;
  /** Puts the output into its place. */
  place(isPartial?: boolean): Promise<void>;
  /** Leaves its rows in a file beside the output, and returns its path; undefined without rows. Those of earlier runs that are no longer than it go. */
  keep(): Promise<string | undefined>;
  /** Whether rows of an earlier run of this operation were added to the output, which then has all of them. */
  isAddedBefore(): Promise<boolean>;
  /** Writes entries, which the disk confirms. Throws LocalIoError, LockLostError. */
  append(...entries: readonly JournalEntry[]): Promise<void>;
  /**
   * Counts for today what can be paid in addition; `moved` was counted before, and is sent now. Throws `credits` where the limit of the day does not cover
   * it, LocalIoError.
   */
  reserve(cost: Cost, moved?: Cost): Promise<void>;
  /**
   * Writes the last entries, which the disk confirms, with what the operation has cost: the one place where that is worked out. Throws LocalIoError where
   * even the spare file leaves no room for them.
   */
  end(...entries: readonly JournalEntry[]): Promise<void>;
}

/** What a run does, as its kind plans it before anything costs. */
export interface Plan<Result> {
  /**
   * What is sent; undefined where nothing is left to buy, and for a list, of which a preview shows the first request. `again`: the key with
   * which exactly this was sent before.
   */
  readonly purchase?: { readonly body: object; readonly again?: string | undefined } | undefined;
  readonly costs: Costs;
  /** For a list: its requests, where they could be counted. */
  readonly rows?: CountedRows | undefined;
  /** What the intent of a new operation says, in addition. */
  readonly intent?: Partial<Intent>;
  /** What the entry of the rest says, in addition; undefined where a resumed operation buys nothing with another key. */
  readonly rest?: { readonly delivered: number; readonly excluded: number };
  /** What is told about the operation that is resumed. */
  readonly resuming?: Resuming;
  /** How many records of the operation are whole, if not all that are stored: what is behind them is cut off. */
  readonly stored?: number;
  /** How stored records are printed; by default as they came, those that were dropped not at all. `from` is the number of the first one. */
  readonly toPrinted?: (records: readonly ReceivedRecord[], from: number) => Records;
  perform(): Running<Result>;
}
