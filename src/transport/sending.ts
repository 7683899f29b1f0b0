import type { Dispatcher } from 'undici';

/** A request that is handed to fetch, and whether any of it may have left this machine. */
export interface Sending {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  hasBegun(): boolean;
}

/**
 * A body is asked for when there is a connection to write it to, and the head goes out with its first bytes. What has
 * no body counts as sent at once: it is free.
 */
export function createSending(dispatcher: Dispatcher): Sending {
  let begun = false;

  async function* noticed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    begun = true;
    yield* body;
  }

  return {
    hasBegun: () => begun,
    dispatcher: {
      dispatch(options, handler) {
        const body: unknown = options.body;
        if (!isAsyncIterable(body)) {
          begun = true;
          return dispatcher.dispatch(options, handler);
        }
        // undici takes one, though its type does not say so.
        return dispatcher.dispatch({ ...options, body: noticed(body) as never }, handler);
      },
    },
  };
}

function isAsyncIterable(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}
