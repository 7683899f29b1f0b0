import type { StoreContext } from '../../src/context.ts';
import type { LeadpipeError } from '../../src/errors.ts';
import { listOperations } from '../../src/operations/journal/folders.ts';
import { createJournals, type Entries, readEntries } from '../../src/operations/journal/journal-file.ts';

import { machineClock } from './clock.ts';

/** A minimal context for storing records in a state directory, with a chosen time. */
export function keepingIn(state: string, now: () => Date = () => new Date()): StoreContext {
  return {
    clock: { ...machineClock, now },
    directories: { config: '', state },
    pid: process.pid,
    random: () => 0,
  };
}

/** The journal of every operation of a state directory, the oldest first, and why others can't be read. */
export async function readOperations(state: string) {
  const operations: { readonly operationId: string; readonly entries: Entries }[] = [];
  const damages: LeadpipeError[] = [];
  for (const operationId of await listOperations(state)) {
    const entries = await readEntries(createJournals(state), operationId).catch(
      (error: LeadpipeError) => void damages.push(error),
    );
    if (entries !== undefined) operations.push({ operationId, entries });
  }
  return { operations, damages };
}
