import type { Answer, Client } from '../client.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, type Outcome } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { checkIdempotencyKey } from '../operations/check-input.ts';
import type { Layout, LayoutOf } from '../output/columns.ts';
import type { Request } from '../transport/request.ts';
import { withConnection } from './connection.ts';
import { createNotes, type Notes } from './notes.ts';
import type { ConnectionOptions, PaidOptions, RecordOptions } from './options.ts';
import { printPreview } from './preview.ts';
import { toLayout, withOutput } from './record-output.ts';
import { withWaiting } from './spinner.ts';

export interface PurchaseOptions extends ConnectionOptions, PaidOptions, RecordOptions {}

/** One paid request that brings its whole answer at once. */
export interface Purchase<T> {
  /** What is done while the user waits. */
  readonly label: string;
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  request(idempotencyKey: string): Request;
  send(client: Client, idempotencyKey: string): Promise<Answer<T>>;
  /** What the service says when it finished without a result; undefined when there is one. */
  failureOf?(value: T): string | undefined;
  recordsOf(answer: Answer<T>): readonly JsonText[];
}

/** What was bought, once it is written. */
export interface Bought<T> {
  readonly value: T;
  readonly text: JsonText;
  readonly ids: { readonly requestId?: string; readonly idempotencyKey: string };
  readonly notes: Notes;
  /** The last line on stderr: what it came to, and the IDs to ask about it with. */
  close(summary: string): void;
}

/** How every purchase can end. */
export const purchaseOutcomes: readonly Outcome[] = [
  'complete',
  'usage',
  'authentication',
  'credits',
  'no_result',
  'unknown',
  'not_enabled',
  'local_io',
  'temporary',
  'interface',
  'configuration',
  'interrupted',
  'reader_closed',
  'terminated',
];

const longestReason = 500;

/**
 * Sends the request of a purchase and writes its answer; undefined after `--dry-run`, which sends nothing. The output
 * is open before anything is sent. Throws what the request throws; `no_result`, with nothing written, when the service
 * finished without a result; and where the answer arrived and could not be written, an error that says that it is
 * charged.
 */
export async function buy<T>(
  context: Context,
  options: PurchaseOptions,
  purchase: Purchase<T>,
): Promise<Bought<T> | undefined> {
  const idempotencyKey = checkIdempotencyKey(options.idempotencyKey ?? context.ids.idempotencyKey());
  const layout = toLayout(options, purchase.layout);
  const arrived: { answer?: Answer<T> } = {};
  const written = withConnection(context, options, async ({ client, settings, preview }) => {
    if (options.dryRun) return printPreview(context, preview(purchase.request(idempotencyKey)));
    const kind = { shape: purchase.shape, layout, preferred: settings.format };
    await withOutput(context, options, kind, async (output) => {
      const answer = await withWaiting(context, options, purchase.label, () =>
        purchase.send(client, idempotencyKey),
      );
      arrived.answer = answer;
      const failure = purchase.failureOf?.(answer.value);
      if (failure !== undefined) throw toNoResult(failure);
      await output.write(purchase.recordsOf(answer));
    });
  });
  await written.catch((error: unknown) => {
    if (arrived.answer === undefined) throw error;
    throw withMoney(error, idsOf(arrived.answer, idempotencyKey), purchase.request(idempotencyKey));
  });
  if (arrived.answer === undefined) return undefined;
  const { value, text, requestId } = arrived.answer;
  const notes = createNotes(context, options);
  return {
    value,
    text,
    notes,
    ids: idsOf(arrived.answer, idempotencyKey),
    close(summary) {
      const request = requestId === undefined ? [] : [`request ${requestId}`];
      notes.say([summary, ...request, `idempotency key ${idempotencyKey}`].join(' · '));
    },
  };
}

/** The text of `{ "success": false, "answer": { "answer": "…" } }`; undefined for a success. */
export function noResultText({ success, answer }: { success: boolean; answer: unknown }): string | undefined {
  if (success) return undefined;
  const said = (answer as { answer?: unknown }).answer ?? answer;
  return typeof said === 'string' ? said : JSON.stringify(said);
}

function toNoResult(failure: string): LeadpipeError {
  return new LeadpipeError('no_result', failure.slice(0, longestReason) || 'finished without a result', {
    type: 'no_result',
    charged: 'maybe',
    retryable: false,
    hint: 'The service finished without a result. Whether that is charged is up to it: compare `leadpipe balance`.',
  });
}

function idsOf({ requestId }: Answer<unknown>, idempotencyKey: string): Bought<unknown>['ids'] {
  return requestId === undefined ? { idempotencyKey } : { idempotencyKey, requestId };
}

/** An error after the answer came: it is paid for, unless the error itself says otherwise. */
function withMoney(error: unknown, ids: Bought<unknown>['ids'], { endpoint }: Request): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  const hint =
    endpoint.repetition === 'may-replay'
      ? `The service may give the answer again, without a charge: run it with --idempotency-key ${ids.idempotencyKey}.`
      : 'The answer can not be had again: a new run is a new purchase.';
  return error.with({ charged: 'yes', hint, ...ids, ...error.details });
}
