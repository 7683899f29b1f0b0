import type { RouteListener } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { openStatusLine } from './status-line.ts';
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
  const stops: (() => void)[] = [];

  function open(): void {
    if (stops.length > 0) return;
    const line = openStatusLine(context, options);
    stops.push(
      line.show(() => {
        const left = Math.ceil(((wait?.until ?? 0) - clock.monotonic()) / 1000);
        if (wait !== undefined && left > 0) return `waiting ${left} s: ${wait.reason}…`;
        const [slow] = opening;
        if (slow !== undefined && clock.monotonic() - slow.since >= usualMs)
          return `connecting to ${slow.host}…`;
        return undefined;
      }, true),
      // What has nothing of its own to show.
      line.show(() => wait && 'trying again…'),
    );
  }

  return {
    waits(error, ms) {
      wait = { until: clock.monotonic() + ms, reason: toWaitReason(error) };
      open();
      openStatusLine(context, options).update();
      return undefined;
    },
    connecting(host) {
      const one = { host, since: clock.monotonic() };
      opening.add(one);
      open();
      return () => opening.delete(one);
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}
