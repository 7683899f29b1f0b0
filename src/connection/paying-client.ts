import { type Client, createClient } from '../client.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import type { WaitListener } from '../transport/retry.ts';
import type { Connection } from './connection.ts';

declare const paying: unique symbol;

/** A client that can buy. Only `operations/run.ts` makes one, so that every purchase is recorded first. */
export type PayingClient = Client & { readonly [paying]: true };

/** `lock` is that of the operation: nothing is sent once another process has taken it over. */
export function createPayingClient(
  { toTransport }: Connection,
  lock: HeldLock,
  waits?: WaitListener,
): PayingClient {
  return createClient(toTransport(waits, lock)) as PayingClient;
}
