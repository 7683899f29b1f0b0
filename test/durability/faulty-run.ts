import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from '../../src/operations/journal/entries.ts';
import type { Machine } from '../helpers/machine.ts';
import { readOperations } from '../helpers/stored.ts';

export interface Fault {
  readonly mode:
    | 'EAGAIN'
    | 'count'
    | 'kill'
    | 'stop'
    | 'EIO'
    | 'ENOSPC'
    | 'ENOSPC once'
    | 'full'
    | 'open'
    | 'sync';
  readonly at?: number;
  /** Only of files whose path ends so; for the temporary file of a run, `<file>.part`. */
  readonly on?: string;
  /** Nothing is counted before there is this file. */
  readonly after?: string;
  /** Only changes of files in this folder are boundaries. */
  readonly within?: string;
  /** Folders whose disks are `full` as soon as there is a file. */
  readonly disks?: readonly { readonly of: string; readonly after: string }[];
  readonly report?: string;
  readonly trace?: string;
}

/** To die at this boundary, if any. */
export const killedAt = (at?: number): Fault | undefined =>
  at === undefined ? undefined : { mode: 'kill', at };

const preload = join(import.meta.dirname, 'fault-preload.mjs');

/** The environment of the built command, which dies, stops or fails where the fault says. */
export const faultyWith = (fault: Fault) => ({
  FAULT: JSON.stringify(fault),
  NODE_OPTIONS: `--import ${preload}`,
});

/** Runs the built command, which dies or fails where the fault says. */
export function runWith(fault: Fault | undefined, machine: Machine, args: readonly string[]) {
  return machine.run(args, fault && faultyWith(fault));
}

export async function entriesOf({ state }: Machine): Promise<(readonly JournalEntry[])[]> {
  const { operations } = await readOperations(state);
  return operations.map(({ entries }) => entries);
}

/** Every file of a folder, with its text. The lock of a killed run stays until the next run, and blocks none. */
export function filesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((one) => !(one.isDirectory() && /\.lock(-|$)/.test(one.name)))
      .map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

/** Works through the cases, a few at a time. */
export async function inParallel<T>(
  cases: Iterable<T>,
  work: (one: T) => Promise<void>,
  width = 3,
): Promise<void> {
  const rest = cases[Symbol.iterator]();
  const workers = Array.from({ length: width }, async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  });
  await Promise.all(workers);
}

/** Works with every nth boundary to die at, a few at a time, until it is said that a run has come to its end, past the last one. */
export async function atBoundaries(
  step: number,
  work: (at: number, isPast: () => void) => Promise<void>,
): Promise<void> {
  let isOver = false;
  const places = function* (): Generator<number> {
    for (let at = 1; !isOver; at += step) yield at;
  };
  await inParallel(places(), (at) =>
    work(at, () => {
      isOver = true;
    }),
  );
}
