import { constants, createWriteStream, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { readerClosed, writeFailure } from '../files/write-failure.ts';

/**
 * A sink on a stream: a `file`, or standard output, which stays open. A write resolves when its bytes have left the queue of the stream
 * (back-pressure), so that only one batch is in memory. When `signal` aborts, a pending write rejects with the outcome of the signal, and later
 * writes (a closing bracket) don't wait.
 */
export function createStreamSink(stream: Writable, signal: AbortSignal, file?: string) {
  let failure: Error | undefined;
  const fail = (error: Error): void => {
    failure ??= writeFailure(file ?? 'standard output', error);
  };
  // Never removed: an error without a listener, even after the last write, would be an uncaught exception.
  stream.on('error', fail);
  const close = async (): Promise<undefined> => {
    if (file !== undefined) stream.destroy();
  };
  return {
    isPipe: true,
    async write(text: string): Promise<void> {
      if (failure !== undefined) throw failure;
      if (stream.destroyed || stream.writableEnded) throw readerClosed();
      if (signal.aborted) return void stream.write(text);
      await new Promise<void>((resolve, reject) => {
        const closed = (): void => reject(failure ?? readerClosed());
        const aborted = (): void => reject(stopped(signal));
        stream.on('close', closed);
        signal.addEventListener('abort', aborted);
        stream.write(text, (error) => {
          stream.off('close', closed);
          signal.removeEventListener('abort', aborted);
          if (error) fail(error);
          if (failure === undefined) resolve();
          else reject(failure);
        });
      });
    },
    replaces: false,
    lineEnd: undefined,
    delimiter: undefined,
    commit: close,
    abandon: close,
  };
}

/** Wait between two attempts to find a reader, in milliseconds. */
const retryMs = 50;

/**
 * Opens a file that is not regular: /dev/null, or a FIFO. A FIFO is opened non-blocking, since a signal can't stop a blocked thread of Node's
 * pool. Waits for its reader until `signal` aborts. Throws LocalIoError, and the outcome of the signal.
 */
export async function openDirect(
  path: string,
  isFifo: boolean,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
) {
  for (;;) {
    try {
      const fd = openSync(path, constants.O_WRONLY | (isFifo ? constants.O_NONBLOCK : 0));
      const stream = isFifo
        ? new Socket({ fd, readable: false, writable: true })
        : createWriteStream(path, { fd });
      return createStreamSink(stream, signal, path);
    } catch (error) {
      // No program reads from it yet.
      if (codeOf(error) !== 'ENXIO') throw writeFailure(path, error);
    }
    if (signal.aborted) throw stopped(signal, `stopped while waiting for a reader of ${path}`);
    await wait(clock, retryMs, signal);
  }
}

function stopped(signal: AbortSignal, message = 'stopped while writing the output'): LeadpipeError {
  return new LeadpipeError(stoppedBy(signal), message);
}
