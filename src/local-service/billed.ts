import { admit, alreadyExists, type Cost, type Received } from './admission.ts';
import { FaultAnswer } from './refusal.ts';
import type { Caller, Exchange, Service } from './service.ts';
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
  throw new FaultAnswer(fault);
}

/**
 * Does what a paid request asks for, once: admission with its reservation, the work, settlement, and only then
 * the answer. A failure releases the reservation; the idempotency key stays used, since the request was
 * admitted. `keepAnswer` stores the answer for `replay`, which repetitions get instead of 409.
 */
export async function runBilled(
  service: Service,
  exchange: Exchange,
  caller: Caller,
  received: Received,
  {
    cost,
    work,
    keepAnswer = false,
  }: {
    readonly cost: Cost;
    readonly work: () => Promise<Outcome>;
    readonly keepAnswer?: boolean;
  },
): Promise<string> {
  const { store, now } = service;
  const earlier = admit(service, exchange, caller, received, cost);
  if (earlier !== undefined) {
    if (keepAnswer && earlier.answer !== null) return earlier.answer;
    throw alreadyExists();
  }
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
