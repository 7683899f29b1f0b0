import type { EndpointName } from '../contract/endpoints.ts';

/** Timeouts in seconds. Only time spent waiting for the service counts. */
export interface TimeLimits {
  /** From the request to the head of the answer. */
  readonly headers: number;
  /** Between two pieces of the body. */
  readonly idle: number;
  /** Between two events of a stream; absent where there are none. Comments do not count. */
  readonly event?: number;
  /** All waiting together. */
  readonly total: number;
}

/** The timeouts of each endpoint. Some are slow: a deep search may take 15 minutes. */
export const timeLimits: Readonly<Record<EndpointName, TimeLimits>> = {
  balance: { headers: 15, idle: 15, total: 30 },
  status: { headers: 15, idle: 15, total: 30 },
  fetch: { headers: 30, idle: 30, total: 60 },
  createTask: { headers: 60, idle: 30, total: 90 },
  contactSearch: { headers: 180, idle: 30, total: 200 },
  enrich: { headers: 300, idle: 60, total: 330 },
  deepSearch: { headers: 900, idle: 60, total: 960 },
  extract: { headers: 900, idle: 60, total: 960 },
  search: { headers: 120, idle: 90, event: 300, total: 3600 },
};

/** Timeouts that override those of an endpoint. */
export type RequestedLimits = { readonly [Name in keyof TimeLimits]?: number | undefined };

/** Pure: the limits of an endpoint, with the given ones in place of its own. */
export function toTimeLimits(endpoint: EndpointName, requested: RequestedLimits): TimeLimits {
  const defaults = timeLimits[endpoint];
  const headers = requested.headers ?? defaults.headers;
  const idle = requested.idle ?? defaults.idle;
  return {
    headers,
    idle,
    ...(defaults.event === undefined ? {} : { event: requested.event ?? defaults.event }),
    // The total must allow the requested waits.
    total: Math.max(requested.total ?? defaults.total, headers + idle),
  };
}

const silences: Record<keyof TimeLimits, string> = {
  headers: 'no answer for',
  idle: 'no data for',
  event: 'no new leads for',
  total: 'the answer was not complete after',
};

/** Which limit ran out, after how many seconds. */
export class SilenceError extends Error {
  constructor(limit: keyof TimeLimits, seconds: number) {
    super(`${silences[limit]} ${seconds} s`);
    this.name = 'SilenceError';
  }
}
