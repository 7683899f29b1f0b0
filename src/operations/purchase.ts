import type { Client } from '../client.ts';
import { LocalIoError } from '../errors.ts';
import type { Buyer } from './buyer.ts';
import type { Delivery, OpenDelivery, Placing } from './delivery.ts';
import type { Running } from './events.ts';
import type { Intent, JournalEntry } from './journal/entries.ts';
import { beginJournal, type Journal, naming, noJournal, openJournal } from './journal/journal.ts';
import { pruneIfDue } from './journal/prune-if-due.ts';
import { type BodyOf, type KindName, type PaidKind, toRequest } from './kinds/kinds.ts';
import {
  admitUnkept,
  checkCovered,
  glanceAtBalance,
  setCreditsAside,
  toAdmit,
  toWorstCase,
  withNumbers,
} from './money.ts';
import type { Operation } from './operation.ts';
import { type NewIntent, toIndexed } from './order-digests.ts';

/** How long the end of a run may wait for the balance, in milliseconds. */
const balanceAfterMs = 1000;

/** What shapes the output. It is stored, so that a later run can continue the output in the same form. */
export type OutputTerms = Pick<Intent, 'output' | 'options' | 'list' | 'asked'>;

export interface Order<Kind extends PaidKind = PaidKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  readonly idempotencyKey?: string | undefined;
  /** An operation that sent this same request and whose answer was lost. The request is sent again with its key, as the same purchase. */
  readonly again?: Operation | undefined;
  /** The search that this one buys the rest of. */
  readonly continues?: string | undefined;
  /**
   * For a search or a task run: the list that its leads count for (its entity type's own by default), and whether only leads that are new
   * there are wanted.
   */
  readonly list?: { readonly name?: string | undefined; readonly onlyNew?: boolean | undefined } | undefined;
  /** Whether the request and its cost are only shown, and nothing is bought. */
  readonly isPreview?: boolean;
  /** Whether a record is kept. Without one, nothing can be shown again or resumed. */
  readonly keep: boolean;
  readonly terms: OutputTerms;
}

export interface PaidRequest {
  readonly idempotencyKey: string;
  /** Whether the same request was sent before, and its answer lost. */
  readonly isAgain: boolean;
  readonly journal: Journal;
  readonly delivery: Delivery;
  /** The only way to a client that can buy. It returns once the journal on the disk says what will be sent and where its rows begin. */
  begin(): Running<Client>;
}

/**
 * Everything that costs goes through here. `way` does what is special to a kind of purchase: it prepares, begins, sends, stores what
 * arrives before it is delivered, and writes down how it ended. Returns undefined after a preview. Every error names the operation. Throws
 * UsageError, LocalIoError and what `setCreditsAside` throws, before anything is sent that costs, and what `way` throws.
 */
export async function* purchase<T>(
  buyer: Buyer,
  order: Order,
  open: OpenDelivery,
  way: (paid: PaidRequest) => Running<T>,
): Running<T | undefined> {
  const { connection, context } = buyer;
  const { again, body, keep, kind } = order;
  const idempotencyKey =
    again?.intent.idempotency_key ?? order.idempotencyKey ?? context.ids.idempotencyKey();
  const request = toRequest(kind, body, idempotencyKey);
  const worst = toWorstCase(kind, body, connection.settings);
  if (order.isPreview) {
    const available = await glanceAtBalance(buyer);
    yield { is: 'preview', request: connection.preview(request), worst, available };
    return void (await checkCovered(buyer, worst, available));
  }
  const admit = toAdmit(buyer, worst);
  const aside = await setCreditsAside(buyer, worst, idempotencyKey);
  const { available } = aside;
  let journal: Journal | undefined;
  try {
    // A purchase without a record counts for the day, too.
    if (!keep && admit !== undefined) await admitUnkept(buyer, worst, admit);
    if (again !== undefined) journal = (await openJournal(context, again.operationId)).journal;
    else journal = keep ? await beginJournal(context, admit) : noJournal;
    const intent = {
      ...toIntent(buyer, journal, kind, order.terms),
      ...(order.continues === undefined ? {} : { continues: order.continues }),
      idempotency_key: idempotencyKey,
      body: request.body ?? '',
      worst_case: worst.credits,
      ...(available === undefined ? {} : { credits_before: available }),
    };
    const isAgain = again !== undefined;
    const { delivery, sending } = await openFor(buyer, journal, isAgain ? undefined : intent, open);
    try {
      const begin = async function* (): Running<Client> {
        await sending();
        yield { is: 'begun' };
        return connection.newClient(buyer.waits, journal);
      };
      const result = yield* way({ idempotencyKey, isAgain, journal, delivery, begin });
      aside.settle();
      return result;
    } finally {
      await delivery.cut();
    }
  } catch (thrown) {
    const error = naming(await withNumbers(buyer, kind, worst, thrown), journal?.operationId);
    aside.settle(error);
    throw error;
  } finally {
    if (available !== undefined && journal?.operationId !== undefined) {
      const credits = await glanceAtBalance(buyer, balanceAfterMs);
      // A balance that can't be read or written down is never a reason to fail.
      if (credits !== undefined) await journal.append({ type: 'balance', credits }).catch(() => undefined);
    }
    await journal?.close();
    if (keep) await pruneIfDue(context);
  }
}

/** Pure: what the journal says about an operation before it begins. */
export function toIntent(
  { connection, context }: Buyer,
  { operationId = '' }: Journal,
  kind: KindName,
  terms: OutputTerms,
): NewIntent {
  return {
    type: 'intent',
    version: 1,
    time: context.clock.now().toISOString(),
    command: kind,
    profile: connection.profile,
    origin: connection.origin,
    key_fingerprint: connection.fingerprint(operationId),
    ...terms,
  };
}

/**
 * Opens the output. The journal has the intent before a file is touched, so that the owner of the file can be found; `begun` is undefined
 * where the journal has it already. `sending` writes down where the rows begin and that the request goes out. If the output can't be
 * opened, nothing stays, since nothing was sent.
 */
export async function openFor(
  { context }: Buyer,
  journal: Journal,
  begun: NewIntent | undefined,
  open: OpenDelivery,
): Promise<{ readonly delivery: Delivery; sending(): Promise<void> }> {
  const intent = begun && (await toIndexed(begun));
  const append = (...entries: JournalEntry[]): Promise<void> =>
    journal.append(...entries).catch((error: unknown) => {
      const isUnkept = intent !== undefined && error instanceof LocalIoError;
      throw isUnkept ? error.with({ charged: 'no', facts: { is: 'no_journal' } }) : error;
    });
  const isInFile = intent !== undefined && intent.output !== null;
  const late = intent === undefined || isInFile ? [] : [intent];
  if (isInFile) await append(intent);
  try {
    const delivery = await open();
    const sending = (): Promise<void> =>
      append(...late, ...toOpened(delivery), { type: 'sent', time: context.clock.now().toISOString() });
    return { delivery, sending };
  } catch (error) {
    if (intent !== undefined) await journal.discard();
    throw error;
  }
}

/**
 * Puts the output into place. Before and after rows are added to a file, the journal says so, so that a run that was killed between the two
 * can be completed. `rows` says which rows they are.
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

/** Pure: where the rows begin, for an output that has a length. */
export function toOpened({ length }: Delivery): JournalEntry[] {
  return length === undefined ? [] : [{ type: 'opened', output_length: length }];
}
