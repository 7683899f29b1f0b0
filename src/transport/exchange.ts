import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { Clock } from '../context.ts';
import type { Call } from './call.ts';
import type { TimeLimits } from './time-limits.ts';

/** The only method that is used of undici's dispatchers, 7 and newer. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>;

/** Which limit ran out, after how many seconds. */
export class SilenceError extends Error {
  constructor(limit: keyof TimeLimits, seconds: number) {
    super(`${silences[limit]} ${seconds} s`);
    this.name = 'SilenceError';
  }
}

const silences: Record<keyof TimeLimits, string> = {
  headers: 'no answer for',
  idle: 'no data for',
  event: 'no new leads for',
  total: 'the answer was not complete after',
};

/** Waiting is counted in steps of so many milliseconds. A step in which the process was stopped counts as one. */
const stepMs = 500;
/** The most bytes of a body to hold for a reader that is slower than the network. */
const mostHeld = 128 * 1024;

/** The head of an answer. The exchange gives the body, once, to one reader. */
export interface Head {
  readonly status: number;
  /** Several headers with the same name are joined with commas. */
  header(name: string): string | undefined;
}

export type Exchange = ReturnType<typeof openExchange>;

/**
 * One request and its answer, within time limits. It follows no redirect and sends nothing twice: the caller decides that. Time in which a
 * slow reader holds us up does not count, nor time in which this process was stopped (SIGSTOP, a sleeping machine): neither says anything
 * about the service.
 */
export function openExchange(
  dispatcher: Dispatching,
  clock: Clock,
  { limits, signal }: Pick<Call, 'limits' | 'signal'>,
  outgoing: Dispatcher.DispatchOptions,
) {
  const pieces: Uint8Array[] = [];
  let held = 0;
  let isOver = false;
  let failure: Error | undefined;
  let head: Head | undefined;
  let wire: Dispatcher.DispatchController | undefined;
  let wake = (): void => {};
  let waited = 0;
  let waitedSinceEvent = 0;

  function fail(reason: Error): void {
    if (isOver || failure !== undefined) return;
    failure = reason;
    wake();
  }

  function abort(reason: Error): void {
    fail(reason);
    if (!isOver) wire?.abort(reason);
  }

  function takeHead(): Head | undefined {
    if (head === undefined && failure !== undefined) throw failure;
    return head;
  }

  /**
   * The next piece of the body, null at its end, undefined where it has not arrived. Pieces that arrived before the connection broke are
   * valid.
   */
  function takePiece(): Uint8Array | null | undefined {
    const piece = pieces.shift();
    if (piece === undefined) {
      if (failure !== undefined) throw failure;
      return isOver ? null : undefined;
    }
    const wasFull = held >= mostHeld;
    held -= piece.byteLength;
    if (wasFull && held < mostHeld) wire?.resume();
    return piece;
  }

  async function waitFor<T>(take: () => T | undefined, silence: 'headers' | 'idle'): Promise<T> {
    const stopTimer = startTimer(silence);
    try {
      for (;;) {
        const taken = take();
        if (taken !== undefined) return taken;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      stopTimer();
    }
  }

  /** Ends the exchange when the first of its limits runs out. Returns a function that ends the timer. */
  function startTimer(silence: 'headers' | 'idle'): () => void {
    const left: [keyof TimeLimits, number][] = [
      [silence, limits[silence] * 1000],
      ['total', limits.total * 1000 - waited],
    ];
    if (silence === 'idle' && limits.event !== undefined)
      left.push(['event', limits.event * 1000 - waitedSinceEvent]);
    const [limit, most] = left.reduce((soonest, one) => (one[1] < soonest[1] ? one : soonest));
    let spent = 0;
    let step = 0;
    let start = clock.monotonic();
    let cancel = (): void => {};
    const count = (): void => {
      const now = clock.monotonic();
      spent += Math.min(now - start, step);
      start = now;
    };
    const next = (): void => {
      step = Math.max(0, Math.min(stepMs, most - spent));
      cancel = clock.after(step, () => {
        count();
        // Timers run first in a turn of the event loop, so what is in the socket is read before this turn ends.
        if (spent < most) return next();
        const end = setImmediate(() => abort(new SilenceError(limit, limits[limit] ?? 0)));
        cancel = () => clearImmediate(end);
      });
    };
    next();
    return () => {
      cancel();
      count();
      waited += spent;
      waitedSinceEvent += spent;
    };
  }

  dispatcher.dispatch(outgoing, {
    // The connection is open, and the head of the request is written next.
    onRequestStart(controller) {
      if (failure !== undefined) return controller.abort(failure);
      wire = controller;
    },
    onResponseStart(_, status, values) {
      // Other 1xx answers are followed by the real one; nobody has asked for a change of protocol.
      if (status === 101) return abort(new Error('the other end changes the protocol'));
      if (status < 200) return;
      const header = (name: string): string | undefined => {
        const value = values[name.toLowerCase()];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      head = { status, header };
      wake();
    },
    onResponseData(controller, piece) {
      pieces.push(piece);
      held += piece.byteLength;
      if (held >= mostHeld) controller.pause();
      wake();
    },
    onResponseEnd() {
      isOver = true;
      wake();
    },
    onResponseError: (_, error) => fail(error),
  });
  const stop = (): void => abort(new Error('stopped'));
  // Many exchanges can run at once, and each adds a listener.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', stop);

  return {
    signal,
    /** Throws what broke the connection, and SilenceError; so does `body`. */
    head: () => waitFor(takeHead, 'headers'),
    /** The bytes as they come from the network. */
    async *body(): AsyncGenerator<Uint8Array> {
      for (;;) {
        // What has arrived already needs no timer.
        const here = takePiece();
        const piece = here === undefined ? await waitFor(takePiece, 'idle') : here;
        if (piece === null) return;
        yield piece;
      }
    },
    /** To be called for each event of a stream: the time limit for silence starts again. */
    event(): void {
      waitedSinceEvent = 0;
    },
    /** Whether any part of the request may have left this machine. */
    hasBegun: () => wire !== undefined,
    /** Must be called. Nothing arrives afterwards. */
    close(): void {
      signal.removeEventListener('abort', stop);
      abort(new Error('not read to its end'));
    },
  };
}
