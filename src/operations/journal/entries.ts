import type { Connection } from '../../connection/connection.ts';
import type { TaskState } from '../../contract/types.ts';
import { type Charged, ConfigurationError, type Outcome } from '../../errors.ts';
import type { Addition } from '../../files/addition.ts';
import { checkedLines, type LineContent, toCheckedLine } from '../../files/line-log.ts';

/** The index's data about an operation besides its ID, so that it is found without its journal. */
export type Indexed = Readonly<{
  /** Digests that find operations of the same order. A match must be compared in full. */
  like: string;
  same?: string | undefined;
  /** Of the input of a list, or of the request of an agent's call: another one is not the same order, even at the same time. */
  exact?: string | undefined;
  output?: string | undefined;
  run?: string | undefined;
  key?: string | undefined;
  /** The task that it reads. */
  task?: string | undefined;
  /** The most that it can cost. */
  worst?: Cost | undefined;
  /** Whether it is found by the ID that the service gives it. */
  is_task?: true | undefined;
}>;

/**
 * Why a cost is unknown: the price of these units was not set (it counts once it is set), or the rows of an unfinished list were not counted.
 */
export type UnknownCost = { readonly setting: PriceName; readonly units: number } | 'rows';

/** A maximum cost: the known credits and, if they are not all, why the rest is unknown. */
export interface Cost {
  readonly credits: number;
  readonly unknown?: UnknownCost | undefined;
}

/** Settings with the prices, which the service does not tell. */
export type PriceName = Extract<keyof Connection['settings'], `price.${string}`>;

/** The plan of an operation. Nothing is sent before its intent is on the disk. */
export interface Intent {
  readonly type: 'intent';
  /** The version of the journal format. */
  readonly version: 1;
  /** See `Numbered`. */
  readonly number?: number;
  readonly index: Indexed;
  readonly time: string;
  readonly command: string;
  /** The key and the exact body of the POST; absent when nothing is bought. */
  readonly idempotency_key?: string;
  readonly body?: string;
  /** The most that it, or each row of a list, can cost by the prices of that day. */
  readonly worst_case?: Cost;
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
  readonly requested?: string;
  /** For a list: the values that decide, together with a row, what is sent for it. */
  readonly row_request?: string;
  /** Only the cost is recorded, for the day's limit: neither the request nor its results. */
  readonly unrecorded?: true;
  /** For a list: the most that its rows can cost together. */
  readonly reserved?: Cost;
}

/** The outcome of a list's run that was not stopped, and how many rows had ended; `all_rows` is null if the rows were not counted. */
export interface EndOfRun {
  readonly outcome?: Outcome;
  readonly done_rows?: number;
  readonly all_rows?: number | null;
}

/** A line of the journal. The names are those of the interface. */
export type JournalEntry =
  | Intent
  | Readonly<
      /** The request is about to go out. Without this entry, the service has received nothing of the operation. */
      | { type: 'sent'; time: string }
      /** The service has sent the ID of the task, or of the search whose leads are about to be printed. */
      | { type: 'created'; leads_search_id: string; request_id: string | null }
      /** A page of a task, whose records are stored. */
      | {
          type: 'page';
          pts: number;
          count: number;
          next: number;
          ready_count: number;
          state: TaskState | null;
          /** How many of these leads were dropped on this machine. The positions and counts of the service include them. */
          excluded?: number;
        }
      /** Everything has arrived and is stored. The output may not be in place yet. */
      | {
          type: 'answered';
          request_id: string | null;
          state?: TaskState | null;
          ready_count?: number | null;
          stop_reason?: string | null;
        }
      /** How many records all runs together have written to standard output. */
      | { type: 'printed'; records: number }
      /** The path of the temporary output file that this run is about to create. */
      | { type: 'part'; file: string }
      /** The rows are about to be added to a file, in one step. */
      | ({ type: 'adding' } & Addition)
      /** The rows are in the output file. `output` is the digest of its path. */
      | { type: 'placed'; output: string }
      /** A possible cost in addition, from this time on. `moved` was counted for an earlier day, and is sent again. */
      | { type: 'reserved'; time: string; cost: Cost; moved?: Cost; number?: number }
      /** The maximum cost of the operation so far, while it can be resumed. For a list, with the number of rows that may have been charged. */
      | ({ type: 'spent'; spent: Cost; sent_rows?: number } & EndOfRun)
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
      /** The rest of a search that was cut is bought, with another key. `delivered` and `excluded` are the leads that are stored so far. */
      | {
          type: 'rest';
          time: string;
          idempotency_key: string;
          body: string;
          worst_case: Cost;
          credits_before?: number;
          delivered: number;
          excluded: number;
          number?: number;
        }
      /** There is nothing left to do. */
      | {
          type: 'terminal';
          outcome: Outcome;
          state: TaskState | null;
          ready_count: number | null;
          charged?: Charged;
          /** Leads, items or answers delivered by the operation, over all its runs; and leads that were dropped on this machine. */
          leads?: number;
          excluded?: number;
          /** Of lookups: how many answers have found something, and how many have not. */
          found?: number;
          not_found?: number;
          stop_reason?: string | null;
          /** For a list: rows that may have been charged, over all its runs; ended rows; and all rows. */
          sent_rows?: number;
          done_rows?: number;
          all_rows?: number | null;
          /** The maximum cost of the operation, over all its runs. */
          spent?: Cost;
          /** The user does not want the rest: it is not resumed. */
          dropped?: true;
        }
    >;

