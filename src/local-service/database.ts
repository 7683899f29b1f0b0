import { chmodSync, closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import startSqlite, {
  type BindingSpec,
  type PreparedStatement,
  type Sqlite3Static,
} from '@sqlite.org/sqlite-wasm';
import { claimLock } from '../files/folder-lock.ts';
import { installFiles } from './sqlite-files.ts';

/** Rows by SQL text. Statements are prepared once. */
export interface Rows {
  all<Row = Record<string, unknown>>(sql: string, values?: BindingSpec): Row[];
  get<Row = Record<string, unknown>>(sql: string, values?: BindingSpec): Row | undefined;
  run(sql: string, values?: BindingSpec): void;
  exec(sql: string): void;
}

let sqlite: Sqlite3Static;

/** Starts SQLite, once in a process and before anything is opened: WebAssembly starts asynchronously. */
export async function loadSqlite(): Promise<void> {
  if (sqlite !== undefined) return;
  // It takes its settings from here, and leaves nothing there. What it would write to the console it throws too.
  Object.assign(globalThis, { sqlite3ApiConfig: { warn: () => {}, error: () => {} } });
  sqlite = await startSqlite();
  installFiles(sqlite);
}

/** Of a file that is no database, a full disk and whatever else SQLite says. */
export const isSqliteError = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'SQLite3Error';

const handful = 1000;

/** Opens a file as it is; `immutable` where nobody writes to it any more. */
export function openFile(path: string, how?: 'immutable') {
  const name = `file:${path.replace(/[%?#]/g, encodeURIComponent)}${how === undefined ? '' : `?${how}=1`}`;
  const connection = new sqlite.oo1.DB(name, 'w');
  const statements = new Map<string, PreparedStatement>();
  const prepared = (sql: string): PreparedStatement => {
    const statement = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  function* rowsOf<Row>(statement: PreparedStatement, values?: BindingSpec): Generator<Row> {
    if (values !== undefined) statement.bind(values);
    let names: string[] | undefined;
    while (statement.step()) {
      names ??= statement.getColumnNames();
      const row: Record<string, unknown> = {};
      for (const [at, name] of names.entries()) row[name] = cellOf(statement, at);
      yield row as Row;
    }
  }
  // To its end, whatever it is for: a statement that is under way would keep the transaction's view open.
  const all = <Row>(sql: string, values?: BindingSpec): Row[] => {
    const statement = prepared(sql);
    try {
      return [...rowsOf<Row>(statement, values)];
    } finally {
      statement.reset();
    }
  };
  const rows: Rows = {
    all,
    get: <Row>(sql: string, values?: BindingSpec) => all<Row>(sql, values)[0],
    run: (sql, values) => void all(sql, values),
    exec: (sql) => void connection.exec(sql),
  };
  return {
    ...rows,
    /** All rows, some at a time: between two handfuls, which take a few milliseconds, everything else gets its turn. */
    async *inTurns<Row>(sql: string, values?: BindingSpec): AsyncGenerator<Row[]> {
      // A statement of its own: another request may ask the same in the meantime.
      const statement = connection.prepare(sql);
      try {
        let some: Row[] = [];
        for (const row of rowsOf<Row>(statement, values)) {
          if (some.push(row) < handful) continue;
          yield some;
          some = [];
          await nextTurn();
        }
        yield some;
      } finally {
        statement.finalize();
      }
    },
    /** With all its statements. */
    close: () => connection.close(),
  };
}

/** A column of the row: by SQLite's own functions, since what the package has around them takes eight times as long. */
function cellOf({ pointer }: PreparedStatement, at: number): string | number | null {
  const { capi, wasm } = sqlite;
  switch (wasm.exports.sqlite3_column_type(pointer, at)) {
    case capi.SQLITE_INTEGER:
      return Number(wasm.exports.sqlite3_column_int64(pointer, at));
    case capi.SQLITE_FLOAT:
      return wasm.exports.sqlite3_column_double(pointer, at);
    case capi.SQLITE_TEXT:
      return wasm.cstrToJs(wasm.exports.sqlite3_column_text(pointer, at));
    default:
      return null;
  }
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
  const rows = openFile(path);
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
          try {
            rows.exec('ROLLBACK');
          } catch {
            // SQLite has done so itself: on a full disk.
          }
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
