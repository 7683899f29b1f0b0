import { constants, createWriteStream, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { writeFailure } from '../files/write-failure.ts';

/**
 * A sink on a stream: that of a `file`, or standard output, which stays open. A write resolves when the stream has passed its
 * bytes on, not when it has queued them: a caller that waits for it holds one batch in memory, however slow the reader.
 *
 * When `signal` aborts, a write that waits rejects with the outcome that is the signal's reason, and later ones
 * (a closing bracket) are handed over without waiting.
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

/** Between two tries to find a reader, in milliseconds. */
const retryMs = 50;

/**
 * What is no regular file: /dev/null, or a FIFO. That is opened and written without blocking, since what blocks in Node's thread
 * pool can't be stopped by any signal. Waits for its reader, as a shell does, until `signal` aborts. Throws LocalIoError, and the outcome
 * that is the signal's reason.
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

function readerClosed(): LeadpipeError {
  return new LeadpipeError('reader_closed', 'the reader of the output has gone away');
}

function stopped(signal: AbortSignal, message = 'stopped while writing the output'): LeadpipeError {
  return new LeadpipeError(stoppedBy(signal), message);
}
