import type { Endpoint } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import type { TimeLimits } from './time-limits.ts';

export interface Request {
  readonly endpoint: Endpoint;
  readonly query?: Readonly<Record<string, string>>;
  /** The exact body: a repetition with the same Idempotency-Key must send the same bytes. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  /** Whether its connection is closed behind it, and not used for what comes next. */
  readonly last?: true;
  /**
   * Whether another request comes right behind its answer, and takes its connection. undici gives that back when the event loop
   * has turned; until then it would open another.
   */
  readonly followed?: true;
}

export interface Call extends Request {
  /** What the interface promises of the answer and is not there; undefined when all of it is. */
  readonly lacks?: (text: JsonText) => string | undefined;
  readonly limits: TimeLimits;
  readonly signal: AbortSignal;
}
