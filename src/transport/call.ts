import type { Endpoint } from '../contract/endpoints.ts';
import type { JsonText } from '../json/text.ts';
import type { TimeLimits } from './watch.ts';

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

/** A request as the wire has it. */
export function nameOf(call: Call): string {
  return `${call.endpoint.method} ${call.endpoint.path}`;
}

/** What is known of a request, for its errors. */
export function known(
  call: Call,
  requestId: string | undefined,
): { idempotencyKey?: string; requestId?: string } {
  return {
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}
