import type { TaskState } from '../../contract/types.ts';
import { type Charged, ConfigurationError, type Outcome } from '../../errors.ts';
import type { Addition } from '../../files/addition.ts';
import { checkedLines, type Said, toCheckedLine } from '../../files/line-log.ts';

/** What an operation is about to do. Nothing is sent before its intent is on the disk. */
export interface Intent {
  readonly type: 'intent';
  /** The version of the journal. Since 2, the rows of --append stay in a .part until all of them are there. */
  readonly version?: number;
  readonly time: string;
  readonly command: string;
  /** The key and the exact body of the POST; absent when nothing is bought. */
  readonly idempotency_key?: string;
  readonly body?: string;
  /** The most that it, or each row of a list, can cost by the prices of that day; null where these were not known. */
  readonly worst_case?: number | null;
  /** For a list: its limit, as given when it was begun. */
  readonly max_credits?: number;
  readonly credits_before?: number;
  readonly leads_search_id?: string;
  readonly profile: string | null;
  readonly origin: string;
  /** Short, and salted with the operation ID: it only tells keys apart. The key itself is never stored. */
  readonly key_fingerprint: string;
  readonly output: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  /** The list that the leads count for; absent where there is none. */
  readonly list?: string;
  /** The body before the leads of the list were excluded from it; absent where everything that arrives is delivered. */
  readonly asked?: string;
  /** For a list: the values that decide, together with a row, what is sent for it. */
  readonly row_request?: string;
  /** The search that this one continues. */
  readonly continues?: string;
  /** The most that all of it can cost, as far as that is known. */
  readonly reserved?: number;
}

/** A line of the journal. The names are those of the interface. */
export type JournalEntry =
  | Intent
  | Readonly<
      /** The request is about to go out. Without this entry, the service has received nothing of the operation. */
      | { type: 'sent'; time: string }
      /** The service has told the ID of the task, or of the search whose leads are about to be printed. */
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
          /** In the first entry: the enrich fields that the leads had. The columns were made from them. */
          enrich_fields?: readonly string[];
          /** How many of these leads were dropped on this machine. The positions and counts of the service include them. */
          excluded?: number;
        }
      /** Everything is written again: a task into a new file, where earlier pages don't count, or a list in another form or file. */
      | { type: 'restarted'; options: Intent['options'] }
      /** The output is open and has no row of this operation. What stands before this length is not ours. */
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
      /**
       * How many leads have been delivered, and how many were dropped on this machine: the service has sent both. The length is as in
       * `page`.
       */
      | {
          type: 'batch';
          delivered: number;
          excluded?: number;
          leads_search_id: string | null;
          request_id: string | null;
          output_length: number | null;
        }
      /**
       * The rows are about to be added to the end of a file, in one step. For a list, `rows` is the file beside the journal that says which
       * rows these are.
       */
      | ({ type: 'adding'; rows?: string } & Addition)
      /** The file is in its place, or its rows have been added. A .part beside it belongs to another operation. */
      | { type: 'placed' }
      /** A list that is resumed can cost this in addition. */
      | { type: 'reserved'; time: string; credits: number }
      /** A list stopped early: what this run may have cost, in place of what was reserved for it. */
      | { type: 'spent'; credits: number }
      /**
       * How the request ended. Without a later `terminal`, it is not known whether it was charged. `gone`: the service does not send the
       * answer again.
       */
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
      /** Another operation has the rest of a search that was cut. */
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
          /** For a list: how many rows were sent that may have been charged, over all its runs. */
          sent_rows?: number;
          /** The credits that count for the day, in place of what was reserved. */
          spent?: number;
          /** The user does not want the rest: it is not resumed. */
          dropped?: true;
        }
    >;

export type EntryOf<Type extends JournalEntry['type']> = Extract<JournalEntry, { type: Type }>;

/** Pure: the entry for an operation without a task that has nothing left to do. */
export function toTerminal(outcome: Outcome, more: Partial<EntryOf<'terminal'>> = {}): EntryOf<'terminal'> {
  return { type: 'terminal', outcome, state: null, ready_count: null, ...more };
}

export function toLine(entry: JournalEntry): string {
  return toCheckedLine('entry', JSON.stringify(entry));
}

/**
 * Pure: the lines of a journal. An incomplete last line is ignored: what it says was never done. Throws ConfigurationError for any other
 * bad line.
 */
export function toEntries(text: string, path: string): JournalEntry[] {
  return checkedLines(text).map((said, index) => toEntry(said, index + 1, path));
}

/** Pure: what a line says. Throws ConfigurationError for a bad one. */
export function toEntry(said: Said | undefined, line: number, path: string): JournalEntry {
  if (said?.member !== 'entry') throw damaged(line, path);
  return JSON.parse(said.text);
}

export function damaged(
  line: number | undefined,
  path: string,
  what: 'this operation' | 'this list' = 'this operation',
): ConfigurationError {
  return new ConfigurationError(
    `${line === undefined ? 'a line' : `line ${line}`} of ${path} is damaged`,
    `To continue without ${what}, move its folder elsewhere. leadpipe did not change it.`,
  );
}
