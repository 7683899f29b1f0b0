import { chmodSync, closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sqlite, { type BindValues, type Statement } from 'node-sqlite3-wasm';
import { claimLock } from '../files/folder-lock.ts';

/** Rows by SQL text. Statements are prepared once. */
export interface Rows {
  all<Row = Record<string, unknown>>(sql: string, values?: BindValues): Row[];
  get<Row = Record<string, unknown>>(sql: string, values?: BindValues): Row | undefined;
  run(sql: string, values?: BindValues): void;
  exec(sql: string): void;
}

/**
 * SQLite takes its options from a URI, which node-sqlite3-wasm leaves off; its `open` is exported, and gets the
 * flag here. `nolock` is needed: with the package's own lock (a folder, taken for reading too, and left behind by a
 * killed process) SQLite mistakes its own lock for another writer's when it looks for the journal of a killed
 * process, and never rolls it back.
 */
const openUri = 0x40;
const library = sqlite as unknown as { _sqlite3_open_v2: OpenV2 };
type OpenV2 = (name: number, out: number, flags: number, vfs: number) => number;
const plainOpen = library._sqlite3_open_v2;
library._sqlite3_open_v2 = (name, out, flags, vfs) => plainOpen(name, out, flags | openUri, vfs);

/** Thrown for a file that is no database, a full disk and whatever else SQLite says. */
export const { SQLite3Error } = sqlite;

const handful = 1000;

/** Opens a file as it is: `immutable` where nobody writes to it any more, else `nolock`. */
export function openFile(path: string, how: 'nolock' | 'immutable') {
  const connection = new sqlite.Database(`file:${path.replace(/[%?#]/g, encodeURIComponent)}?${how}=1`, {
    fileMustExist: true,
  });
  const statements = new Map<string, Statement>();
  const prepared = (sql: string): Statement => {
    const statement = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  // Always `all`: a statement that is not run to its end would keep the transaction's view open.
  const rows: Rows = {
    all: <Row>(sql: string, values?: BindValues) => prepared(sql).all(values) as Row[],
    get: <Row>(sql: string, values?: BindValues) => prepared(sql).all(values)[0] as Row | undefined,
    run: (sql, values) => prepared(sql).run(values),
    exec: (sql) => connection.exec(sql),
  };
  return {
    ...rows,
    /** All rows, some at a time: between two handfuls, which take a few milliseconds, everything else gets its turn. */
    async *inTurns<Row>(sql: string, values?: BindValues): AsyncGenerator<Row[]> {
      // A statement of its own: another request may ask the same in the meantime.
      const statement = connection.prepare(sql);
      try {
        let some: Row[] = [];
        for (const row of statement.iterate(values)) {
          if (some.push(row as Row) < handful) continue;
          yield some;
          some = [];
          await nextTurn();
        }
        yield some;
      } finally {
        statement.finalize();
      }
    },
    isInTransaction: () => connection.inTransaction,
    close() {
      for (const statement of statements.values()) {
        try {
          statement.finalize();
        } catch {
          // It says once more what its last run has thrown already.
        }
      }
      connection.close();
    },
  };
}

export function createFile(path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
}

export interface DatabaseOptions {
  readonly stateDir: string;
  /** Who has the lock, for other processes. */
  readonly pid: number;
  readonly monotonic: () => number;
}

const patienceMs = 10_000;

/** Thrown when another process held the lock for longer than the patience. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
}

/** The database of a folder, that several processes read and write, one transaction at a time. */
export function openDatabase({ stateDir, pid, monotonic }: DatabaseOptions) {
  const path = join(stateDir, 'state.db');
  // SQLite would write to wherever a link leads.
  for (const file of [path, `${path}-journal`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
      throw Object.assign(new Error(`${file} is a symbolic link`), { code: 'ELOOP' });
  if (!existsSync(path)) createFile(path);
  const lock = claimLock(stateDir, pid);
  const rows = openFile(path, 'nolock');
  const hold = <Result>(action: () => Result): Result => {
    const deadline = monotonic() + patienceMs;
    for (let other = lock.take(); other !== undefined; other = lock.take()) {
      if (monotonic() > deadline)
        throw new LockTimeout(
          `process ${other.split('.')[0]} has locked ${stateDir} for more than ${patienceMs / 1000} seconds`,
        );
      // Transactions are synchronous, and so is waiting for one.
      Atomics.wait(sleeper, 0, 0, 2);
    }
    try {
      return action();
    } finally {
      lock.giveBack();
    }
  };
  hold(() => {
    // The journal file stays, which is cheaper than making and removing one; its header says whether it counts.
    rows.exec('PRAGMA journal_mode = PERSIST; PRAGMA synchronous = NORMAL');
    if (existsSync(`${path}-journal`)) chmodSync(`${path}-journal`, 0o600);
  });
  return {
    /** Names this process to others; see `isAlive`. */
    owner: lock.owner,
    folder: stateDir,
    /** The only way in: everything happens under the lock, and in a transaction. */
    transaction: <Result>(work: (rows: Rows) => Result): Result =>
      hold(() => {
        rows.exec('BEGIN IMMEDIATE');
        try {
          const result = work(rows);
          rows.exec('COMMIT');
          return result;
        } catch (error) {
          if (rows.isInTransaction()) rows.exec('ROLLBACK');
          throw error;
        }
      }),
    close() {
      rows.close();
      lock.close();
    },
  };
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));
