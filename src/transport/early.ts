import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Connect } from './connect.ts';

/** Connections to one target, the next of which can be opened before it is asked for. */
export interface Early {
  readonly connect: Connect;
  /** Opens the next connection, while the run prepares what it sends. */
  prepare(): void;
}

/**
 * A connection that was opened early is as good as a new one: one that was not asked for within `keptMs` of its opening, or
 * from which anything came, its end too, is thrown away. What is open at the end goes with `ended`.
 */
export function withEarly(
  connect: Connect,
  target: Parameters<Connect>[0],
  keptMs: number,
  clock: Pick<Clock, 'after'>,
  ended: AbortSignal,
): Early {
  let take: (() => Promise<Socket | undefined>) | undefined;
  return {
    prepare() {
      take ??= open(connect(target), keptMs, clock, ended);
    },
    async connect(next) {
      const early = take?.();
      take = undefined;
      return (await early) ?? (await connect(next));
    },
  };
}

/** Gives the connection away, once; undefined when it is no good any more. Throws why it could not be opened. */
function open(
  opening: Promise<Socket>,
  keptMs: number,
  clock: Pick<Clock, 'after'>,
  ended: AbortSignal,
): () => Promise<Socket | undefined> {
  let isGood = true;
  let release = (): void => {};
  const opened = opening.then((socket) => {
    const drop = (): void => {
      isGood = false;
      release();
      socket.on('error', () => {}).destroy();
    };
    const cancel = clock.after(keptMs, drop);
    const events = ['error', 'readable', 'close'];
    release = () => {
      cancel();
      ended.removeEventListener('abort', drop);
      for (const event of events) socket.off(event, drop);
    };
    ended.addEventListener('abort', drop);
    for (const event of events) socket.on(event, drop);
    return socket;
  });
  // Nobody may ever ask; and what failed may work when somebody does.
  opened.catch(() => {
    isGood = false;
  });
  return async () => {
    if (!isGood) return undefined;
    const socket = await opened;
    release();
    return isGood ? socket : undefined;
  };
}
