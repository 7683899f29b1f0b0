import type { TaskState } from '../../contract/types.ts';
import { type Charged, ConfigurationError, type Outcome } from '../../errors.ts';
import { checkedLines, type Said, toCheckedLine } from '../../files/line-log.ts';

/** What is about to be done. Nothing is sent whose intent is not on disk. */
export interface Intent {
  readonly type: 'intent';
  /** Of the journal: since 2, rows of --append stand in a .part until they are all there. */
  readonly version?: number;
  readonly time: string;
  readonly command: string;
  /** The key and the exact body of the POST; absent when nothing is bought. */
  readonly idempotency_key?: string;
  readonly body?: string;
  /** The credits that it, or each row of a list, costs at most, by the prices of that day; null where they were not known. */
  readonly worst_case?: number | null;
  /** Of a list: what it may cost, as was said when it was begun. */
  readonly max_credits?: number;
  readonly credits_before?: number;
  readonly leads_search_id?: string;
  readonly profile: string | null;
  readonly origin: string;
  /** Short and salted with the operation ID: tells keys apart, and nothing more. The key itself is never kept. */
  readonly key_fingerprint: string;
  readonly output: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  /** The list that the leads count for; absent where there is none. */
  readonly list?: string;
  /** The body before what the list has was left out of it; absent where everything that arrives is delivered. */
  readonly asked?: string;
  /** Of many rows: what decides, with a row, what is sent for it, as values. */
  readonly row_request?: string;
  /** The search that this one is the rest of. */
  readonly continues?: string;
  /** The credits that all of it can cost at most, as far as that is known. */
  readonly reserved?: number;
}

/** A line of the journal; names are the wire's. */
export type JournalEntry =
  | Intent
  /** The request is about to go out; without it, nothing of this operation has reached the service. */
  | { readonly type: 'sent'; readonly time: string }
  /** The service has named the task, or the search whose leads are about to be printed. */
  | { readonly type: 'created'; readonly leads_search_id: string; readonly request_id: string | null }
  | {
      readonly type: 'page';
      readonly pts: number;
      readonly count: number;
      readonly next: number;
      readonly ready_count: number;
      readonly state: TaskState | null;
      /** Bytes of the output file that are on the disk; null when the output has none. */
      readonly output_length: number | null;
      /** In the first one: the enrich fields that were found, of which columns were made. */
      readonly enrich_fields?: readonly string[];
      /** How many of these leads were dropped here. Positions and counts are the service's, and count them. */
      readonly excluded?: number;
    }
  /** All is written again: of a task into a new file, so that what was read before does not count; of a list in another form, or elsewhere. */
  | { readonly type: 'restarted'; readonly options: Intent['options'] }
  /** The output is open, and no row has been written: what is in front of this length is not ours. */
  | { readonly type: 'opened'; readonly output_length: number }
  /** Everything has arrived, and is on the disk, but perhaps not in its place. */
  | {
      readonly type: 'written';
      readonly state: TaskState | null;
      readonly ready_count: number | null;
      readonly output_length: number | null;
      readonly stop_reason?: string | null;
    }
  | {
      readonly type: 'answered';
      readonly request_id: string | null;
      readonly idempotency_key?: string | null;
    }
  | {
      readonly type: 'batch';
      /** Leads delivered so far. */
      readonly delivered: number;
      /** Beside them, how many were dropped here: the service has sent both. */
      readonly excluded?: number;
      readonly leads_search_id: string | null;
      readonly request_id: string | null;
      /** As in `page`. */
      readonly output_length: number | null;
    }
  /** The rows are about to be added at the end of a file, in one go: where, how many bytes, and which. */
  | {
      readonly type: 'adding';
      readonly at: number;
      readonly length: number;
      readonly digest: string;
      /** Of a list: the file beside the journal that says which rows these are. */
      readonly rows?: string;
    }
  /** The file is in its place, or its rows are where they were to be added: a .part beside it is another's. */
  | { readonly type: 'placed' }
  /** A list that is gone on with can cost this, beside what it has cost. */
  | { readonly type: 'reserved'; readonly time: string; readonly credits: number }
  /** A list was left before its end: what this run can have cost, in place of what was reserved for it. */
  | { readonly type: 'spent'; readonly credits: number }
  /** How the request ended; without a `terminal` after it, whether it was charged is not known. */
  | {
      readonly type: 'failed';
      readonly outcome: Outcome;
      readonly message: string;
      readonly error_type?: string;
      readonly request_id: string | null;
      readonly charged: Charged | null;
      /** The service does not give the answer again. */
      readonly gone?: true;
    }
  | { readonly type: 'balance'; readonly credits: number }
  /** The rest of a cut search is another operation's. */
  | { readonly type: 'continued'; readonly operation_id: string }
  /** There is nothing left to do. */
  | {
      readonly type: 'terminal';
      readonly outcome: Outcome;
      readonly state: TaskState | null;
      readonly ready_count: number | null;
      readonly charged?: Charged;
      /** Leads, items or answers delivered by the operation, over all its runs. */
      readonly leads?: number;
      readonly stop_reason?: string | null;
      /** Of a list: how many rows were sent that may have been charged, over all its runs. */
      readonly sent_rows?: number;
      /** The credits that count for the day, in place of what was reserved. */
      readonly spent?: number;
      /** Nobody wants the rest: it is not gone on with. */
      readonly dropped?: true;
    };

