import {
  type Connection,
  withConnection as connect,
  type RouteListener,
  type RouteOptions,
  type RouteStart,
} from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import type { RequestError } from '../transport/errors.ts';
import type { Fault } from '../transport/policy.ts';
import { createNotes, openStatusLine, waitedFor } from './messages/status-line.ts';
import type { ConnectionOptions } from './options/options.ts';

/** As in connection/connection.ts, by the options of a command. `say` prints what is good to know, where that can't be printed at once. */
export async function withConnection<T>(
  context: Context,
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
  start?: RouteStart,
  say = createNotes(context, options).say,
): Promise<T> {
  const { stop, ...waiting } = showWaiting(context, options);
  try {
    return await withQuietConnection(context, options, work, start, { say, ...waiting });
  } catch (error) {
    // What --local buys is free, whatever the service would charge for it.
    const isFree = options.local && error instanceof LeadpipeError && error.details.charged !== undefined;
    throw isFree ? error.with({ charged: 'no' }) : error;
  } finally {
    stop();
  }
}

/** The same for a command that shows what it waits for by itself. */
export function withQuietConnection<T>(
  context: Context,
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
  start?: RouteStart,
  more?: RouteListener,
): Promise<T> {
  const { say, trace } = createNotes(context, options);
  const listener = { say, ...(options.verbose ? { trace } : {}), ...more };
  return connect(context, { ...options, address: addressOf(options) }, listener, work, start);
}

/** Pure: the address of an option, and what to call it. */
export function addressOf({ baseUrl }: Pick<ConnectionOptions, 'baseUrl'>): RouteOptions['address'] {
  return baseUrl === undefined ? undefined : { text: baseUrl, source: '--base-url' };
}

/** Says why nothing comes: a host that does not answer, a wait before another attempt. */
function showWaiting(context: Context, options: ConnectionOptions) {
  const { clock } = context;
  let wait: { readonly until: number; readonly reason: string } | undefined;
  const opening = new Set<{ readonly host: string; readonly since: number }>();
  const start = clock.monotonic();
  const line = openStatusLine(context, options);
  const stops = [
    line.show(() => {
      const left = Math.ceil(((wait?.until ?? 0) - clock.monotonic()) / 1000);
      if (wait !== undefined && left > 0) return `waiting ${left} s: ${wait.reason}…`;
      const [slow] = opening;
      // A connection is there within a second, nearly always.
      if (slow === undefined || clock.monotonic() - slow.since < 1000) return undefined;
      return `connecting to ${slow.host}…`;
    }, true),
    // What has nothing of its own to show.
    line.show(() => {
      // The local service is there as long as a server of agents is.
      if (options.local) return wait && 'trying again…';
      const seconds = Math.floor((clock.monotonic() - start) / 1000);
      const what = wait === undefined ? 'asking the service' : 'trying again';
      return seconds < 2 ? `${what}…` : `${what} · ${waitedFor(seconds)}`;
    }),
  ];

  return {
    waits(error: RequestError, ms: number): undefined {
      wait = { until: clock.monotonic() + ms, reason: toWaitReason(error) };
      line.update();
    },
    connecting(host: string): () => void {
      const one = { host, since: clock.monotonic() };
      opening.add(one);
      return () => void opening.delete(one);
    },
    stop(): void {
      for (const stop of stops) stop();
    },
  };
}

const reasons: Partial<Readonly<Record<Fault, string>>> = {
  lost: 'the connection broke',
  gateway: "the service can't be reached",
  garbled: 'the answer could not be read',
  internal_error: 'the service failed',
  busy: 'too many requests',
  already_exists: 'the service is still working on it',
};

/** Pure: why a request is sent again, in a few words. */
export function toWaitReason({ fault, details, words }: RequestError): string {
  // A name that is mistyped can be seen now, and not only when all attempts have failed.
  if (fault === 'unsent') return words.replace(/^no connection to the service: /, '');
  const status = details.status === undefined ? '' : ` (${details.status})`;
  return `${reasons[fault] ?? words}${status}`;
}
