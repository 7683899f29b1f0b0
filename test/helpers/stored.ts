import type { LeadpipeError } from '../../src/errors.ts';
import { listOperations } from '../../src/operations/journal/folders.ts';
import type { IndexContext } from '../../src/operations/journal/operation-index.ts';
import { readOperation, type StoredOperation } from '../../src/operations/journal/stored.ts';
import { machineClock } from './clock.ts';

/** What it takes to keep records in a state directory, at a time of one's own choice. */
export function keepingIn(state: string, now: () => Date = () => new Date()): IndexContext {
  return {
    clock: { ...machineClock, now },
    directories: { config: '', state },
    pid: process.pid,
    random: () => 0,
  };
}

/** Every operation of a state directory, the oldest first, and why others can't be read. */
export async function readOperations(
  state: string,
): Promise<{ readonly operations: StoredOperation[]; readonly damages: LeadpipeError[] }> {
  const operations: StoredOperation[] = [];
  const damages: LeadpipeError[] = [];
  for (const id of await listOperations(state)) {
    const found = await readOperation(state, id).catch((error: LeadpipeError) => void damages.push(error));
    if (found !== undefined) operations.push(found);
  }
  return { operations, damages };
}
