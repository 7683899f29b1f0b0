import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { codeOf } from '../files/error-code.ts';
import { writeFailure } from '../files/write-failure.ts';
import type { FileSink } from './part-sink.ts';
import { createStreamSink, stopped } from './sink.ts';

/** Between two looks for a reader, in milliseconds. */
const lookMs = 50;

/**
 * A FIFO, opened and written without blocking: what blocks in Node's thread pool can't be stopped by any signal. Waits
 * for a reader, as a shell does, until `signal` aborts; without `waiting` there must be one.
 *
 * @throws LocalIoError, and the outcome that is the signal's reason.
 */
export async function openFifo(path: string, waiting?: Pick<Context, 'clock' | 'signal'>): Promise<FileSink> {
  const signal = waiting?.signal ?? new AbortController().signal;
  let fd = open(path);
  while (fd === undefined) {
    if (waiting === undefined) throw writeFailure(path, new Error('no program reads from it'));
    if (signal.aborted) throw stopped(signal, `stopped while waiting for a reader of ${path}`);
    await wait(waiting.clock, lookMs, signal);
    fd = open(path);
  }
  const stream = new Socket({ fd, readable: false, writable: true });
  const close = async (): Promise<void> => void stream.destroy();
  return {
    ...createStreamSink(stream, signal, path),
    length: undefined,
    continued: false,
    lineEnd: '\r\n',
    sync: async () => {},
    commit: close,
    abandon: () => close().then(() => undefined),
  };
}

/** Undefined while nobody has it open for reading. */
function open(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENXIO') return undefined;
    throw writeFailure(path, error);
  }
}
