import type { PayingClient } from '../../connection/paying-client.ts';
import type { LeadpipeError } from '../../errors.ts';
import type { Opening } from '../../files/target.ts';
import type { WaitListener } from '../../transport/retry.ts';
import type { Buyer } from '../buyer.ts';
import type { Delivery } from '../delivery.ts';
import type { Running } from '../events.ts';
import type { Intent } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import type { Costs } from '../money.ts';
import type { Operation, OutputTerms } from '../operation.ts';

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
  /** Whether the request and its cost are only shown, and nothing is bought. */
  readonly isPreview?: boolean;
  /** Whether it can be shown again and resumed. Otherwise only its cost is recorded. */
  readonly keep: boolean;
  readonly terms: OutputTerms;
}

/** What a kind is asked to plan: an order, and the operation that is resumed, if there is one. Its journal is locked. */
export interface Asked<Body extends object = object> {
  readonly buyer: Buyer;
  readonly order: Order<string, Body>;
  readonly operation: Operation | undefined;
  /** Whether the rows go where those of the operation went, and whether the .part there is still its own. */
  readonly isSameOutput: boolean;
  readonly isOurs: boolean;
  warn(line: string): void;
}

/** What a run does, as its kind plans it before anything costs. */
export interface Plan<Result> {
  /** What is sent; undefined where nothing is left to buy, and for a list. `again`: the key with which exactly this was sent before. */
  readonly purchase?: { readonly body: object; readonly again?: string | undefined } | undefined;
  readonly costs: Costs;
  /** What the intent of a new operation says, in addition. */
  readonly intent?: Partial<Intent>;
  /** What the entry of the rest says, in addition; undefined where a resumed operation buys nothing with another key. */
  readonly rest?: { readonly delivered: number; readonly excluded: number };
  readonly opening: Opening;
  /** What is told about the operation that is resumed. */
  readonly resuming?: Resuming;
  perform(job: Job): Running<Result>;
}

/** A run of the same order that can't be resumed, and why. It may have been charged. */
export interface LeftBehind {
  readonly operation: Operation;
  /** Nothing arrived; the answer was lost; what arrived is no longer stored; or it can't be read. */
  readonly why: 'in_doubt' | 'lost' | 'not_kept' | LeadpipeError;
}

/** What is resumed, and what that costs. */
export interface Resuming {
  readonly operation: Operation;
  /** What is stored of it, where that is counted. */
  readonly stored?: number;
  /** How many leads or rows are bought at most; undefined where that is not known. */
  readonly rest?: number;
  /** The most that the rest can cost; undefined where that is not known. */
  readonly credits?: number;
  /** Whether its last request may have been charged, and nothing of it arrived. */
  readonly isInDoubt?: boolean;
}

/** What a kind works with, once everything is on the disk that a later run needs. */
export interface Job {
  readonly buyer: Buyer;
  /** The key of the purchase; empty where nothing is bought. */
  readonly idempotencyKey: string;
  /** What this operation was and brought before this run. */
  readonly operation: Operation | undefined;
  /** The operation, as far as it is recorded; undefined where only its cost is. */
  readonly operationId: string | undefined;
  /** Where this machine stores what arrives; undefined where nothing is stored. */
  readonly folder: string | undefined;
  readonly journal: Journal;
  readonly delivery: Delivery;
  /** The only way to a client that can buy. It returns once the journal on the disk says what will be sent and where its rows begin. */
  begin(): Running<(waits?: WaitListener) => PayingClient>;
  /** Puts the output into its place. `rows` says which rows are added to a file. */
  place(rows?: () => Promise<string>): Promise<void>;
}
