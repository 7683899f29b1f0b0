import type { Dispatcher } from 'undici';

/** An answer whose head has come. It is read once, by one reader. */
export interface Incoming {
  readonly status: number;
  /** Several of one name are joined with commas. */
  header(name: string): string | undefined;
  /** The next piece of the body as it came from the network, undefined at its end. Throws what broke the connection. */
  next(): Promise<Uint8Array | undefined>;
  /** The next piece if it is here already. */
  ready(): Uint8Array | undefined;
}

export interface Sending {
  /** The answer, once its head is here. Throws what broke the connection, and what `abort` was given. */
  head(): Promise<Incoming>;
  /** Whether any of it may have left this machine. */
  hasBegun(): boolean;
  /** Whether the answer has come whole. */
  isOver(): boolean;
  /** Ends it at once, and whatever waits for it. Does nothing to what has ended. */
  abort(reason: Error): void;
}

/** The one method that is needed of undici's dispatchers, of 7 and newer. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>;

/** Bytes of a body that are held for a reader who is slower than the network. */
const mostHeld = 128 * 1024;

/** No redirect is followed, and nothing is sent twice: that is the caller's to decide. */
export function createSending(dispatcher: Dispatching, outgoing: Dispatcher.DispatchOptions): Sending {
  const pieces: Uint8Array[] = [];
  let held = 0;
  let ended = false;
  let failure: Error | undefined;
  let incoming: Incoming | undefined;
  let wire: Dispatcher.DispatchController | undefined;
  let wake = (): void => {};

  const change = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });

  function fail(reason: Error): void {
    if (ended || failure !== undefined) return;
    failure = reason;
    wake();
  }

  function abort(reason: Error): void {
    if (ended) return;
    fail(reason);
    wire?.abort(reason);
  }

  function ready(): Uint8Array | undefined {
    const piece = pieces.shift();
    if (piece === undefined) return undefined;
    const wasFull = held >= mostHeld;
    held -= piece.byteLength;
    if (wasFull && held < mostHeld) wire?.resume();
    return piece;
  }

  async function next(): Promise<Uint8Array | undefined> {
    for (;;) {
      // What came before the connection broke is good.
      const piece = ready();
      if (piece !== undefined) return piece;
      if (failure !== undefined) throw failure;
      if (ended) return undefined;
      await change();
    }
  }

  dispatcher.dispatch(outgoing, {
    // There is a connection, and the head is written next.
    onRequestStart(controller) {
      if (failure !== undefined) return controller.abort(failure);
      wire = controller;
    },
    onResponseStart(_, status, values) {
      // Others follow those below 200, but for what nobody has asked for.
      if (status === 101) return abort(new Error('the other end changes the protocol'));
      if (status < 200) return;
      const header = (name: string): string | undefined => {
        const value = values[name.toLowerCase()];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      incoming = { status, header, next, ready };
      wake();
    },
    onResponseData(controller, piece) {
      pieces.push(piece);
      held += piece.byteLength;
      if (held >= mostHeld) controller.pause();
      wake();
    },
    onResponseEnd() {
      ended = true;
      wake();
    },
    onResponseError: (_, error) => fail(error),
  });

  return {
    async head() {
      while (incoming === undefined) {
        if (failure !== undefined) throw failure;
        await change();
      }
      return incoming;
    },
    hasBegun: () => wire !== undefined,
    isOver: () => ended,
    abort,
  };
}
