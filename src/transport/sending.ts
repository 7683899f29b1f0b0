import type { Dispatcher } from 'undici';

/** A request that is handed to fetch, and what fetch does not tell about it. */
export interface Sending {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  /** Whether any of it may have left this machine. */
  hasBegun(): boolean;
  /** The status as it came: fetch is told another in place of `meddled`. */
  statusOf(response: Response): number;
}

/** fetch sends the request of a 421 again by itself, whatever it costs, and throws away the answer of a 407. */
const meddled: readonly number[] = [407, 421];

/**
 * A body is asked for when there is a connection to write it to, and the head goes out with its first bytes. What has
 * no body counts as sent at once: it is free. A connection is closed behind the `last` request on it.
 */
export function createSending(dispatcher: Dispatcher, last = false): Sending {
  let begun = false;
  let status: number | undefined;

  async function* noticed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    begun = true;
    yield* body;
  }

  function told(answered: number): number {
    status = answered;
    return meddled.includes(answered) ? 400 : answered;
  }

  /** Nodes up to 24 have fetch take the head of an answer in `onHeaders`, later ones in `onResponseStart`. */
  function noticing(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
    const { onHeaders, onResponseStart } = handler;
    if (onHeaders) {
      handler.onHeaders = (answered, ...rest) => onHeaders.call(handler, told(answered), ...rest);
    }
    if (onResponseStart) {
      handler.onResponseStart = (controller, answered, ...rest) =>
        onResponseStart.call(handler, controller, told(answered), ...rest);
    }
    return handler;
  }

  return {
    hasBegun: () => begun,
    statusOf: (response) => status ?? response.status,
    dispatcher: {
      dispatch(options, handler) {
        const body: unknown = options.body;
        if (!isAsyncIterable(body)) {
          begun = true;
          return dispatcher.dispatch(last ? { ...options, reset: true } : options, noticing(handler));
        }
        // undici takes one, though its type does not say so.
        return dispatcher.dispatch({ ...options, body: noticed(body) as never }, noticing(handler));
      },
    },
  };
}

function isAsyncIterable(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}
