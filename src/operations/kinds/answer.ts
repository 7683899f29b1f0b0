import { endpoints } from '../../contract/endpoints.ts';
import { type Charged, LeadpipeError, toMaybeCharged } from '../../errors.ts';
import { type HeldLock, LockLostError } from '../../files/folder-lock.ts';
import type { JsonText } from '../../json/text.ts';
import { RequestError } from '../../transport/request-error.ts';
import type { Running } from '../events.ts';
import { entry } from '../journal/entries.ts';
import { storeGarbled } from '../journal/received.ts';
import { toWorstCase } from '../prices.ts';
import type { Plan, Run } from '../run-state.ts';
import { toFailedEntries } from './failed.ts';
import { type AnswerKind, type BodyOf, chargedFor, failureOf, foundIn, kinds, recordsOf } from './kinds.ts';

export interface Bought {
  /** As the service sent it. */
  readonly text: JsonText;
  readonly records: number;
  readonly charged: Charged;
  readonly ids: {
    readonly requestId: string | undefined;
    readonly idempotencyKey: string;
    readonly operationId: string | undefined;
  };
}

/** An answer, and the error that prevents its delivery, if it is not what the interface promises. */
interface Answered {
  readonly text: JsonText;
  readonly requestId: string | undefined;
  readonly refusal?: RequestError;
}

/** Plans the purchase of one complete answer. If an earlier answer was lost, its request is sent again with the same key. */
export async function plan(run: Run): Promise<Plan<Bought>> {
  const { buyer, order, operation } = run;
  const kind = order.kind as AnswerKind;
  const sent = operation?.parts.at(-1);
  const body = sent === undefined ? order.body : JSON.parse(sent.body);
  const worst = toWorstCase(kind, body as BodyOf<AnswerKind>, buyer.connection);
  return {
    purchase: { body, again: sent?.idempotencyKey },
    costs: { is: 'once', worst },
    perform: () => buy(run, kind, body, sent !== undefined),
  };
}

/**
 * The answer is stored before it is delivered. Throws what the request throws; `no_result` when the service finished without a result
 * (nothing is delivered); and an error that says "charged" when the answer arrived and could not be delivered.
 */
async function* buy(run: Run, kind: AnswerKind, body: object, isAgain: boolean): Running<Bought> {
  const { buyer, folder, idempotencyKey, journal, operationId } = run;
  const { repetition } = endpoints[kinds[kind].endpoint];
  let bought: Bought | undefined;
  let isStored = false;
  /** An answer that is paid for is delivered even if it can't be stored. */
  const keep = async function* (kept: () => Promise<void>): Running<void> {
    try {
      await kept();
      isStored = true;
    } catch (error) {
      if (error instanceof LockLostError) throw error;
      isStored = false;
      yield { is: 'warning', line: `${(error as Error).message}; the answer can't be shown again` };
    }
  };
  const toFacts = ({ ids }: Bought) => {
    const replays = repetition === 'may-replay';
    return { is: 'answer_undelivered', stored: isStored && folder !== undefined, replays, ...ids } as const;
  };
  const client = (yield* run.begin())();
  const { received } = run;
  const send = client[kinds[kind].endpoint] as (...asked: unknown[]) => ReturnType<typeof client.enrich>;
  yield { is: 'stage', stage: 'asking' };
  try {
    const { text, requestId, refusal }: Answered = await send(
      body,
      idempotencyKey,
      buyer.context.signal,
    ).catch(async (thrown: unknown) => {
      const error = isAgain ? toMaybeCharged(thrown) : thrown;
      if (error instanceof RequestError && error.answer !== undefined)
        return { text: error.answer, requestId: error.details.requestId, refusal: error };
      // The service's error matters more than a failure to write the journal.
      await run.end(...toFailedEntries(error, repetition)).catch(() => undefined);
      throw await keepGarbled(folder, error, journal);
    });
    const charged = chargedFor(kind, text);
    bought = { text, ids: { idempotencyKey, requestId, operationId }, records: 0, charged };
    // Store it first: reading it may take a while.
    if (received !== undefined) {
      yield* keep(async () => {
        received.append([text]);
        await received.sync();
      });
    }
    const failure = failureOf(kind, text);
    const records = failure === undefined ? await recordsOf(kind, text) : [];
    bought = { ...bought, records: records.length };
    const found = Number(foundIn(kind, text) > 0);
    const terminal = entry.terminal(failure === undefined ? 'complete' : 'no_result', {
      ...{ charged, found, not_found: 1 - found },
      ...(kinds[kind].prints === 'list' ? { leads: records.length } : {}),
    });
    const isRecorded = isStored || folder === undefined;
    if (isRecorded) yield* keep(() => run.end(entry.answered(requestId), terminal));
    if (failure !== undefined) throw toNoResult(failure);
    if (refusal !== undefined) throw refusal.with({ facts: toFacts(bought) });
    await run.deliver(records);
    await run.place();
    // What could not be stored was bought all the same, and only now nothing is missing.
    if (!isRecorded) await run.end(terminal).catch(() => undefined);
    yield { is: 'ended' };
    return bought;
  } catch (error) {
    if (bought === undefined || !(error instanceof LeadpipeError)) throw error;
    // This error came after the answer, so the answer is paid for, unless the error says otherwise.
    throw error.with({ charged: bought.charged, facts: toFacts(bought), ...bought.ids, ...error.details });
  }
}

function toNoResult(failure: string): LeadpipeError {
  const words = `the service finished without a result${failure === '' ? '' : `: "${failure}"`}`;
  return new LeadpipeError('no_result', words, {
    charged: 'maybe',
    facts: { is: 'no_result' },
  });
}

/** Stores an unreadable answer, because it is paid for and can't be requested again. Returns the error, with the path in its hint. */
async function keepGarbled(folder: string | undefined, error: unknown, lock: HeldLock): Promise<unknown> {
  if (!(error instanceof RequestError) || !error.body || folder === undefined) return error;
  const path = await storeGarbled(folder, error.body, lock).catch(() => undefined);
  return path === undefined
    ? error
    : error.with({ hint: `The answer was saved unchanged to ${path}. Report the request ID.` });
}
