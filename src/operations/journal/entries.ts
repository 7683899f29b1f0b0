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
  | Readonly<
      /** The request is about to go out; without it, nothing of this operation has reached the service. */
      | { type: 'sent'; time: string }
      /** The service has named the task, or the search whose leads are about to be printed. */
      | { type: 'created'; leads_search_id: string; request_id: string | null }
      | {
          type: 'page';
          pts: number;
          count: number;
          next: number;
          ready_count: number;
          state: TaskState | null;
          /** Bytes of the output file that are on the disk; null when the output has none. */
          output_length: number | null;
          /** In the first one: the enrich fields that were found, of which columns were made. */
          enrich_fields?: readonly string[];
          /** How many of these leads were dropped here. Positions and counts are the service's, and count them. */
          excluded?: number;
        }
      /** All is written again: of a task into a new file, so that what was read before does not count; of a list in another form, or elsewhere. */
      | { type: 'restarted'; options: Intent['options'] }
      /** The output is open, and no row has been written: what is in front of this length is not ours. */
      | { type: 'opened'; output_length: number }
      /** Everything has arrived, and is on the disk, but perhaps not in its place. */
      | {
          type: 'written';
          state: TaskState | null;
          ready_count: number | null;
          output_length: number | null;
          stop_reason?: string | null;
        }
      | { type: 'answered'; request_id: string | null; idempotency_key?: string | null }
      /** How many leads are delivered so far and, beside them, dropped here: the service has sent both. The length is as in `page`. */
      | {
          type: 'batch';
          delivered: number;
          excluded?: number;
          leads_search_id: string | null;
          request_id: string | null;
          output_length: number | null;
        }
      /** The rows are about to be added at the end of a file, in one go: where, how many bytes, and which. Of a list, `rows` is the file beside the journal that says which rows these are. */
      | { type: 'adding'; at: number; length: number; digest: string; rows?: string }
      /** The file is in its place, or its rows are where they were to be added: a .part beside it is another's. */
      | { type: 'placed' }
      /** A list that is gone on with can cost this, beside what it has cost. */
      | { type: 'reserved'; time: string; credits: number }
      /** A list was left before its end: what this run can have cost, in place of what was reserved for it. */
      | { type: 'spent'; credits: number }
      /** How the request ended; without a `terminal` after it, whether it was charged is not known. `gone`: the service does not give the answer again. */
      | {
          type: 'failed';
          outcome: Outcome;
          message: string;
          error_type?: string;
          request_id: string | null;
          charged: Charged | null;
          gone?: true;
        }
      | { type: 'balance'; credits: number }
      /** The rest of a cut search is another operation's. */
      | { type: 'continued'; operation_id: string }
      /** There is nothing left to do. */
      | {
          type: 'terminal';
          outcome: Outcome;
          state: TaskState | null;
          ready_count: number | null;
          charged?: Charged;
          /** Leads, items or answers delivered by the operation, over all its runs. */
          leads?: number;
          stop_reason?: string | null;
          /** Of a list: how many rows were sent that may have been charged, over all its runs. */
          sent_rows?: number;
          /** The credits that count for the day, in place of what was reserved. */
          spent?: number;
          /** Nobody wants the rest: it is not gone on with. */
          dropped?: true;
        }
    >;

export type EntryOf<Type extends JournalEntry['type']> = Extract<JournalEntry, { type: Type }>;

/** Pure: what the pages of a task have brought, null without any, and how many leads were dropped here. A page that was read again counts once. */
export function countPages(entries: readonly JournalEntry[]): { leads: number | null; excluded: number } {
  const pages = new Map(entries.flatMap((entry) => (entry.type === 'page' ? [[entry.pts, entry]] : [])));
  let [count, excluded] = [0, 0];
  for (const page of pages.values()) {
    count += page.count;
    excluded += page.excluded ?? 0;
  }
  return { leads: pages.size === 0 ? null : count - excluded, excluded };
}

/** Pure: there is nothing left to do, of an operation that has no task. */
export function toTerminal(outcome: Outcome, more: Partial<EntryOf<'terminal'>> = {}): EntryOf<'terminal'> {
  return { type: 'terminal', outcome, state: null, ready_count: null, ...more };
}

export function lastOf<Type extends JournalEntry['type']>(
  entries: readonly JournalEntry[],
  type: Type,
): EntryOf<Type> | undefined {
  return entries.findLast((entry): entry is EntryOf<Type> => entry.type === type);
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
