import { UsageError } from '../../errors.ts';
import { placeOf } from '../../files/reading.ts';
import type { JsonText } from '../../json/text.ts';
import type { InputRow } from '../../requests/rows.ts';
import { type KnownRows, openRowsOfOther, toRowId } from '../journal/stored-rows.ts';
import type { Operation } from '../operation.ts';
import type { Cost } from '../prices.ts';
import { type AnswerKind, type BodyOf, toRequest } from './kinds.ts';
import type { RowOutcome } from './row-parts.ts';

export interface RowSource {
  /** Whether they can be read several times, and so be counted before anything is sent. */
  readonly isRepeatable: boolean;
  /** Reads the rows from the first on, without consuming them. */
  look(): AsyncIterable<InputRow>;
  take(): AsyncIterable<InputRow>;
}

/** The rows whose number modulo `of` is `index`. */
export interface Shard {
  readonly index: number;
  readonly of: number;
}

/** The rows of a list, what is sent for them, how they are bought, and what is made of their answers. */
export interface ListRows {
  readonly kind: AnswerKind;
  /** The request of a row. Throws UsageError for a row that can't be sent. */
  toBody(record: JsonText): BodyOf<AnswerKind>;
  readonly source: RowSource;
  readonly shard: Shard | undefined;
  /** Whether nothing is bought for a row, which is passed on as it is. */
  readonly isKept?: ((record: JsonText) => boolean) | undefined;
  /** How many rows are wanted for now; with `isKept`, how many that can be bought. Undefined: all. */
  readonly first?: number | undefined;
  /** The number of rows of the shard; undefined if they were not counted. */
  readonly total?: number | undefined;
  /** The most that a row can cost. */
  readonly worst: Cost;
  /** The name of a run. Rows that it has bought are not bought again, on any machine. */
  readonly run: string | undefined;
  /** Maximum concurrent requests. */
  readonly concurrency: number;
  /** Whether to buy a row again, with another key, if its answer was lost. */
  readonly retryUnknown: boolean;
  /** Maximum total wait of a row for a busy service, in milliseconds. */
  readonly budgetMs: number;
  toRecords(row: InputRow, outcome: RowOutcome): readonly JsonText[];
}

/** A row with what is sent for it, by which it is identified, or with the reason why it can't be sent. */
export type RequestedRow = { readonly row: InputRow } & (
  | {
      readonly is: 'sendable';
      readonly request: BodyOf<AnswerKind>;
      readonly body: string;
      readonly digest: bigint;
    }
  | { readonly is: 'flawed'; readonly digest?: undefined; readonly flaw: string }
  /** `kept`: passed on as it is. `beyond`: not requested yet; later rows are not read. */
  | { readonly is: 'kept' | 'beyond'; readonly digest?: undefined }
);

/** The counts of a list's rows before anything is sent. Rows that send the same count as one request. */
export interface CountedRows {
  /** The number of requests that need not be sent any more, and of all requests. */
  readonly done: number;
  readonly all: number;
  /** Rows that can't be sent, and rows that are passed on as they are. */
  readonly flawed: number;
  readonly kept: number;
  /** The first request that would be sent. */
  readonly first: BodyOf<AnswerKind> | undefined;
}

export type SendableRow = Extract<RequestedRow, { readonly is: 'sendable' }>;

/** The requested rows of the shard, with what is sent for each, and the first row after them. */
export async function* requestedRows(
  { kind, toBody, shard, isKept, first = Number.POSITIVE_INFINITY }: ListRows,
  rows: AsyncIterable<InputRow>,
): AsyncGenerator<RequestedRow, void> {
  let wanted = 0;
  for await (const row of rows) {
    const { record, flaw, number } = row;
    if (shard !== undefined && number % shard.of !== shard.index) continue;
    if (wanted === first) {
      yield { row, is: 'beyond' };
      return;
    }
    const isFlawed = record === undefined || flaw !== undefined;
    if (!isFlawed && isKept?.(record)) {
      yield { row, is: 'kept' };
      continue;
    }
    // When answers are filled in, only rows that can be bought count.
    if (isKept === undefined) wanted++;
    if (isFlawed) yield { row, is: 'flawed', flaw: `${placeOf(row)} ${flaw}` };
    else {
      let request: BodyOf<AnswerKind>;
      try {
        request = toBody(record);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        yield { row, is: 'flawed', flaw: `${placeOf(row)}: ${error.message}` };
        continue;
      }
      if (isKept !== undefined) wanted++;
      const body = toRequest(kind, request, '').body ?? '';
      yield { row, is: 'sendable', request, body, digest: toRowId(body) };
    }
  }
}

/** A request that was answered or may have been sent, by this operation itself or by another one. */
export interface Known {
  readonly rows: KnownRows;
  readonly isOwn: boolean;
  readonly state: 'answered' | 'sent' | 'unknown';
  /** Whether it is not sent again. */
  readonly isFinal: boolean;
}

/** The known state of a request: answered, or perhaps sent. The first of `all` are the rows of this operation. */
export function findKnown(
  digest: bigint,
  all: readonly (KnownRows | undefined)[],
  { retryUnknown }: ListRows,
): Known | undefined {
  const found = all.flatMap((rows, at): readonly Known[] => {
    const state = rows?.stateOf(digest);
    // A request that was refused at no cost is sent as if for the first time.
    if (rows === undefined || state === undefined || state === 'failed') return [];
    const isFinal = state === 'answered' || (state === 'unknown' && !retryUnknown);
    return [{ rows, isOwn: at === 0, state, isFinal }];
  });
  return found.find(({ state }) => state === 'answered') ?? found[0];
}

/** Whether an earlier run of this list may have sent the row, and has counted its cost. It is sent again with its key. */
export function isCountedBefore(known: Known | undefined): boolean {
  return known?.isOwn === true && known.state === 'sent';
}

/** Whether the request of any row is known, including rows that are not requested yet. */
export async function hasKnownRow(rows: ListRows, known: KnownRows): Promise<boolean> {
  for await (const { digest } of requestedRows({ ...rows, first: undefined }, rows.source.look())) {
    if (digest !== undefined && known.stateOf(digest) !== undefined) return true;
  }
  return false;
}

/** Whether the operation has sent the request of any of these rows; undefined if it has sent nothing. */
export async function hasSentRow(rows: ListRows, { folder }: Operation): Promise<boolean | undefined> {
  const known = await openRowsOfOther(folder);
  if (known === undefined) return undefined;
  try {
    return known.isEmpty() ? undefined : await hasKnownRow(rows, known);
  } finally {
    await known.close();
  }
}
