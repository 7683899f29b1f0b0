import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from '../../src/operations/journal/entries.ts';
import { command, resultOf } from '../helpers/run.ts';
import { readOperations } from '../helpers/stored.ts';

export interface Fault {
  readonly mode: 'count' | 'kill' | 'EIO' | 'ENOSPC';
  readonly at?: number;
  readonly report?: string;
}

/** A machine of its own: a folder to work in, a state, and the service it knows. */
export interface Machine {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const preload = join(import.meta.dirname, 'fault-preload.mjs');

/** Runs the built command, which dies or fails where the fault says. */
export function runWith(fault: Fault | undefined, { cwd, env }: Machine, args: readonly string[]) {
  const node = fault === undefined ? [] : ['--import', preload];
  const child = spawn(process.execPath, [...node, command, ...args], {
    cwd,
    env: { ...env, FAULT: JSON.stringify(fault) },
    stdio: 'pipe',
  });
  child.stdin.end();
  return resultOf(child);
}

export async function entriesOf({ env }: Machine): Promise<(readonly JournalEntry[])[]> {
  const { operations } = await readOperations(env.LEADPIPE_STATE_DIR ?? '');
  return operations.map(({ entries }) => entries);
}

/** Every file of a folder, with its text. The lock of a run that was killed stays until the next run, and holds nobody up. */
export function filesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((one) => !(one.isDirectory() && one.name.endsWith('.lock')))
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
