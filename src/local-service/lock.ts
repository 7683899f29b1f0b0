import { claimLock } from '../files/folder-lock.ts';

/** Mutual exclusion of transactions between processes: the lock of node-sqlite3-wasm stays behind a killed process for ever. */
export interface ProcessLock {
  /** Names this holder to other processes; see `isAlive`. */
  readonly owner: string;
  readonly folder: string;
  hold<Result>(action: () => Result): Result;
  close(): void;
}

export interface LockOptions {
  readonly folder: string;
  readonly pid: number;
  readonly monotonic: () => number;
}

/** How long to wait for another process. */
const patienceMs = 10_000;

/** Thrown when another process held the lock for longer than the patience. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

export function createLock({ folder, pid, monotonic }: LockOptions): ProcessLock {
  const claim = claimLock(folder, pid);
  return {
    owner: claim.owner,
    folder,
    hold(action) {
      const deadline = monotonic() + patienceMs;
      for (let other = claim.take(); other !== undefined; other = claim.take()) {
        if (monotonic() > deadline)
          throw new LockTimeout(
            `process ${other.split('.')[0]} has locked ${folder} for more than ${patienceMs / 1000} seconds`,
          );
        pause(2);
      }
      try {
        return action();
      } finally {
        claim.giveBack();
      }
    },
    close: claim.close,
  };
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Transactions are synchronous, and so is waiting for one. */
function pause(ms: number): void {
  Atomics.wait(sleeper, 0, 0, ms);
}
