import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { ConfigurationError } from '../errors.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { StoredOperation } from './journal/stored.ts';
import type { Spending } from './spending.ts';

/** What buying takes, however many purchases share it: nothing of a purchase is kept anywhere else. */
export interface Buyer {
  readonly connection: Connection;
  readonly context: Pick<Context, 'clock' | 'directories' | 'ids' | 'pid' | 'random' | 'signal' | 'zone'>;
  /** What all its purchases together may cost; without it the balance is not asked for, and nothing is refused here. */
  readonly spending?: Spending | undefined;
  /** Hears of each wait between two attempts of its purchases, beside the listener of the connection. */
  readonly waits?: WaitListener | undefined;
}

export function isSameBuyer(
  { connection }: Buyer,
  { operationId, entries: [{ origin, key_fingerprint }] }: StoredOperation,
): boolean {
  return origin === connection.origin && key_fingerprint === connection.fingerprint(operationId);
}

/** Throws ConfigurationError: what an operation bought is known only to the key and at the address that bought it. */
export function checkSameBuyer(
  { connection }: Buyer,
  { operationId, entries: [intent] }: StoredOperation,
): void {
  const { origin, key_fingerprint, profile } = intent;
  const made = profile === null ? '' : ` (profile ${profile})`;
  if (origin !== connection.origin) {
    const words = `this operation was started with ${serviceAt(origin)}${made}, not with ${serviceAt(connection.origin)}`;
    throw new ConfigurationError(words, { is: 'begun_elsewhere', origin });
  }
  if (key_fingerprint !== connection.fingerprint(operationId)) {
    throw new ConfigurationError(
      `this operation was started with another API key${made}, and only that key can resume it`,
      'Set LEADPIPE_API_KEY to that key.',
    );
  }
}

function serviceAt(origin: string): string {
  return origin === 'local' ? 'the local service' : origin;
}
