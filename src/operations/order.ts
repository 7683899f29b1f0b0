import type { ListRows } from './kinds/list-rows.ts';
import type { PollTimes } from './kinds/task-patience.ts';
import type { OutputTerms } from './operation.ts';

/** What is ordered: data, from which a run can be made now or later. `body` is the request, or what is sent for the rows of a list. */
export interface Order<Name extends string = string, Body extends object = object> {
  readonly kind: Name;
  readonly body: Body;
  /** A key that the user chose. */
  readonly idempotencyKey?: string | undefined;
  /**
   * For a search or a task: the list that its leads count for, and whether only leads that are new in the list are wanted. With `onlyNew`, the
   * default list is that of the entity type; without both, leads count for no list.
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
  readonly timeoutMs?: number | undefined;
  /** Whether each record has its position. */
  readonly positions: boolean;
}
