import type { RouteListener } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { openStatusLine, waitedFor } from './status-line.ts';
import { toWaitReason } from './wait-reason.ts';

/** A connection is there sooner than this, nearly always. */
const usualMs = 1000;

/** Says why nothing comes: a host that does not answer, a wait before another attempt. */
export function createWayLine(
  context: Context,
  options: ConnectionOptions,
): Required<Pick<RouteListener, 'connecting' | 'waits'>> & { stop(): void } {
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
      if (slow !== undefined && clock.monotonic() - slow.since >= usualMs)
        return `connecting to ${slow.host}…`;
      return undefined;
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
    waits(error, ms) {
      wait = { until: clock.monotonic() + ms, reason: toWaitReason(error) };
      line.update();
      return undefined;
    },
    connecting(host) {
      const one = { host, since: clock.monotonic() };
      opening.add(one);
      return () => opening.delete(one);
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}
