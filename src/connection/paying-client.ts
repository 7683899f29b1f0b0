import { type Client, createClient } from '../client.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { Connection } from './connection.ts';

declare const paying: unique symbol;

/** A client that can buy. `operations/run.ts` alone makes one, so that nothing is bought that is not written down first. */
export type PayingClient = Client & { readonly [paying]: true };

/** `ready` is awaited before each request is sent: it throws where this process must not send any more. */
export function createPayingClient(
  { toTransport }: Connection,
  ready: () => Promise<void>,
  waits?: WaitListener,
): PayingClient {
  return createClient(toTransport(waits, ready)) as PayingClient;
}
