import type { Endpoint } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import type { TimeLimits } from './time-limits.ts';

export interface Request {
  readonly endpoint: Endpoint;
  readonly query?: Readonly<Record<string, string>>;
  /** The exact body: a repetition with the same Idempotency-Key must send the same bytes. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Whether its connection is closed afterwards, and not used for the next request. */
  readonly last?: true;
  /**
   * Whether the next request follows directly and shall use the same connection. undici frees it one turn of the event loop later, and
   * would open another one until then.
   */
  readonly followed?: true;
}

export interface Call extends Request {
  /** Which promised part of the answer is missing; undefined when nothing is. */
  readonly lacks?: (text: JsonText) => string | undefined;
  readonly limits: TimeLimits;
  readonly signal: AbortSignal;
}
