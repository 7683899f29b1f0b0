import type { Writable } from 'node:stream';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import { writeFailure } from '../files/write-failure.ts';

/** Where the bytes of an output go. */
export interface Sink {
  /**
   * Writes all of the text, as UTF-8, or of the bytes, in one go. Resolves when it has been taken, so that no one runs ahead
   * of the reader.
   */
  write(text: string | Buffer): Promise<void>;
}

export interface FileSink extends Sink {
  /** Bytes of whole writes so far: where a resumed run goes on. Undefined for what has no length. */
  readonly length: number | undefined;
  /** Whether rows, and so the header, stood in the .part before. */
  readonly continued: boolean;
  /** Whether it would take the place of a file that has something. */
  readonly replaces: boolean;
  /** How the lines of CSV end in the file that rows are added to. */
  readonly lineEnd: '\r\n' | '\n';
  /** Resolves when everything written is on the disk. */
  sync(): Promise<void>;
  /**
   * Everything is there: the file appears under its name, or its rows at the end of it, on the disk. `adding` is awaited before
   * rows are added.
   */
  commit(adding?: (addition: Addition) => Promise<void>): Promise<void>;
  /** Closes it, and removes the .part: the file stays as it is. */
  discard(): Promise<void>;
  /** The run was cut: closes, and returns the path of the file that holds its rows (undefined, and no file, without rows). */
  abandon(): Promise<string | undefined>;
}

/**
 * A sink on a stream of the process. A write resolves when the stream has passed its bytes on, not when it has
 * queued them: whoever waits for it holds one batch in memory, however slow the reader.
 *
 * When `signal` aborts, a write that waits rejects with the outcome that is the signal's reason, and later ones
 * (a closing bracket) are handed over without waiting.
 */
export function createStreamSink(stream: Writable, signal: AbortSignal, name = 'standard output'): Sink {
  let failure: Error | undefined;
  // For ever: an error that nobody listens to, even after the last write, would be an uncaught exception.
  stream.on('error', (error) => {
    failure ??= writeFailure(name, error);
  });
  return {
    async write(text) {
      if (failure !== undefined) throw failure;
      if (stream.destroyed || stream.writableEnded) throw readerClosed();
      if (text.length === 0) return;
      if (signal.aborted) {
        stream.write(text);
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const settle = (error?: Error): void => {
          stream.off('close', closed);
          signal.removeEventListener('abort', aborted);
          if (error === undefined) resolve();
          else reject(error);
        };
        const closed = (): void => settle(failure ?? readerClosed());
        const aborted = (): void => settle(stopped(signal));
        stream.on('close', closed);
        signal.addEventListener('abort', aborted);
        stream.write(text, (error) => {
          if (error) failure ??= writeFailure(name, error);
          settle(failure);
        });
      });
    },
  };
}

function readerClosed(): LeadpipeError {
  return new LeadpipeError('reader_closed', 'the reader of the output has gone away');
}

export function stopped(signal: AbortSignal, message = 'stopped while writing the output'): LeadpipeError {
  return new LeadpipeError(stoppedBy(signal), message);
}
