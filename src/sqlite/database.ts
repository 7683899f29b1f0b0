import { setImmediate as nextTurn } from 'node:timers/promises';
import startSqlite, {
  type BindingSpec,
  type Database,
  type PreparedStatement,
  type Sqlite3Static,
  type WasmPointer,
} from '@sqlite.org/sqlite-wasm';
import { installFiles } from './node-files.ts';

/** Rows by SQL text. Statements are prepared once. */
export type Rows = Omit<ReturnType<typeof openFile>, 'close' | 'texts'>;

let sqlite: Sqlite3Static;

/** Starts SQLite. Needed once in a process, before a file is opened, since WebAssembly starts asynchronously. */
export async function loadSqlite(): Promise<void> {
  if (sqlite !== undefined) return;
  // SQLite reads its settings from this global, and removes it. Its console messages are thrown as errors, too.
  Object.assign(globalThis, { sqlite3ApiConfig: { warn: () => {}, error: () => {} } });
  sqlite = await startSqlite();
  installFiles(sqlite);
}

/** For a file that is not a database, a full disk, and other errors of SQLite. */
export const isSqliteError = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'SQLite3Error';

/** Opens a file, and makes it unless there is one; `immutable`: one that no one writes to any more. */
export function openFile(path: string, how?: 'immutable') {
  const name = `file:${path.replace(/[%?#]/g, encodeURIComponent)}${how === undefined ? '' : `?${how}=1`}`;
  return toRows(new sqlite.oo1.DB(name, how === undefined ? 'c' : 'r'));
}

/** Opens the bytes of a database, to be read. They are copied. */
export function openBytes(bytes: Uint8Array) {
  const { capi, wasm } = sqlite;
  const connection = new sqlite.oo1.DB(':memory:', 'c');
  // Its own check of types knows no Buffer.
  const from = wasm.allocFromTypedArray(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
  const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE | capi.SQLITE_DESERIALIZE_READONLY;
  const length = bytes.byteLength;
  connection.checkRc(
    capi.sqlite3_deserialize(connection.pointer as WasmPointer, 'main', from, length, length, flags),
  );
  return toRows(connection);
}

function toRows(connection: Database) {
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
  // Reads all rows: an unfinished statement would keep the transaction's view open.
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
    /** Passes each row to `take`, and pauses for other work every few milliseconds. */
    async each<Row>(sql: string, values: BindingSpec, take: (row: Row) => void): Promise<void> {
      // A statement of its own, since another request may run the same one meanwhile.
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
    /** The cells of each row as texts: whole numbers with all digits, and nothing for NULL and for what is no text. */
    *texts(sql: string): Generator<string[], void> {
      const statement = connection.prepare(sql);
      try {
        while (statement.step()) {
          yield Array.from({ length: statement.columnCount }, (_, at) => textOf(statement, at));
        }
      } finally {
        statement.finalize();
      }
    },
    /** Also ends its statements. */
    close: () => connection.close(),
  };
}

/** A column of the row, by SQLite's own functions: those of the package take eight times as long. */
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

const decoder = new TextDecoder();

function textOf({ pointer }: PreparedStatement, at: number): string {
  const { capi, wasm } = sqlite;
  const { exports } = wasm;
  switch (exports.sqlite3_column_type(pointer, at)) {
    case capi.SQLITE_FLOAT:
      return String(exports.sqlite3_column_double(pointer, at));
    case capi.SQLITE_INTEGER:
    case capi.SQLITE_TEXT: {
      const from = exports.sqlite3_column_text(pointer, at);
      return decoder.decode(wasm.heap8u().subarray(from, from + exports.sqlite3_column_bytes(pointer, at)));
    }
    default:
      return '';
  }
}
