import type { KeyHeader } from '../contract/endpoints.ts';
import { UsageError } from '../errors.ts';
import { checkOneOf } from '../requests/within-limits.ts';

/** undici's `Agent`, `Pool` and `ProxyAgent`, of version 7 and newer, have this form. */
export interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** Seconds, for all endpoints. Defaults differ by endpoint. */
export interface Timeouts {
  /** Until a connection is open; only for connections that the client opens itself. */
  readonly connect?: number | undefined;
  /** From the request to the head of the answer. */
  readonly headers?: number | undefined;
  /** Between two pieces of an answer. */
  readonly idle?: number | undefined;
  /** Between two events of a stream. */
  readonly event?: number | undefined;
  /** All waiting for one answer. */
  readonly total?: number | undefined;
}

/** How often a request is sent again, with the same Idempotency-Key and the same bytes. */
export interface Retry {
  /** Maximum retries, for errors that allow a retry: 0 to 20, default 20. */
  readonly attempts?: number | undefined;
  /** Maximum seconds of waiting for the retries of one request, in total; default 60. */
  readonly budget?: number | undefined;
}

/** The service, the key for it, and how to reach it. */
export interface ClientOptions {
  /** Address of the service: https, or http on this machine. */
  readonly baseUrl: string | URL;
  readonly apiKey: string;
  /** The header for the key; by default the one that the interface lists for each endpoint. */
  readonly keyHeader?: KeyHeader | undefined;
  /** Used instead of a direct connection, e.g. a proxy. The client never closes it. Turn its own timeouts off. */
  readonly dispatcher?: Dispatcher | undefined;
  readonly timeouts?: Timeouts | undefined;
  readonly retry?: Retry | undefined;
  /** Stops every request of this client. */
  readonly signal?: AbortSignal | undefined;
}

const optionNames = ['baseUrl', 'apiKey', 'keyHeader', 'dispatcher', 'timeouts', 'retry', 'signal'];
const keyHeaders: readonly KeyHeader[] = ['x-api-key', 'bearer'];
const timeoutNames = ['connect', 'headers', 'idle', 'event', 'total'] as const;

/** Checks the ranges, and also the types, since JavaScript does not. Throws UsageError. */
export function checkOptions(options: ClientOptions): void {
  checkNames('option', options, optionNames);
  const { keyHeader, signal, timeouts = {}, retry = {} } = options;
  checkSignal(signal);
  if (keyHeader !== undefined) checkOneOf('keyHeader', keyHeader, keyHeaders);
  checkNames('timeout', timeouts, timeoutNames);
  for (const name of timeoutNames) checkAmount(`timeouts.${name}`, timeouts[name], 0.001, 86_400);
  checkNames('retry option', retry, ['attempts', 'budget']);
  checkAmount('retry.attempts', retry.attempts, 0, 20);
  checkAmount('retry.budget', retry.budget, 0, 86_400);
}

/** Throws UsageError for an unknown name. */
export function checkNames(what: string, given: object, allowed: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw new UsageError(`the ${what}s must be an object`);
  for (const name of Object.keys(given)) checkOneOf(what, name, allowed);
}

/** Throws UsageError. */
export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new UsageError('signal must be an AbortSignal');
}

/** Throws UsageError. */
function checkAmount(name: string, amount: number | undefined, min: number, max: number): void {
  if (amount !== undefined && !(amount >= min && amount <= max)) {
    throw new UsageError(`${name} must be a number from ${min} to ${max}`);
  }
}
