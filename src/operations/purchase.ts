import type { Client } from '../client.ts';
import { LocalIoError } from '../errors.ts';
import { checkIdempotencyKey, wireNames } from '../requests/within-limits.ts';
import type { Request } from '../transport/call.ts';
import type { Preview } from '../transport/request.ts';
import type { Buyer } from './buyer.ts';
import {
  admitUnkept,
  checkCovered,
  glanceAtBalance,
  toAdmit,
  withCovered,
  withNumbers,
} from './credit-limits.ts';
import type { Delivery, Listener, OpenDelivery, Placing } from './delivery.ts';
import type { Intent, JournalEntry } from './journal/entries.ts';
import type { Journal } from './journal/journal.ts';
import { withNewJournal, withOperation } from './journal/journal.ts';
import type { StoredOperation } from './journal/stored.ts';
import { type BodyOf, type KindName, type PaidKind, toRequest } from './kinds.ts';
import { toWorstCase, type WorstCase } from './spending.ts';

/** What shapes the output; stored, so that a later run can continue the output in the same form. */
export interface OutputTerms {
  readonly output: string | null;
  readonly options: Readonly<Record<string, unknown>>;
  /** The list that the leads count for. */
  readonly list?: string;
  /** The body before what the list has was left out of it; absent where nothing is left out. */
  readonly asked?: string;
}

export interface Order<Kind extends PaidKind = PaidKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  readonly idempotencyKey?: string | undefined;
  /** An operation that sent this very request, and whose answer was lost: it is sent again with its key, and is the same purchase. */
  readonly again?: StoredOperation | undefined;
  /** The search that this one buys the rest of. */
  readonly continues?: string | undefined;
  /** Called when the request is on the disk and goes out: whoever looks for it finds it from then on. */
  readonly begun?: (() => void) | undefined;
  /** Of a search or a task run: which list its leads count for (that of its entity type), and whether only what is new there is wanted. */
  readonly list?: { readonly name?: string | undefined; readonly onlyNew?: boolean | undefined } | undefined;
  /** Is shown the request in place of the service, and what is known of its cost; nothing is bought then. */
  readonly preview?: ((request: Preview, cost: PreviewedCost) => void) | undefined;
  /** Whether this machine keeps a record: without one, nothing can be shown again or gone on with. */
  readonly keep: boolean;
  readonly terms: OutputTerms;
  readonly open: OpenDelivery;
}

export interface PreviewedCost {
  readonly worst: WorstCase;
  /** Credits; undefined where the balance could not be had. */
  readonly available: number | undefined;
}

export interface PaidRequest {
  readonly idempotencyKey: string;
  readonly request: Request;
  /** Whether the same was sent before, and its answer lost. */
  readonly isAgain: boolean;
  readonly journal: Journal;
  readonly delivery: Delivery;
  /** The one way to a client that can buy: it is given when what will be sent, and where its rows begin, is on the disk. */
  begin(): Promise<Client>;
}

/**
 * The one door that everything paid goes through. `way` does what is particular to a kind of purchase: it prepares what it
 * needs, begins, sends, keeps what comes before it is delivered, and writes down how it ended. Returns undefined after a
 * preview. Whatever is thrown names the operation. Throws UsageError, LocalIoError and what `withCovered` throws before
 * anything is sent that costs, and what `way` throws.
 */
