import { alreadyExists, type Cost, takeIn } from './admission.ts';
import { answer, Rehearsed } from './answer.ts';
import type { Body } from './request.ts';
import type { Exchange, Service } from './service.ts';
import { release, settle } from './store.ts';

/** What a request did: its answer as JSON text, and how many units of its cost it used. */
export interface Outcome {
  readonly text: string;
  readonly units: number;
}

/** A rehearsed failure of a request that was admitted: the reservation is released, the key is used. */
export function failWhenRehearsed({ store, now }: Service, { requestId, fault }: Exchange): void {
  if (fault?.fault !== 'status' || !fault.admitted) return;
  store.transaction((rows) => release(rows, requestId, now()));
  throw new Rehearsed();
}

/** A paid request that was read: what it costs at most, and how it is done. */
interface Job {
  readonly cost: Cost;
  readonly work: () => Promise<Outcome>;
  /** Stores the answer, which repetitions then get instead of 409. */
  readonly keepAnswer?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Does what a paid request asks for, once: admission with its reservation, the work, settlement, and only then
 * the answer.
 */
export async function answerBilled(
  service: Service,
  exchange: Exchange,
  toJob: (body: Body) => Job,
): Promise<void> {
  const { wanted: job, earlier } = await takeIn(service, exchange, toJob);
  const kept = job.keepAnswer ? (earlier?.answer ?? undefined) : undefined;
  if (earlier !== undefined && kept === undefined) throw alreadyExists();
  answer(exchange, 200, kept ?? (await doOnce(service, exchange, job)), job.headers);
}

/** A failure releases the reservation; the idempotency key stays used, since the request was admitted. */
// rule: contact.settled, contact.released
async function doOnce(
  service: Service,
  exchange: Exchange,
  { cost, work, keepAnswer }: Job,
): Promise<string> {
  const { store, now } = service;
  failWhenRehearsed(service, exchange);
  try {
    const { text, units } = await work();
    store.transaction((rows) =>
      settle(rows, exchange.requestId, cost.price * units, now(), keepAnswer ? text : null),
    );
    return text;
  } catch (error) {
    store.transaction((rows) => release(rows, exchange.requestId, now()));
    throw error;
  }
}

/** Of an operation that may end without a result, and says so in the words of `none`. */
// rule: errors.success-false
export function toOutcome({ switches }: Service, answer: object | undefined, none: string): Outcome {
  const success = answer !== undefined;
  const body = { success, answer: answer ?? { answer: none } };
  return { text: JSON.stringify(body), units: success || switches.no_result_bills === 'yes' ? 1 : 0 };
}
