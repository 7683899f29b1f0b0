import type { Client } from '../client.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { RequestError } from '../transport/errors.ts';
import type { Buyer } from './buyer.ts';
import type { OpenDelivery } from './delivery.ts';
import type { Running } from './events.ts';
import { storeAnswer, storeGarbled } from './journal/answers.ts';
import { toTerminal } from './journal/entries.ts';
import { toDoubtful, toFailedEntries } from './journal/failed.ts';
import { folderOf } from './journal/stored.ts';
import { type AnswerKind, failureOf, kinds, recordsOf } from './kinds.ts';
import { type Order, type PaidRequest, purchase, putInPlace } from './purchase.ts';

export interface Bought {
  /** As the service sent it. */
  readonly text: JsonText;
  readonly records: number;
  readonly ids: {
    readonly requestId?: string;
    readonly idempotencyKey: string;
    readonly operationId?: string;
  };
}

/** An answer that has come, and is paid for. */
interface Arrived {
  readonly text: JsonText;
  readonly ids: Bought['ids'];
  /** Whether the service would give it again. */
  readonly replays: boolean;
  stored: boolean;
  records: number;
}

/**
 * Buys what comes as one whole answer; undefined after a preview. The answer is on the disk before it is delivered. Throws
 * what the request throws; `no_result`, with nothing delivered, when the service finished without a result; and where the
 * answer came and could not be delivered, an error that says that it is charged.
 */
export async function* buyAnswer<Kind extends AnswerKind>(
  buyer: Buyer,
  order: Order<Kind>,
  open: OpenDelivery,
): Running<Bought | undefined> {
  let arrived: Arrived | undefined;
  try {
    yield* purchase(buyer, order, open, async function* (paid) {
      arrived = yield* ask(buyer, order, paid);
      yield* deliver(buyer, order.kind, paid, arrived);
    });
  } catch (error) {
    throw arrived === undefined ? error : toUndelivered(error, arrived);
  }
  return arrived;
}

async function* ask<Kind extends AnswerKind>(
  { context }: Buyer,
  { kind, body }: Order<Kind>,
  { begin, idempotencyKey, isAgain, journal, request }: PaidRequest,
): Running<Arrived> {
  const client = yield* begin();
  const send = client[kinds[kind].endpoint] as (...asked: unknown[]) => ReturnType<Client['enrich']>;
  const { operationId } = journal;
  const { repetition } = request.endpoint;
  yield { is: 'stage', stage: 'asking' };
  const { text, requestId } = await send(body, idempotencyKey, context.signal).catch(
    async (thrown: unknown) => {
      const error = isAgain ? toDoubtful(thrown) : thrown;
      // What the service said matters more than a journal that can't be written.
      await journal.append(...toFailedEntries(error, repetition)).catch(() => undefined);
      throw await keepGarbled(context.directories.state, operationId, error);
    },
  );
  const ids = {
    idempotencyKey,
    ...(requestId === undefined ? {} : { requestId }),
    ...(operationId === undefined ? {} : { operationId }),
  };
  return { text, ids, replays: repetition === 'may-replay', stored: false, records: 0 };
}

async function* deliver(
  { context }: Buyer,
  kind: AnswerKind,
  { journal, delivery }: PaidRequest,
  arrived: Arrived,
): Running<void> {
  const { ids, text } = arrived;
  /** What is paid for is delivered also where it can't be kept. */
  const keep = async function* (kept: () => Promise<void>): Running<void> {
    try {
      await kept();
      arrived.stored = true;
    } catch (error) {
      arrived.stored = false;
      yield { is: 'warning', line: `${(error as Error).message}; the answer can't be shown again` };
    }
  };
  // On the disk before anything is made of it, which may take a while.
  const { operationId } = ids;
  if (operationId !== undefined) {
    yield* keep(() => storeAnswer(folderOf(context.directories.state, operationId), text));
  }
  const failure = failureOf(kind, text);
  const records = failure === undefined ? await recordsOf(kind, text) : [];
  arrived.records = records.length;
  if (arrived.stored) {
    const [outcome, charged] =
      failure === undefined ? (['complete', 'yes'] as const) : (['no_result', 'maybe'] as const);
    const leads = kinds[kind].prints === 'list' ? { leads: records.length } : {};
    const answered = { type: 'answered', request_id: ids.requestId ?? null } as const;
    yield* keep(() => journal.append(answered, toTerminal(outcome, { charged, ...leads })));
  }
  if (failure !== undefined) throw toNoResult(failure);
  await delivery.write(records);
  await putInPlace(journal, delivery);
  yield { is: 'ended' };
}

function toNoResult(failure: string): LeadpipeError {
  const words = `the service finished without a result${failure === '' ? '' : `: "${failure}"`}`;
  return new LeadpipeError('no_result', words, {
    type: 'no_result',
    charged: 'maybe',
    retryable: false,
    facts: { is: 'no_result' },
  });
}

/** An error after the answer came: it is paid for, unless the error itself says otherwise. */
function toUndelivered(error: unknown, { ids, replays, stored }: Arrived): unknown {
  if (!(error instanceof LeadpipeError)) return error;
  return error.with({
    charged: 'yes',
    facts: { is: 'answer_undelivered', stored, replays, ...ids },
    ...ids,
    ...error.details,
  });
}

/** An answer that can't be understood is paid for, and can not be had again: what came is kept, and the error says where. */
async function keepGarbled(
  stateDir: string,
  operationId: string | undefined,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof RequestError) || !error.body || operationId === undefined) return error;
  const path = await storeGarbled(folderOf(stateDir, operationId), error.body).catch(() => undefined);
  return path === undefined
    ? error
    : error.with({ hint: `The answer is stored in ${path}, as it came. Report the request ID.` });
}
