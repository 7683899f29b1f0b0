import { constants, openSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Socket } from 'node:net';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { codeOf } from '../files/error-code.ts';
import { fail, writeFailure } from '../files/write-failure.ts';
import { createStreamSink, type FileSink, type Sink, stopped } from './sink.ts';

/** What is no regular file, as /dev/null, takes what comes. Throws LocalIoError. */
export async function openDirect(path: string): Promise<FileSink> {
  const handle: FileHandle = await open(path, constants.O_WRONLY).catch((error) => fail(path, error));
  const write: Sink['write'] = (text) => handle.writeFile(text).catch((error) => fail(path, error));
  return withoutLength({ write }, () => handle.close().catch((error) => fail(path, error)));
}

/** Between two tries to find a reader, in milliseconds. */
const retryMs = 50;

/**
 * A FIFO, opened and written without blocking: what blocks in Node's thread pool can't be stopped by any signal. Waits
 * for a reader, as a shell does, until `signal` aborts; without `waiting` there must be one.
 *
 * @throws LocalIoError, and the outcome that is the signal's reason.
 */
export async function openFifo(path: string, waiting?: Pick<Context, 'clock' | 'signal'>): Promise<FileSink> {
  const signal = waiting?.signal ?? new AbortController().signal;
  let fd = openForReader(path);
  while (fd === undefined) {
    if (waiting === undefined) throw writeFailure(path, new Error('no program reads from it'));
    if (signal.aborted) throw stopped(signal, `stopped while waiting for a reader of ${path}`);
    await wait(waiting.clock, retryMs, signal);
    fd = openForReader(path);
  }
  const stream = new Socket({ fd, readable: false, writable: true });
  return withoutLength(createStreamSink(stream, signal, path), async () => void stream.destroy());
}

/** What is written to is the file, whatever comes of the run. */
function withoutLength(sink: Sink, close: () => Promise<void>): FileSink {
  return {
    ...sink,
    length: undefined,
    continued: false,
    replaces: false,
    lineEnd: '\r\n',
    sync: async () => {},
    commit: close,
    discard: close,
    abandon: () => close().then(() => undefined),
  };
}

/** Undefined while nobody has it open for reading. */
function openForReader(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENXIO') return undefined;
    throw writeFailure(path, error);
  }
}