/** Pure: how many leads were dropped here. A page that was read again counts once. */
export function excludedIn(entries: readonly JournalEntry[]): number {
  const pages = new Map<number, number>();
  let streamed = 0;
  for (const entry of entries) {
    if (entry.type === 'batch') streamed = entry.excluded ?? 0;
    else if (entry.type === 'page') pages.set(entry.pts, entry.excluded ?? 0);
  }
  return [...pages.values()].reduce((sum, excluded) => sum + excluded, streamed);
}

/** Pure: what a killed run was adding to its file, and may have added. */
export function pendingAddition(
  entries: readonly JournalEntry[],
): Extract<JournalEntry, { readonly type: 'adding' }> | undefined {
  const last = entries.findLast((entry) => entry.type === 'adding' || entry.type === 'placed');
  return last?.type === 'adding' ? last : undefined;
}

type Terminal = Extract<JournalEntry, { type: 'terminal' }>;

/** Pure: there is nothing left to do, of an operation that has no task. */
export function toTerminal(outcome: Outcome, more: Partial<Terminal> = {}): Terminal {
  return { type: 'terminal', outcome, state: null, ready_count: null, ...more };
}

export function lastOf<Type extends JournalEntry['type']>(
  entries: readonly JournalEntry[],
  type: Type,
): Extract<JournalEntry, { type: Type }> | undefined {
  return entries.findLast((entry): entry is Extract<JournalEntry, { type: Type }> => entry.type === type);
}

export function toLine(entry: JournalEntry): string {
  return toCheckedLine('entry', JSON.stringify(entry));
}

/**
 * Pure: the lines of a journal. A last one that was never finished is ignored: nothing that it tells of was done.
 * Throws ConfigurationError for any other that is bad.
 */
export function toEntries(text: string, path: string): JournalEntry[] {
  return checkedLines(text).map((said, index) => toEntry(said, index + 1, path));
}

/** Pure: what a line says. Throws ConfigurationError for a bad one. */
export function toEntry(said: Said | undefined, line: number, path: string): JournalEntry {
  if (said?.member !== 'entry') throw damaged(line, path);
  return JSON.parse(said.text);
}

export function damaged(line: number, path: string): ConfigurationError {
  return new ConfigurationError(
    `line ${line} of ${path} is damaged`,
    'To continue without this operation, move its folder elsewhere. leadpipe did not change it.',
  );
}
