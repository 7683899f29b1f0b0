import { closeSync, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import startSqlite, {
  type BindingSpec,
  type PreparedStatement,
  type Sqlite3Static,
} from '@sqlite.org/sqlite-wasm';
import { installFiles } from './sqlite-files.ts';

/** Rows by SQL text. Statements are prepared once. */
export type Rows = Omit<ReturnType<typeof openFile>, 'close'>;

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
  const all = <Row = Record<string, unknown>>(sql: string, values?: BindingSpec): Row[] => {
    const statement = prepared(sql);
    try {
      return [...rowsOf<Row>(statement, values)];
    } finally {
      statement.reset();
    }
  };
  return {
    all,
    get: <Row = Record<string, unknown>>(sql: string, values?: BindingSpec) => all<Row>(sql, values)[0],
    run: (sql: string, values?: BindingSpec): void => void all(sql, values),
    exec: (sql: string): void => void connection.exec(sql),
    /** Gives each row to `take`: after a handful, which takes a few milliseconds, everything else gets its turn. */
    async each<Row>(sql: string, values: BindingSpec, take: (row: Row) => void): Promise<void> {
      // A statement of its own: another request may ask the same in the meantime.
      const statement = connection.prepare(sql);
      try {
        let count = 0;
        for (const row of rowsOf<Row>(statement, values)) {
          take(row);
          count += 1;
          if (count % 1000 === 0) await nextTurn();
        }
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

/** For the user alone, where there is none: another process may have made it just now. */
export function createFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
}
