import { chmodSync, closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sqlite, { type Database as Connection, type JSValue, type Statement } from 'node-sqlite3-wasm';
import { claimLock } from '../files/folder-lock.ts';

export type Row = Record<string, string | number | null>;

/** Rows by SQL text. Statements are prepared once. */
export interface Rows {
  all<Result = Row>(sql: string, ...values: JSValue[]): Result[];
  get<Result = Row>(sql: string, ...values: JSValue[]): Result | undefined;
  run(sql: string, ...values: JSValue[]): number;
  exec(sql: string): void;
}

export interface Database {
  /** The only way in: everything happens under the lock, and in a transaction. */
  transaction<Result>(work: (rows: Rows) => Result): Result;
  close(): void;
}

/**
 * SQLite takes its options from a URI, which node-sqlite3-wasm leaves off; its `open` is exported, and gets the
 * flag here. `nolock` is needed: with the package's own lock (a folder, taken for reading too) SQLite mistakes
 * its own lock for another writer's when it looks for the journal of a killed process, and never rolls it back.
 */
const openUri = 0x40;
const library = sqlite as unknown as { _sqlite3_open_v2: OpenV2 };
type OpenV2 = (name: number, out: number, flags: number, vfs: number) => number;
const plainOpen = library._sqlite3_open_v2;
library._sqlite3_open_v2 = (name, out, flags, vfs) => plainOpen(name, out, flags | openUri, vfs);

/** Thrown for a file that is no database, a full disk and whatever else SQLite says. */
export const { SQLite3Error } = sqlite;

/** A database that several processes read and write, one transaction at a time. */
export function openDatabase(path: string, lock: ProcessLock): Database {
  for (const file of [path, `${path}-journal`]) refuseLink(file);
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const { connection, rows, close } = connect(path, 'nolock=1');
  let busy = false;
  const transaction: Database['transaction'] = (work) => {
    if (busy) throw new Error('a transaction inside a transaction');
    busy = true;
    try {
      return lock.hold(() => {
        connection.exec('BEGIN IMMEDIATE');
        try {
          const result = work(rows);
          connection.exec('COMMIT');
          return result;
        } catch (error) {
          if (connection.inTransaction) connection.exec('ROLLBACK');
          throw error;
        }
      });
    } finally {
      busy = false;
    }
  };
  lock.hold(() => {
    // The journal file stays, which is cheaper than making and removing one; its header says whether it counts.
    connection.exec('PRAGMA journal_mode = PERSIST; PRAGMA synchronous = NORMAL');
    if (existsSync(`${path}-journal`)) chmodSync(`${path}-journal`, 0o600);
  });
  return { transaction, close };
}

/** SQLite would write to wherever it leads. */
function refuseLink(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw Object.assign(new Error(`${path} is a symbolic link`), { code: 'ELOOP' });
}

/** A new database nobody else knows yet: built fast, then never changed. */
export async function buildDatabase(path: string, build: (rows: Rows) => Promise<void>): Promise<void> {
  closeSync(openSync(path, 'wx', 0o600));
  const { connection, rows, close } = connect(path, 'nolock=1');
  try {
    connection.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
    await build(rows);
    connection.exec('COMMIT');
  } finally {
    close();
  }
}

/** A finished database: read without any lock, and in turns. */
export interface FinishedRows extends Rows {
  /** All rows, some at a time; between two handfuls everything else gets its turn. */
  inTurns<Result = Row>(sql: string, ...values: JSValue[]): AsyncGenerator<Result[], void, undefined>;
  close(): void;
}

/** Rows that are read in a few milliseconds. */
const handful = 2000;

export function openFinished(path: string): FinishedRows {
  const { connection, rows, close } = connect(path, 'immutable=1');
  return {
    ...rows,
    async *inTurns<Result>(sql: string, ...values: JSValue[]) {
      // A statement of its own: another request may ask the same in the meantime.
      const statement = connection.prepare(sql);
      try {
        let part: Result[] = [];
        for (const row of statement.iterate(values)) {
          part.push(row as Result);
          if (part.length < handful) continue;
          yield part;
          part = [];
          await nextTurn();
        }
        yield part;
      } finally {
        statement.finalize();
      }
    },
    close,
  };
}

function connect(path: string, parameter: string): { connection: Connection; rows: Rows; close: () => void } {
  const connection = new sqlite.Database(`file:${path.replace(/[%?#]/g, encodeURIComponent)}?${parameter}`, {
    fileMustExist: true,
  });
  const statements = new Map<string, Statement>();
  const prepared = (sql: string): Statement => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = connection.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  // Always `all`: a statement that is not run to its end would keep the transaction's view open.
  const rows: Rows = {
    all: <Result>(sql: string, ...values: JSValue[]) => prepared(sql).all(values) as Result[],
    get: <Result>(sql: string, ...values: JSValue[]) => prepared(sql).all(values)[0] as Result | undefined,
    run: (sql, ...values) => prepared(sql).run(values).changes,
    exec: (sql) => connection.exec(sql),
  };
  const close = () => {
    for (const statement of statements.values()) {
      try {
        statement.finalize();
      } catch {
        // It says once more what its last run has thrown already.
      }
    }
    connection.close();
  };
  return { connection, rows, close };
}

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
