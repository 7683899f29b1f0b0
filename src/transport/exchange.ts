import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { Clock } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import type { Call } from './call.ts';
import { toFailure } from './failure.ts';
import { SilenceError, type TimeLimits } from './time-limits.ts';

/** The only method that is used of undici's dispatchers, 7 and newer. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>;

export interface ExchangeOptions {
  readonly dispatcher: Dispatching;
  readonly clock: Clock;
  readonly beforeSend?: (() => void) | undefined;
}

/** Waiting is measured in steps of this length, so that time in which the process is stopped counts as one step at most. */
const stepMs = 500;
/** Maximum bytes of a body to buffer for a slow reader (back-pressure). */
const maxHeld = 128 * 1024;

const nothing = (): void => {};

/** An answer whose head has arrived. It must be closed. */
export type Exchange = Awaited<ReturnType<typeof openExchange>>;

/**
 * One request and its answer, within time limits. Redirects and retries are left to the caller. Time in which a slow reader blocks or this
 * process is stopped (SIGSTOP, a sleeping machine) does not count: it says nothing about the service. Throws RequestError and StoppedError
 * until the head has arrived.
 */
export async function openExchange(
  { dispatcher, clock, beforeSend }: ExchangeOptions,
  call: Call,
  outgoing: Dispatcher.DispatchOptions,
) {
  const { limits, signal } = call;
  const pieces: Uint8Array[] = [];
  let held = 0;
  let isOver = false;
  let failure: Error | undefined;
  let head:
    | { readonly status: number; readonly values: Record<string, string | string[] | undefined> }
    | undefined;
  let wire: Dispatcher.DispatchController | undefined;
  /** Ends the wait for something to arrive, if there is one. */
  let wake = nothing;
  /** Milliseconds. */
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

  function takeHead() {
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
    held -= piece.byteLength;
    // Each resume copies all that the socket has buffered: resumed earlier, it would buffer more each time.
    if (held === 0) wire?.resume();
    return piece;
  }

  /** Waits for something to arrive. Ends the exchange when the first of its limits runs out. */
  async function waitFor<T>(take: () => T | undefined, silence: 'headers' | 'idle'): Promise<T> {
    for (let silent = 0; ; ) {
      const taken = take();
      if (taken !== undefined) return taken;
      const left: [keyof TimeLimits, number][] = [
        [silence, limits[silence] * 1000 - silent],
        ['total', limits.total * 1000 - waited],
      ];
      if (silence === 'idle' && limits.event !== undefined)
        left.push(['event', limits.event * 1000 - waitedSinceEvent]);
      const [limit, ms] = left.reduce((soonest, one) => (one[1] < soonest[1] ? one : soonest));
      if (ms <= 0) {
        abort(new SilenceError(limit, limits[limit] ?? 0));
        continue;
      }
      const step = Math.min(stepMs, ms);
      const start = clock.monotonic();
      await new Promise<void>((resolve) => {
        // Timers run before sockets in the event loop: setImmediate lets data that has arrived be read first.
        const cancel = clock.after(step, () => setImmediate(resolve));
        wake = () => {
          wake = nothing;
          cancel();
          resolve();
        };
      });
      const spent = Math.min(clock.monotonic() - start, step);
      silent += spent;
      waited += spent;
      waitedSinceEvent += spent;
    }
  }

  const stop = (): void => abort(new Error('stopped'));
  /** Nothing arrives afterwards. */
  function close(): void {
    signal.removeEventListener('abort', stop);
    abort(new Error('not read to its end'));
  }

  dispatcher.dispatch(outgoing, {
    // The connection is open, and the head of the request is written next.
    onRequestStart(controller) {
      if (failure !== undefined) return controller.abort(failure);
      try {
        beforeSend?.();
      } catch (error) {
        fail(error as Error);
        return controller.abort(error as Error);
      }
      wire = controller;
    },
    onResponseStart(_, status, values) {
      // 101 would switch the protocol, which was not requested. Other 1xx answers are followed by the real one.
      if (status === 101) return abort(new Error('the server switches to another protocol'));
      if (status < 200) return;
      head = { status, values };
      wake();
    },
    onResponseData(controller, piece) {
      pieces.push(piece);
      held += piece.byteLength;
      if (held >= maxHeld) controller.pause();
      wake();
    },
    onResponseEnd() {
      isOver = true;
      wake();
    },
    onResponseError: (_, error) => fail(error),
  });
  // Many exchanges can run at once, and each adds a listener.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', stop);

  const { status, values } = await waitFor(takeHead, 'headers').catch((error: unknown) => {
    close();
    if (error instanceof LeadpipeError) throw error;
    throw toFailure(error, call, undefined, wire !== undefined);
  });
  return {
    status,
    signal,
    /** The keys are lower-case; headers with the same name are joined with commas. */
    headers: new Map(
      Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
    ),
    /** The bytes as they arrive, for one reader, once. Throws the error that broke the connection, and SilenceError. */
    async *body(): AsyncGenerator<Uint8Array> {
      for (;;) {
        // What has arrived already needs no timer.
        const here = takePiece();
        const piece = here === undefined ? await waitFor(takePiece, 'idle') : here;
        if (piece === null) return;
        yield piece;
      }
    },
    /** Call this for each event of a stream: it restarts the `event` timeout. */
    event(): void {
      waitedSinceEvent = 0;
    },
    close,
  };
}
