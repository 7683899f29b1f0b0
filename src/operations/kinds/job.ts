import type { PayingClient } from '../../connection/paying-client.ts';
import type { Opening } from '../../files/target.ts';
import type { WaitListener } from '../../transport/retry.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery, Placing } from '../delivery.ts';
import type { Resuming, Running } from '../events.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import type { Reader } from '../journal/operation-index.ts';
import type { Costs } from '../money.ts';
import type { Operation, OutputTerms, Progress } from '../operation.ts';
import type { CountedRows, ListRows } from './list-rows.ts';
import type { PollTimes } from './task-patience.ts';

/** What is ordered: data, from which a run can be made now or later. `body` is the request, or what is sent for the rows of a list. */
export interface Order<Name extends string = string, Body extends object = object> {
  readonly kind: Name;
  readonly body: Body;
  /** A key that the user chose. */
  readonly idempotencyKey?: string | undefined;
  /**
   * For a search or a task run: the list that its leads count for (its entity type's own by default), and whether only leads that are new
   * there are wanted.
   */
  readonly list?: { readonly name?: string | undefined; readonly onlyNew?: boolean | undefined } | undefined;
  /** Whether the request and its cost are only shown: nothing is bought, and no operation is locked. */
  readonly isPreview?: boolean;
  /** Whether it can be shown again and resumed. Otherwise only its cost is recorded. */
  readonly keep: boolean;
  readonly terms: OutputTerms;
  /** For a task: how it is read. */
  readonly read?: ReadTerms;
  /** For a list: its rows, and how they are bought. */
  readonly rows?: ListRows;
}

/** How a task is read. */
export interface ReadTerms {
  readonly num: number;
  readonly poll: PollTimes;
  /** How long to wait, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** Whether each record has its position. */
  readonly positions: boolean;
}

/** What a kind is asked to plan: an order, and the operation that is resumed, if there is one. Planning writes nothing. */
export interface PlanRequest<Body extends object = object> {
  readonly buyer: Buyer;
  readonly order: Order<string, Body>;
  readonly operation: Operation | undefined;
  /** What this machine has bought. */
  readonly reader: Reader;
  /** Whether the rows go where those of the operation went, and whether the .part there is still its own. */
  readonly isSameOutput: boolean;
  readonly isOurs: boolean;
  /** For a named run of a list: operations that have bought rows of it, newest first. */
  readonly answers: readonly Operation[];
  /** Whether it is bought again where the operation can't be resumed. */
  readonly mayStartOver: boolean;
  warn(line: string): void;
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
  perform(job: Job): Running<Result>;
}

/** What a kind works with, once everything is on the disk that a later run needs. */
export interface Job {
  readonly buyer: Buyer;
  /** What is bought, and with which key; empty where nothing is. */
  readonly body: object;
  readonly idempotencyKey: string;
  /** What this operation was and brought before this run. */
  readonly operation: Operation | undefined;
  /** The operation, as far as it is recorded; undefined where only its cost is. */
  readonly operationId: string | undefined;
  /** Where this machine stores what arrives; undefined where nothing is stored. */
  readonly folder: string | undefined;
  /** Also the lock of the operation: its right to write. */
  readonly journal: Journal;
  /** Opens the output, for rows behind those of `progress`. Throws LocalIoError and UsageError. */
  open(opening: Opening, progress?: Progress): Promise<Delivery>;
  /** The output, once it is open. */
  readonly delivery: Delivery;
  /** The only way to a client that can buy. It returns once the journal on the disk says what will be sent and where its rows begin. */
  begin(): Running<(waits?: WaitListener) => PayingClient>;
  /** Puts the output into its place. `rows` says which rows are added to a file. */
  place(
    placing?: Pick<Placing, 'isPartial' | 'written'> & { readonly rows?: () => Promise<string> },
  ): Promise<void>;
}