export async function purchase<T>(
  buyer: Buyer,
  order: Order,
  { waits }: Pick<Listener, 'waits'>,
  way: (paid: PaidRequest) => Promise<T>,
): Promise<T | undefined> {
  const { connection, context } = buyer;
  const { again, body, kind } = order;
  const key = again?.entries[0].idempotency_key ?? order.idempotencyKey ?? context.ids.idempotencyKey();
  const idempotencyKey = checkIdempotencyKey(key, wireNames);
  const request = toRequest(kind, body, idempotencyKey);
  const worst = toWorstCase(kind, body, connection.settings);
  if (order.preview !== undefined) {
    const available = await glanceAtBalance(buyer);
    order.preview(connection.preview(request), { worst, available });
    return void (await checkCovered(buyer, worst, available));
  }
  const admit = toAdmit(buyer, worst);
  return await withCovered(buyer, worst, idempotencyKey, async (available) => {
    // What leaves no record counts all the same.
    if (!order.keep && admit !== undefined) await admitUnkept(buyer, worst, admit);
    const run = async (journal: Journal): Promise<T> => {
      const intent = {
        ...toIntent(buyer, journal, kind, order.terms),
        ...(order.continues === undefined ? {} : { continues: order.continues }),
        idempotency_key: idempotencyKey,
        body: request.body ?? '',
        worst_case: worst.credits,
        ...(available === undefined ? {} : { credits_before: available }),
      };
      try {
        const written = again === undefined ? intent : undefined;
        return await withIntent(buyer, journal, written, order.open, (delivery, begun) => {
          const begin = async (): Promise<Client> => {
            await begun();
            order.begun?.();
            return connection.newClient(waits);
          };
          return way({ idempotencyKey, request, isAgain: again !== undefined, journal, delivery, begin });
        });
      } catch (error) {
        throw await withNumbers(buyer, kind, worst, error);
      } finally {
        // What is left is never a reason to fail.
        const isNoted = available !== undefined && journal.operationId !== undefined;
        const credits = isNoted ? await glanceAtBalance(buyer, balanceAfterMs) : undefined;
        if (credits !== undefined) await journal.append({ type: 'balance', credits }).catch(() => undefined);
      }
    };
    if (again !== undefined) return await withOperation(context, again.operationId, run);
    return await withNewJournal(context, order.keep ? 'needed' : 'none', run, admit);
  });
}

/** How long the end of a run may be kept waiting for what is left then. */
const balanceAfterMs = 1000;

/** Pure: what the journal says of an operation before it acts. */
export function toIntent(
  { connection, context }: Buyer,
  { operationId = '' }: Journal,
  kind: KindName,
  terms: OutputTerms,
): Intent {
  return {
    type: 'intent',
    version: 2,
    time: context.clock.now().toISOString(),
    command: kind,
    profile: connection.profile,
    origin: connection.origin,
    key_fingerprint: connection.fingerprint(operationId),
    ...terms,
  };
}

/**
 * Runs `work` with the output open. The intent is on the disk before a file is touched: whoever finds the file knows whose
 * it is; it is undefined where it stands there from the first time. `begun` writes down where its rows begin, and that the request
 * goes out. An output that can't be opened leaves nothing: nothing was sent.
 */
export async function withIntent<T>(
  { context }: Buyer,
  journal: Journal,
  intent: Intent | undefined,
  open: OpenDelivery,
  work: (delivery: Delivery, begun: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const append = (...entries: JournalEntry[]): Promise<void> =>
    journal.append(...entries).catch((error: unknown) => {
      const isUnkept = intent !== undefined && error instanceof LocalIoError;
      throw isUnkept ? error.with({ charged: 'no', facts: { is: 'no_journal' } }) : error;
    });
  const early = intent === undefined || intent.output === null ? [] : [intent];
  const late = intent?.output === null ? [intent] : [];
  if (early.length > 0) await append(...early);
  let isOpen = false;
  try {
    return await open((delivery) => {
      isOpen = true;
      return work(delivery, () =>
        append(...late, ...toOpened(delivery), { type: 'sent', time: context.clock.now().toISOString() }),
      );
    });
  } catch (error) {
    if (!isOpen && intent !== undefined) await journal.discard();
    throw error;
  }
}

/**
 * Puts the rows where they belong. That they are added to a file is written down before and after: whoever finds it half done can
 * complete it. `rows` says which they are.
 */
export async function putInPlace(
  journal: Journal,
  delivery: Delivery,
  { rows, ...placing }: Pick<Placing, 'written'> & { readonly rows?: () => Promise<string> } = {},
): Promise<void> {
  let isAdded = false;
  await delivery.finish({
    ...placing,
    async adding(addition) {
      await journal.append({ type: 'adding', ...addition, ...(rows && { rows: await rows() }) });
      isAdded = true;
    },
  });
  if (isAdded) journal.note({ type: 'placed' });
}

/** Pure: where the rows begin, in what has a length. */
export function toOpened({ length }: Delivery): JournalEntry[] {
  return length === undefined ? [] : [{ type: 'opened', output_length: length }];
}
