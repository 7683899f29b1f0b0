import type { Endpoint, EndpointName } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import type { TimeLimits } from './time-limits.ts';

export interface Request {
  readonly endpoint: EndpointName;
  readonly query?: Readonly<Record<string, string>>;
  /** The exact body: a repetition with the same Idempotency-Key must send the same bytes. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Whether its connection is closed afterwards, and not used for the next request. */
  readonly last?: true;
}

/** A request, ready to be sent. */
export interface Call extends Omit<Request, 'endpoint'> {
  readonly endpoint: Endpoint;
  readonly limits: TimeLimits;
  readonly signal: AbortSignal;
}

/** Makes a value of valid JSON, or says what is wrong with it (`without …`). */
export type Read<T extends object> = (text: JsonText) => T | string;
