import { noLock } from '../../src/files/folder-lock.ts';
import { createFileSink as create } from '../../src/output/file-sink.ts';
import { machineClock as clock } from './clock.ts';

export type SinkOptions = Partial<Parameters<typeof create>[1]>;

/** The file of an output, for a run that nothing stops and nobody listens to. */
export const createFileSink = (path: string, options: SinkOptions = {}) =>
  create(path, {
    lock: noLock,
    waiting: { signal: new AbortController().signal, clock },
    warn: () => {},
    ...options,
  });
