import type { Dispatcher } from 'undici';

/** A request as it goes to the wire. */
export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Whether its connection is closed behind it. */
  readonly last: boolean;
}

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

/** A request that is given to undici. */
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

/** The one method that is needed of undici's dispatchers, of 6 and newer. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>;

/** Bytes of a body that are held for a reader who is slower than the network. */
const mostHeld = 128 * 1024;

/** Names and values in turn, each as bytes or text; or, from newer dispatchers, by name. */
type WireHeaders = readonly WireValue[] | Readonly<Record<string, WireValue>>;
type WireValue = Uint8Array | string | readonly (Uint8Array | string)[];

/** No redirect is followed, and nothing is sent twice: that is the caller's to decide. */
export function createSending(dispatcher: Dispatching, outgoing: Outgoing): Sending {
  const pieces: Uint8Array[] = [];
  let held = 0;
  let begun = false;
  let ended = false;
  let failure: Error | undefined;
  let incoming: Incoming | undefined;
  let cancel: ((reason: Error) => void) | undefined;
  let resume: (() => void) | undefined;
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

  function ready(): Uint8Array | undefined {
    const piece = pieces.shift();
    if (piece === undefined) return undefined;
    const wasFull = held >= mostHeld;
    held -= piece.byteLength;
    if (wasFull && held < mostHeld) resume?.();
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

  // undici up to 7 calls these.
  const old = {
    onConnect(abort: (reason: Error) => void) {
      cancel = abort;
      if (failure !== undefined) return abort(failure);
      // There is a connection, and the head is written next.
      begun = true;
    },
    onHeaders(status: number, headers: WireHeaders, goOn: () => void): boolean {
      // Others follow those below 200.
      if (status >= 200) {
        resume = goOn;
        const values = toValues(headers);
        incoming = { status, header: (name) => values.get(name.toLowerCase()), next, ready };
        wake();
      }
      return true;
    },
    onData(piece: Uint8Array): boolean {
      pieces.push(piece);
      held += piece.byteLength;
      wake();
      return held < mostHeld;
    },
    onComplete() {
      ended = true;
      wake();
    },
    onError: fail,
  };
  // undici from 7 on prefers these, and 8 knows no others.
  const handler: Dispatcher.DispatchHandler = {
    ...(old as object),
    onRequestStart: (controller) => old.onConnect((reason) => controller.abort(reason)),
    onResponseStart(controller, status, headers) {
      old.onHeaders(status, headers as WireHeaders, () => controller.resume());
    },
    onResponseData(controller, piece) {
      if (!old.onData(piece)) controller.pause();
    },
    onResponseEnd: old.onComplete,
    onResponseError: (_, error) => fail(error),
  };
  const { method, url, headers, body = null, last } = outgoing;
  const path = url.pathname + url.search;
  dispatcher.dispatch(
    { origin: url.origin, path, method: method as 'GET', headers, body, ...(last ? { reset: true } : {}) },
    handler,
  );

  return {
    async head() {
      while (incoming === undefined) {
        if (failure !== undefined) throw failure;
        await change();
      }
      return incoming;
    },
    hasBegun: () => begun,
    isOver: () => ended,
    abort(reason) {
      if (ended) return;
      fail(reason);
      cancel?.(reason);
    },
  };
}

function toValues(headers: WireHeaders): Map<string, string> {
  const values = new Map<string, string>();
  const add = (name: string, value: WireValue): void => {
    const text = isText(value) ? toText(value) : value.map(toText).join(', ');
    const before = values.get(name);
    values.set(name, before === undefined ? text : `${before}, ${text}`);
  };
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers)) add(name.toLowerCase(), value);
    return values;
  }
  for (let at = 0; at + 1 < headers.length; at += 2) add(toText(headers[at]).toLowerCase(), headers[at + 1]);
  return values;
}

function isText(value: WireValue): value is Uint8Array | string {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function toText(value: Uint8Array | string): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString('latin1');
}