/**
 * An entry that goes into the index before the journal. Its number is the highest number of the index plus one, so that these entries have
 * an order that does not depend on the clock.
 */
export type Numbered = EntryOf<'intent' | 'reserved' | 'rest'>;

export type EntryOf<Type extends JournalEntry['type']> = Extract<JournalEntry, { type: Type }>;

/** The members of an entry, without its type. */
type Content<Type extends JournalEntry['type']> = Omit<EntryOf<Type>, 'type'>;

/** Makes the entries that run.ts and the kinds write. Unknown values are undefined, and stored as null or not at all. */
export const entry = {
  intent: (intent: Omit<Content<'intent'>, 'index' | 'number'>): Omit<Intent, 'index' | 'number'> => ({
    type: 'intent',
    ...intent,
  }),
  rest: (rest: Content<'rest'>): EntryOf<'rest'> => ({ type: 'rest', ...rest }),
  sent: (time: Date): EntryOf<'sent'> => ({ type: 'sent', time: time.toISOString() }),
  created: (leadsSearchId: string, requestId: string | undefined): EntryOf<'created'> => ({
    type: 'created',
    leads_search_id: leadsSearchId,
    request_id: requestId ?? null,
  }),
  page: ({ excluded, ...page }: Content<'page'>): EntryOf<'page'> => ({
    type: 'page',
    ...page,
    ...(excluded ? { excluded } : {}),
  }),
  answered: (
    requestId: string | undefined,
    more: Partial<Omit<Content<'answered'>, 'request_id'>> = {},
  ): EntryOf<'answered'> => ({ type: 'answered', request_id: requestId ?? null, ...more }),
  printed: (records: number): EntryOf<'printed'> => ({ type: 'printed', records }),
  part: (file: string): EntryOf<'part'> => ({ type: 'part', file }),
  adding: (addition: Addition): EntryOf<'adding'> => ({ type: 'adding', ...addition }),
  placed: (output: string): EntryOf<'placed'> => ({ type: 'placed', output }),
  reserved: (time: Date, cost: Cost, moved?: Cost): EntryOf<'reserved'> => ({
    type: 'reserved',
    time: time.toISOString(),
    cost,
    ...(moved && { moved }),
  }),
  spent: (spent: Cost, sentRows?: number, end: EndOfRun = {}): EntryOf<'spent'> => ({
    type: 'spent',
    spent,
    ...(sentRows === undefined ? {} : { sent_rows: sentRows }),
    ...end,
  }),
  failed: (failed: Content<'failed'>): EntryOf<'failed'> => ({ type: 'failed', ...failed }),
  balance: (credits: number): EntryOf<'balance'> => ({ type: 'balance', credits }),
  terminal: (outcome: Outcome, more: Partial<Content<'terminal'>> = {}): EntryOf<'terminal'> => ({
    type: 'terminal',
    outcome,
    state: null,
    ready_count: null,
    ...more,
  }),
} as const;

export function toLine(entry: JournalEntry): string {
  return toCheckedLine('entry', JSON.stringify(entry));
}

/**
 * Pure: the lines of a journal, up to the first bad one, and the error for that. An incomplete last line is ignored: what it says was never
 * done.
 */
export function toEntries(
  text: string,
  path: string,
): {
  readonly entries: readonly JournalEntry[];
  readonly damage: ConfigurationError | undefined;
} {
  const contents = checkedLines(text);
  const bad = contents.findIndex((content) => content?.member !== 'entry');
  const whole = bad === -1 ? contents : contents.slice(0, bad);
  const entries = whole.map((content, index) => toEntry(content, index + 1, path));
  return { entries, damage: bad === -1 ? undefined : damaged(bad + 1, path) };
}

/** Pure: the entry in a line. Throws ConfigurationError for a damaged line. */
export function toEntry(content: LineContent | undefined, line: number, path: string): JournalEntry {
  if (content?.member !== 'entry') throw damaged(line, path);
  return JSON.parse(content.text);
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
