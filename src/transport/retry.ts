import type { Clock } from '../context.ts';
import type { Endpoint } from '../contract/endpoints.ts';
import { toAdvice } from '../errors.ts';
import { RequestError } from './errors.ts';
import { pause } from './pause.ts';
import { attemptsOf, isDoubtful } from './policy.ts';

/** Milliseconds that all waits between attempts of one purchase may take together. */
export interface RetryBudget {
  leftMs: number;
}

/**
 * Told of each wait before another attempt, and what it is for. False means that the error is wanted at once: whoever sends
 * many requests waits in its own way for a service that is busy.
 */
export type WaitListener = (error: RequestError, ms: number) => boolean | undefined;

export interface Retrying {
  readonly clock: Clock;
  /** From 0 to 1. */
  random(): number;
  readonly budget: RetryBudget;
  /** Further attempts at most, whatever the policy says. */
  readonly mostAttempts: number;
  /** A line for each wait, for --verbose. */
  readonly trace?: ((line: string) => void) | undefined;
  readonly waits?: WaitListener | undefined;
}

const baseMs = 1000;
const capMs = 30_000;
/** A task that is being created by an earlier attempt is waited for this long. */
const creatingMs = 120_000;

/**
 * Sends a request, and again with the same key and the same bytes for as often as the policy table says. Throws what
 * the last attempt threw; where an earlier one may have been charged, the error says so whatever came later.
 */
export async function withRetries<T>(
  retrying: Retrying,
  endpoint: Endpoint,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  let doubt: RequestError | undefined;
  const start = retrying.clock.monotonic();
  for (let tries = 0; ; tries++) {
    let error: RequestError;
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof RequestError)) throw thrown;
      error = thrown;
    }
    const elapsed = retrying.clock.monotonic() - start;
    const wait = waitOf(error, endpoint, tries, elapsed, retrying);
    if (wait === undefined) throw doubt === undefined ? error : inDoubt(doubt, error, endpoint);
    if (isDoubtful(error.fault, endpoint)) doubt = error;
    if (retrying.waits?.(error, wait) === false) throw error;
    retrying.trace?.(`again in ${Math.round(wait)} ms: ${error.message}`);
    await pause(retrying.clock, wait, signal, doubt === undefined ? 'no' : 'maybe');
  }
}

/** Milliseconds to wait before the next attempt; undefined when there is none. Takes them from the budget. */
function waitOf(
  error: RequestError,
  endpoint: Endpoint,
  tries: number,
  elapsed: number,
  { random, budget, mostAttempts }: Retrying,
): number | undefined {
  const attempts = attemptsOf(error.fault, endpoint);
  if (tries >= Math.min(attempts, mostAttempts)) return undefined;
  // Full jitter: a crowd that failed together does not come back together.
  const wait = error.retryAfterMs ?? random() * Math.min(capMs, baseMs * 2 ** tries);
  // Waiting for one's own task is not retrying, and has a limit of its own.
  if (error.fault === 'already_exists' && endpoint.repetition === 'replays') {
    return elapsed + wait > creatingMs ? undefined : wait;
  }
  if (wait > budget.leftMs) return undefined;
  budget.leftMs -= wait;
  return wait;
}

/** The last error after one that may have been charged: unless the service itself refused, it is still in doubt. */
function inDoubt(doubt: RequestError, last: RequestError, endpoint: Endpoint): RequestError {
  if (isDoubtful(last.fault, endpoint)) return last;
  if (last.fault === 'no_credits' || last.fault === 'invalid') return last;
  const words =
    last.fault === 'already_exists'
      ? `${doubt.words}. The service has the request, but its answer can't be fetched again`
      : `${doubt.words}; the second attempt failed too: ${last.words}`;
  const { hint: _, facts: __, ...known } = last.details;
  const { hint, facts, technical, type = doubt.fault } = doubt.details;
  return new RequestError(doubt.fault, endpoint, words, {
    ...known,
    ...toAdvice(hint ?? facts),
    type,
    ...(technical === undefined ? {} : { technical }),
    charged: 'maybe',
    retryable: false,
    cause: last,
  });
}

/**
 * Pure but for the clock: the milliseconds of a Retry-After header, in seconds or as a date. A date that has passed
 * (or a clock that jumped) is now; what can't be read is undefined.
 */
export function toRetryAfter(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  // Date.parse takes almost anything for a date. Those of HTTP end with GMT, or with a year in its oldest form.
  const zone = /^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/.test(header) ? ' GMT' : '';
  const date = /GMT$/.test(header + zone) ? Date.parse(header + zone) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now().getTime());
}
