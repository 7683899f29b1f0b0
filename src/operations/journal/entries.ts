import type { TaskState } from '../../contract/types.ts';
import { type Charged, ConfigurationError, type Outcome } from '../../errors.ts';
import type { Addition } from '../../files/addition.ts';
import { checkedLines, type LineContent, toCheckedLine } from '../../files/line-log.ts';

/** What the index holds of an operation besides its name, so that it is found without its journal. */
export type Indexed = Readonly<{
  /** Digests of what it has in common with an order. What is found by them must be compared in full. */
  like: string;
  same?: string | undefined;
  output?: string | undefined;
  run?: string | undefined;
  key?: string | undefined;
  /** The task that it reads. */
  task?: string | undefined;
  /** The most that it can cost, as far as that was known. */
  worst?: number | undefined;
  /** Why what it can cost is not known. */
  unknown?: UnknownCost | undefined;
  /** Whether it is found by the ID that the service gives it. */
  is_task?: true | undefined;
}>;

/**
 * Why a cost is not known: the price of this many units was not set, which counts as soon as it is; or no one has counted the rows of a list
 * that has not ended.
 */
export type UnknownCost = { readonly setting: string; readonly units: number } | 'rows';

/** What an operation is about to do. Nothing is sent before its intent is on the disk. */
export interface Intent {
  readonly type: 'intent';
  /** The form of the journal. */
  readonly version: 1;
  /** See `Numbered`. */
  readonly number?: number;
  readonly index: Indexed;
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
  readonly requested?: string;
  /** For a list whose price was not set: what a row pays for. */
  readonly row_price?: Exclude<UnknownCost, 'rows'>;
  /** For a list: the values that decide, together with a row, what is sent for it. */
  readonly row_request?: string;
  /** Only the cost is recorded, because the day's limit adds it up: not the request, nor what it brings. */
  readonly unrecorded?: true;
  /** The most that all of it can cost, as far as that is known; else why it is not. */
  readonly reserved?: number;
  readonly unknown?: UnknownCost;
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
      /**
       * The output is open and has no row of this operation. What stands before this length is not ours. Where it is opened again, `output`
       * is the digest of its path.
       */
      | { type: 'opened'; output_length: number; number?: number; output?: string }
      /** Everything has arrived, and is on the disk, but perhaps not in its place. */
      | {
          type: 'written';
          state: TaskState | null;
          ready_count: number | null;
          output_length: number | null;
          stop_reason?: string | null;
        }
      | { type: 'answered'; request_id: string | null }
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
      /** The rows have all been added. */
      | { type: 'placed' }
      /** A list that is resumed can cost this in addition. */
      | {
          type: 'reserved';
          time: string;
          credits: number;
          unknown?: UnknownCost;
          more?: true;
          number?: number;
        }
      /**
       * A list stopped early: what this run may have cost, in place of what was reserved for it. `sent_rows` is of all runs so far, as in
       * `terminal`.
       */
      | { type: 'spent'; credits: number; unknown?: UnknownCost; sent_rows: number }
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
      /**
       * The rest of a search that was cut is bought, with another key. `delivered` and `excluded` are the leads that are stored so far;
       * later entries count from there.
       */
      | {
          type: 'rest';
          time: string;
          idempotency_key: string;
          body: string;
          worst_case: number | null;
          unknown?: UnknownCost;
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
          /** Leads, items or answers delivered by the operation, over all its runs. */
          leads?: number;
          stop_reason?: string | null;
          /** For a list: how many rows were sent that may have been charged, over all its runs. */
          sent_rows?: number;
          /** The credits that count for the day, in place of what was reserved. */
          spent?: number;
          unknown?: UnknownCost;
          /** The user does not want the rest: it is not resumed. */
          dropped?: true;
        }
    >;

/**
 * An entry that goes into the index before it goes into the journal. Its number, which the journal gives it, is one more than the highest
 * that the index had then: the order of these entries is the order in which they were written down, whatever the clock said.
 */
export type Numbered = EntryOf<'intent' | 'opened' | 'reserved' | 'rest'>;

export type EntryOf<Type extends JournalEntry['type']> = Extract<JournalEntry, { type: Type }>;

/** What an entry holds beside its type. */
type Content<Type extends JournalEntry['type']> = Omit<EntryOf<Type>, 'type'>;

/** The entries, as run.ts and the kinds write them. Undefined is what is not known, and is stored as null, or not at all. */
export const entry = {
  intent: (intent: Omit<Content<'intent'>, 'index' | 'number'>): Omit<Intent, 'index' | 'number'> => ({
    type: 'intent',
    ...intent,
  }),
  rest: (rest: Content<'rest'>): EntryOf<'rest'> => ({ type: 'rest', ...rest }),
  sent: (time: Date): EntryOf<'sent'> => ({ type: 'sent', time: time.toISOString() }),
  /** `length` is that of the output, if it has one. */
  opened: (length: number | undefined, output?: string): EntryOf<'opened'>[] =>
    length === undefined ? [] : [{ type: 'opened', output_length: length, ...(output && { output }) }],
  restarted: (options: Intent['options']): EntryOf<'restarted'> => ({ type: 'restarted', options }),
  created: (leadsSearchId: string, requestId: string | undefined): EntryOf<'created'> => ({
    type: 'created',
    leads_search_id: leadsSearchId,
    request_id: requestId ?? null,
  }),
  batch(counts: {
    readonly delivered: number;
    readonly excluded: number;
    readonly leadsSearchId: string | undefined;
    readonly requestId: string | undefined;
    readonly length: number | undefined;
  }): EntryOf<'batch'> {
    const { delivered, excluded, leadsSearchId, requestId, length } = counts;
    return {
      type: 'batch',
      delivered,
      ...(excluded === 0 ? {} : { excluded }),
      leads_search_id: leadsSearchId ?? null,
      request_id: requestId ?? null,
      output_length: length ?? null,
    };
  },
  page(page: {
    readonly pts: number;
    readonly count: number;
    readonly next: number;
    readonly readyCount: number;
    readonly state: TaskState | undefined;
    readonly length: number | undefined;
    readonly enrichFields: readonly string[];
    readonly excluded: number;
  }): EntryOf<'page'> {
    const { pts, count, next, readyCount, state, length, enrichFields, excluded } = page;
    return {
      type: 'page',
      pts,
      count,
      next,
      ready_count: readyCount,
      state: state ?? null,
      output_length: length ?? null,
      ...(enrichFields.length === 0 ? {} : { enrich_fields: enrichFields }),
      ...(excluded === 0 ? {} : { excluded }),
    };
  },
  written: (
    length: number | undefined,
    more: {
      readonly state?: TaskState | undefined;
      readonly readyCount?: number | undefined;
      readonly stopReason?: string | undefined;
    } = {},
  ): EntryOf<'written'> => ({
    type: 'written',
    state: more.state ?? null,
    ready_count: more.readyCount ?? null,
    output_length: length ?? null,
    ...(more.stopReason === undefined ? {} : { stop_reason: more.stopReason }),
  }),
  answered: (requestId: string | undefined): EntryOf<'answered'> => ({
    type: 'answered',
    request_id: requestId ?? null,
  }),
  adding: (addition: Addition, rows: string | undefined): EntryOf<'adding'> => ({
    type: 'adding',
    ...addition,
    ...(rows === undefined ? {} : { rows }),
  }),
  placed: (): EntryOf<'placed'> => ({ type: 'placed' }),
  reserved: (time: Date, cost: Omit<Content<'reserved'>, 'time' | 'number'>): EntryOf<'reserved'> => ({
    type: 'reserved',
    time: time.toISOString(),
    ...cost,
  }),
  spent: (cost: Content<'spent'>): EntryOf<'spent'> => ({ type: 'spent', ...cost }),
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

/** Pure: what a line says. Throws ConfigurationError for a bad one. */
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
