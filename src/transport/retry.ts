import { type Clock, dayMs, pause } from '../clock.ts';
import type { Endpoint } from '../contract/endpoints.ts';
import { LeadpipeError, toMaybeCharged } from '../errors.ts';
import { verdictOf } from './policy.ts';
import { RequestError } from './request-error.ts';

/**
 * Called before each wait, with its reason. Return false to get the error at once: a caller that sends many requests waits for a busy
 * service in its own way.
 */
export type WaitListener = (error: RequestError, ms: number) => boolean | undefined;

export interface RetryOptions {
  readonly clock: Clock;
  /** From 0 to 1. */
  random(): number;
  /** Maximum total of all waits for one request, in milliseconds. */
  readonly retryBudgetMs: number;
  /** Maximum retries per request (fewer for some faults, see the policy table). */
  readonly retryAttempts: number;
  /** A line for each request, answer and wait, for --verbose. */
  readonly trace?: ((line: string) => void) | undefined;
  readonly waits?: WaitListener | undefined;
}

const baseMs = 1000;
const capMs = 30_000;
/** For a local service, which starts soon or not at all. */
const soonMs = 300;
/** How long to wait for a task that an earlier attempt is creating. */
const creatingMs = 120_000;
/** Longer waits are cut to about a year. */
const longestMs = 366 * dayMs;

/**
 * Sends a request and retries it, with the same key and the same bytes, as often as the policy table allows. Throws the error of the last
 * attempt, which says if an earlier one may have been charged.
 */
export async function withRetries<T>(
  retrying: RetryOptions,
  endpoint: Endpoint,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const { clock, trace, waits } = retrying;
  let doubt: RequestError | undefined;
  let leftMs = retrying.retryBudgetMs;
  const start = clock.monotonic();
  let wait: number | undefined;
  for (let tries = 0; ; tries++) {
    try {
      if (wait !== undefined) await pause(clock, wait, signal);
      return await attempt();
    } catch (error) {
      // It was stopped, or it is a bug. What was sent before may have been charged all the same.
      if (!(error instanceof RequestError)) throw doubt === undefined ? error : inDoubt(error, doubt);
      wait = waitOf(error, endpoint, tries, retrying);
      // Waiting until our own task is created is not a retry, and has its own limit.
      const isCreating = error.fault === 'already_exists' && endpoint.repetition === 'replays';
      const maxMs = isCreating ? start + creatingMs - clock.monotonic() : leftMs;
      if (wait === undefined || wait > maxMs) throw toLastError(error, doubt, retrying);
      if (!isCreating) leftMs -= wait;
      if (mayBeCharged(error)) doubt = error;
      if (waits?.(error, wait) === false) throw error.with({ charged: doubt === undefined ? 'no' : 'maybe' });
      trace?.(`retry in ${Math.round(wait)} ms: ${error.message}`);
    }
  }
}

/** An error that came after an attempt that may have been charged. */
function inDoubt(error: unknown, { details: { idempotencyKey } }: RequestError): unknown {
  const maybe = toMaybeCharged(error);
  return maybe instanceof LeadpipeError ? maybe.with({ idempotencyKey, facts: { is: 'in_doubt' } }) : maybe;
}

/** Milliseconds to wait before the next attempt; undefined when there is none. */
function waitOf(
  { fault, retryAfterMs }: RequestError,
  endpoint: Endpoint,
  tries: number,
  { random, retryAttempts }: RetryOptions,
): number | undefined {
  if (tries >= Math.min(verdictOf(fault, endpoint).again, retryAttempts)) return undefined;
  // Full jitter, so that clients that failed at the same time do not retry at the same time.
  return retryAfterMs ?? random() * (fault === 'not_running' ? soonMs : Math.min(capMs, baseMs * 2 ** tries));
}

/** Whether a paid request may have been carried out in spite of this error. */
function mayBeCharged({ details }: RequestError): boolean {
  return details.charged !== 'no';
}

/** The error to throw. If one attempt may have been charged, later answers don't change that. */
function toLastError(
  last: RequestError,
  doubt: RequestError | undefined,
  { clock, retryBudgetMs }: RetryOptions,
): RequestError {
  const { fault, retryAfterMs = 0, words } = last;
  if (doubt === undefined) {
    if (fault !== 'busy' || retryAfterMs <= retryBudgetMs) return last;
    // The requested wait applies to every request.
    const until = new Date(clock.now().getTime() + retryAfterMs).toISOString();
    return last.with({ facts: { is: 'busy_until', until } });
  }
  if (mayBeCharged(last)) return last;
  // Reports the refusal, and that the first attempt may have been charged nevertheless.
  if (fault === 'no_credits' || fault === 'invalid') return last.with({ charged: 'maybe' });
  const more =
    fault === 'already_exists'
      ? ". The service has the request, but its answer can't be fetched again"
      : `; the second attempt failed too: ${words}`;
  const { requestId, status } = last.details;
  return doubt.with(
    { requestId, status, charged: 'maybe', retryable: false, cause: last },
    doubt.words + more,
  );
}

/**
 * The milliseconds of a Retry-After header, which has seconds or a date. A date in the past counts as now; undefined for an invalid one.
 */
export function toRetryAfter(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined;
  // Date.parse accepts almost anything. HTTP dates end with GMT or, in their oldest form, with a year.
  const text = header.replace(/^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/, '$& GMT');
  const date = /GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : date - clock.now().getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), longestMs);
}
