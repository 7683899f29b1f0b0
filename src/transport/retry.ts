import { type Clock, pause } from '../clock.ts';
import type { Endpoint } from '../contract/endpoints.ts';
import { RequestError } from './errors.ts';
import { type Fault, verdictOf } from './policy.ts';

/**
 * Called before each wait, with its reason. Return false to get the error at once: a caller that sends many requests waits for a busy
 * service in its own way.
 */
export type WaitListener = (error: RequestError, ms: number) => boolean | undefined;

export interface Retrying {
  readonly clock: Clock;
  /** From 0 to 1. */
  random(): number;
  /** The most milliseconds that all waits for one request may take together. */
  readonly retryBudgetMs: number;
  /** The most further attempts; the policy table says how many each fault gets. */
  readonly retryAttempts: number;
  /** A line for each request, answer and wait, for --verbose. */
  readonly trace?: ((line: string) => void) | undefined;
  readonly waits?: WaitListener | undefined;
}

const baseMs = 1000;
const capMs = 30_000;
/** How long to wait for a task that an earlier attempt is creating. */
const creatingMs = 120_000;
/** Longer times are shown as a year. */
const longestMs = 366 * 86_400_000;

/**
 * Sends a request, and sends it again with the same key and the same bytes as often as the policy table says. Throws what the last attempt
 * threw; if an earlier one may have been charged, the error says so.
 */
// rule: common.no-duplicates
export async function withRetries<T>(
  retrying: Retrying,
  endpoint: Endpoint,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  let doubt: RequestError | undefined;
  let leftMs = retrying.retryBudgetMs;
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
    const wait = waitOf(error, endpoint, tries, retrying);
    // Waiting for one's own task is not a retry, and has its own limit.
    const isCreating = error.fault === 'already_exists' && endpoint.repetition === 'replays';
    const isTooLong = wait === undefined || wait > (isCreating ? creatingMs - elapsed : leftMs);
    if (isTooLong)
      throw doubt === undefined ? toRefusedUntil(error, retrying) : inDoubt(doubt, error, endpoint);
    if (!isCreating) leftMs -= wait;
    if (isDoubtful(error.fault, endpoint)) doubt = error;
    if (retrying.waits?.(error, wait) === false) {
      throw doubt === undefined ? error : error.with({ charged: 'maybe' });
    }
    retrying.trace?.(`again in ${Math.round(wait)} ms: ${error.message}`);
    await pause(retrying.clock, wait, signal, doubt === undefined ? 'no' : 'maybe');
  }
}

/** Milliseconds to wait before the next attempt; undefined when there is none. */
function waitOf(
  error: RequestError,
  endpoint: Endpoint,
  tries: number,
  { random, retryAttempts }: Retrying,
): number | undefined {
  if (tries >= Math.min(verdictOf(error.fault, endpoint).again, retryAttempts)) return undefined;
  // Full jitter, so that clients that failed together do not return together.
  return error.retryAfterMs ?? random() * Math.min(capMs, baseMs * 2 ** tries);
}

/** The error of a service that asks for a longer wait than allowed: it says when to come back, which holds for every request. */
function toRefusedUntil(error: RequestError, { clock, retryBudgetMs }: Retrying): RequestError {
  const { fault, retryAfterMs = 0 } = error;
  if (fault !== 'busy' || retryAfterMs <= retryBudgetMs) return error;
  const until = new Date(clock.now().getTime() + retryAfterMs).toISOString();
  return error.with({ facts: { is: 'busy_until', until } });
}

/** The last error, after an earlier one that may have been charged. The request stays in doubt unless the service itself refused it. */
function inDoubt(doubt: RequestError, last: RequestError, endpoint: Endpoint): RequestError {
  if (isDoubtful(last.fault, endpoint)) return last;
  if (last.fault === 'no_credits' || last.fault === 'invalid') return last;
  const words =
    last.fault === 'already_exists'
      ? `${doubt.words}. The service has the request, but its answer can't be fetched again`
      : `${doubt.words}; the second attempt failed too: ${last.words}`;
  const { hint, facts, technical, type } = doubt.details;
  return new RequestError(doubt.fault, endpoint, words, {
    ...last.details,
    hint,
    facts,
    type,
    technical,
    charged: 'maybe',
    retryable: false,
    cause: last,
  });
}

/** Whether a paid request may have been carried out in spite of this fault. */
function isDoubtful(fault: Fault, endpoint: Endpoint): boolean {
  return verdictOf(fault, endpoint).charged !== 'no';
}

/**
 * Pure but for the clock: the milliseconds of a Retry-After header, given in seconds or as a date. A date in the past counts as now;
 * undefined for what can't be read.
 */
export function toRetryAfter(header: string | undefined, clock: Clock): number | undefined {
  if (header === undefined) return undefined;
  // Date.parse accepts almost anything. HTTP dates end with GMT or, in their oldest form, with a year.
  const text = header.replace(/^\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}$/, '$& GMT');
  const date = /GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : date - clock.now().getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), longestMs);
}
