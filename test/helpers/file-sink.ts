import { type Appended, openAppending } from '../../src/output/append.ts';
import { createFileSink as create, type FileSinkOptions } from '../../src/output/file-sink.ts';
import { machineClock as clock } from './clock.ts';

export type SinkOptions = Partial<Omit<FileSinkOptions, 'append'>> & {
  readonly append?: Appended | undefined;
};

/** The file of an output, for a run that nothing stops and that has no journal. */
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
