import type { Answer, Client, Success } from '../client.ts';
import type { Context } from '../context.ts';
import { type Charged, LeadpipeError, type Outcome } from '../errors.ts';
import { type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { storeAnswer, storeGarbled } from '../operations/journal/answers.ts';
import { toFailedEntries } from '../operations/journal/failed.ts';
import { folderOf, type Journal } from '../operations/journal/journal.ts';
import type { Layout, LayoutOf } from '../output/columns.ts';
import { checkIdempotencyKey } from '../requests/within-limits.ts';
import { RequestError } from '../transport/errors.ts';
import type { Request } from '../transport/request.ts';
import { withConnection } from './connect.ts';
import { toIntent, withJournal } from './journaled.ts';
import { createNotes, type Notes } from './notes.ts';
import { type ConnectionOptions, inputNames, type PaidOptions, type RecordOptions } from './options.ts';
import { printPreview } from './preview.ts';
import { withOutput } from './record-output.ts';
import { withWaiting } from './spinner.ts';

export interface PurchaseOptions extends ConnectionOptions, PaidOptions, RecordOptions {}

/** One paid request that brings its whole answer at once. */
export interface Purchase<T> {
  /** As the user called it: `contact`. */
  readonly command: string;
  /** What is done while the user waits. */
  readonly label: string;
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  request(idempotencyKey: string): Request;
  send(client: Client, idempotencyKey: string): Promise<Answer<T>>;
  /** What the service says when it finished without a result; undefined when there is one. */
  failureOf?(answer: Answer<T>): string | undefined;
  recordsOf(answer: Answer<T>): Promise<readonly JsonText[]>;
}

/** What was bought, once it is written. */
export interface Bought {
  readonly text: JsonText;
  /** How many records were written. */
  readonly records: number;
  readonly ids: {
    readonly requestId?: string;
    readonly idempotencyKey: string;
    readonly operationId?: string;
  };
  readonly notes: Notes;
  /** The last line on stderr: what it came to, and the IDs to ask about it with. */
  close(summary: string): void;
}

const longestReason = 500;

/**
 * Sends the request of a purchase and writes its answer; undefined after `--dry-run`, which sends nothing. The output
 * is open and the intent on the disk before anything is sent, and the answer is on the disk before it is written.
 * Throws what the request throws; `no_result`, with nothing written, when the service
 * finished without a result; and where the answer arrived and could not be written, an error that says that it is
 * charged.
 */
export async function buy<T>(
  context: Context,
  options: PurchaseOptions,
  purchase: Purchase<T>,
): Promise<Bought | undefined> {
  const idempotencyKey = checkIdempotencyKey(
    options.idempotencyKey ?? context.ids.idempotencyKey(),
    inputNames,
  );
  const arrived: { answer?: Answer<T>; ids: Bought['ids']; stored: boolean; records: number } = {
    ids: { idempotencyKey },
    stored: false,
    records: 0,
  };
  const written = withConnection(context, options, async (connection) => {
    const { client, settings, preview } = connection;
    if (options.dryRun) return printPreview(context, preview(purchase.request(idempotencyKey)));
    const kind = { shape: purchase.shape, layout: purchase.layout, settings };
    await withOutput(context, options, kind, (output) =>
      withJournal(context, options, async (journal) => {
        const { body = '' } = purchase.request(idempotencyKey);
        await journal.append(
          {
            ...toIntent(context, connection, journal, purchase.command, options, {}),
            idempotency_key: idempotencyKey,
            body,
          },
          { type: 'sent', time: context.clock.now().toISOString() },
        );
        const answer = await withWaiting(context, options, purchase.label, () =>
          purchase.send(client, idempotencyKey),
        ).catch(async (error: unknown) => {
          // What the service said matters more than a journal that can't be written.
          await journal.append(...toFailedEntries(error)).catch(() => undefined);
          throw await keepGarbled(context, journal, error);
        });
        arrived.answer = answer;
        arrived.ids = idsOf(answer, idempotencyKey, journal);
        const failure = purchase.failureOf?.(answer);
        const noResult = failure === undefined ? undefined : toNoResult(failure);
        const warnUnkept = (error: unknown): false => {
          createNotes(context, options).warn(`${(error as Error).message}; it can not be shown again`);
          return false;
        };
        // On the disk before anything is made of it, which may take a while.
        arrived.stored = await store(context, journal, answer).catch(warnUnkept);
        const records = failure === undefined ? await purchase.recordsOf(answer) : [];
        arrived.records = records.length;
        const end = {
          outcome: noResult?.outcome ?? 'complete',
          charged: noResult?.details.charged ?? 'yes',
          ...(purchase.shape === 'list' ? { leads: records.length } : {}),
        };
        if (arrived.stored) arrived.stored = await close(journal, answer, end).catch(warnUnkept);
        if (noResult !== undefined) throw noResult;
        await output.write(records);
        await output.finish();
      }),
    );
  });
  await written.catch((error: unknown) => {
    if (arrived.answer === undefined) throw error;
    throw withMoney(error, arrived.ids, purchase.request(idempotencyKey), arrived.stored);
  });
  if (arrived.answer === undefined) return undefined;
  const { text } = arrived.answer;
  const { requestId, operationId } = arrived.ids;
  const notes = createNotes(context, options);
  return {
    text,
    records: arrived.records,
    notes,
    ids: arrived.ids,
    close(summary) {
      const request = requestId === undefined ? [] : [`request ${requestId}`];
      const operation = operationId === undefined ? [] : [`operation ${operationId}`];
      notes.say([summary, ...request, `idempotency key ${idempotencyKey}`, ...operation].join(' · '));
    },
  };
}

/** The text of `{ "success": false, "answer": { "answer": "…" } }`; undefined for a success. */
export function noResultText({ value, text }: Answer<Success>): string | undefined {
  if (value.success) return undefined;
  const answer = objectMembers(text).get('answer') ?? 'null';
  return toReason(objectMembers(answer).get('answer') ?? answer);
}

/** Pure: a string's characters; anything else as the service wrote it. */
export function toReason(said: JsonText): string {
  return (stringOf(said) ?? said).slice(0, longestReason);
}

function toNoResult(failure: string): LeadpipeError {
  return new LeadpipeError('no_result', failure || 'finished without a result', {
    type: 'no_result',
    charged: 'maybe',
    retryable: false,
    hint: 'The service finished without a result. Whether that is charged is up to it: compare `leadpipe balance`.',
  });
}

/** Keeps the answer: false where none is kept. Throws LocalIoError. */
async function store(
  context: Context,
  { operationId }: Journal,
  { text }: Answer<unknown>,
): Promise<boolean> {
  if (operationId === undefined) return false;
  await storeAnswer(folderOf(context.directories.state, operationId), text);
  return true;
}

/** The journal knows that it is kept, and what came of it. Throws LocalIoError. */
async function close(
  journal: Journal,
  { requestId }: Answer<unknown>,
  end: { readonly outcome: Outcome; readonly charged: Charged; readonly leads?: number },
): Promise<true> {
  await journal.append(
    { type: 'answered', request_id: requestId ?? null },
    { type: 'terminal', state: null, ready_count: null, ...end },
  );
  return true;
}

function idsOf(
  { requestId }: Answer<unknown>,
  idempotencyKey: string,
  { operationId }: Journal,
): Bought['ids'] {
  return {
    idempotencyKey,
    ...(requestId === undefined ? {} : { requestId }),
    ...(operationId === undefined ? {} : { operationId }),
  };
}

/** An error after the answer came: it is paid for, unless the error itself says otherwise. */
function withMoney(error: unknown, ids: Bought['ids'], { endpoint }: Request, stored: boolean): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  const again = `The answer is kept. To print it, for nothing: leadpipe history show ${ids.operationId}`;
  const hint = stored
    ? again
    : endpoint.repetition === 'may-replay'
      ? `The service may give the answer again, without a charge: run it with --idempotency-key ${ids.idempotencyKey}.`
      : 'The answer can not be had again: a new run is a new purchase.';
  return error.with({ charged: 'yes', hint, ...ids, ...error.details });
}

/** An answer that can't be understood is paid for, and can not be had again: what came is kept, and the error says where. */
async function keepGarbled(context: Context, journal: Journal, error: unknown): Promise<unknown> {
  if (!(error instanceof RequestError) || !error.body || journal.operationId === undefined) return error;
  const folder = folderOf(context.directories.state, journal.operationId);
  const path = await storeGarbled(folder, error.body).catch(() => undefined);
  return path === undefined
    ? error
    : error.with({ hint: `What came is kept in ${path}. Report the request ID.` });
}
