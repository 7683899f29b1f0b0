import { type Appended, openAppending } from '../../src/output/append.ts';
import { createFileSink as create, type FileSinkOptions } from '../../src/output/file-sink.ts';
import { machineClock as clock } from './clock.ts';

export type SinkOptions = Partial<Omit<FileSinkOptions, 'append'>> & {
  readonly append?: Appended | undefined;
};

/** An output file for a run without interruptions and without a journal. */
export const createFileSink = (path: string, { append, ...options }: SinkOptions = {}) =>
  create(
    path,
    { signal: new AbortController().signal, clock, pid: process.pid, random: () => 0 },
    {
      isNew: false,
      make: undefined,
      announce: async () => {},
      ...options,
      append: append && ((target) => openAppending(target, path, append)),
    },
  );
