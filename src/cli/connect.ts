import {
  type Connection,
  withConnection as connect,
  type KnownTarget,
  type RouteOptions,
} from '../connection/connection.ts';
import type { Context } from '../context.ts';
import type { Fault } from '../transport/policy.ts';
import type { RequestError } from '../transport/request-error.ts';
import { createNotes, openStatusLine, waitedFor } from './messages/status-line.ts';
import type { ConnectionOptions } from './options/shared-options.ts';

/**
 * Runs `work` with the connection for these options; see connection/connection.ts. The status line shows the wait, unless the command has its
 * own status. `say` prints notes, for commands that can't print them at once.
 */
export async function withConnection<T>(
  context: Context,
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
  known?: KnownTarget,
  say = createNotes(context, options).say,
): Promise<T> {
  const { stop, ...waiting } = showWaiting(context, options);
  const trace = options.verbose ? { trace: createNotes(context, options).trace } : {};
  try {
    const route = { ...options, address: addressOf(options) };
    return await connect(context, route, { say, ...trace, ...waiting }, work, known);
  } finally {
    stop();
  }
}

/** Pure: the address in an option, with the name of that option. */
export function addressOf({ baseUrl }: Pick<ConnectionOptions, 'baseUrl'>): RouteOptions['address'] {
  return baseUrl === undefined ? undefined : { text: baseUrl, source: '--base-url' };
}

/** Shows why nothing arrives: a host that does not answer, a wait before another attempt. */
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
      // A connection nearly always takes less than a second.
      if (slow === undefined || clock.monotonic() - slow.since < 1000) return undefined;
      return `connecting to ${slow.host}…`;
    }, true),
    // For commands that show nothing of their own.
    line.show(() => {
      // The local service answers at once, unless the process that runs it has ended.
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

/** Pure: in a few words, why a request is sent again. */
export function toWaitReason({ fault, details, words }: RequestError): string {
  // Shows a mistyped host name at once, not only after the last attempt.
  if (fault === 'unsent' || fault === 'not_running')
    return words.replace(/^no connection to the service: /, '');
  const status = details.status === undefined ? '' : ` (${details.status})`;
  return `${reasons[fault] ?? words}${status}`;
}
