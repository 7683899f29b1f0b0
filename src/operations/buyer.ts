import type { Connection } from '../connection/connection.ts';
import type { Context, StoreContext } from '../context.ts';
import { ConfigurationError, notResumable } from '../errors.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { Operation } from './operation.ts';
import type { Spending } from './spending.ts';

/** Everything that is needed to buy. Purchases can share a buyer, which has no state of a single purchase. */
export interface Buyer {
  readonly connection: Connection;
  readonly context: StoreContext & Pick<Context, 'ids' | 'signal' | 'zone'>;
  /** The limit for all its purchases together. Without it, leadpipe does not ask for the balance and refuses nothing. */
  readonly spending?: Spending | undefined;
  /** Is called for each wait between two attempts, in addition to the listener of the connection. */
  readonly waits?: WaitListener | undefined;
}

export function isSameBuyer(
  { connection }: Buyer,
  { operationId, intent: { origin, key_fingerprint } }: Operation,
): boolean {
  return origin === connection.origin && key_fingerprint === connection.fingerprint(operationId);
}

/** Throws ConfigurationError if an operation was bought with another key or address: only with these can it be resumed. */
export function checkSameBuyer(
  { connection }: Buyer,
  { operationId, intent: { origin, key_fingerprint, profile } }: Operation,
): void {
  const made = profile === null ? '' : ` (profile ${profile})`;
  if (origin !== connection.origin) {
    const words = `${operationId} was started with ${serviceAt(origin)}${made}, not with ${serviceAt(connection.origin)}`;
    throw new ConfigurationError(words, { is: 'begun_elsewhere', origin }).with({ type: notResumable });
  }
  if (key_fingerprint !== connection.fingerprint(operationId)) {
    throw new ConfigurationError(
      `${operationId} was started with another API key${made}, and only that key can resume it`,
      'Set LEADPIPE_API_KEY to that key.',
    ).with({ type: notResumable });
  }
}

/** Pure: a service in words. */
export function serviceAt(origin: string): string {
  return origin === 'local' ? 'the local service' : origin;
}
