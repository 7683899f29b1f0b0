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
  // SQLite reads its settings from this global, and removes it. Its console messages are silenced: each is also thrown as an error.
  Object.assign(globalThis, { sqlite3ApiConfig: { warn: () => {}, error: () => {} } });
  sqlite = await startSqlite();
  installFiles(sqlite);
}

/** For a file that is not a database, a full disk, and other errors of SQLite. */
export const isSqliteError = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'SQLite3Error';

/** SQLite's message of an error; undefined if the file is damaged, or is not a database. */
export function reasonOf({ message }: Error): string | undefined {
  const [, code, reason] = /^(SQLITE_\w+): sqlite3 result code \d+: (.*)$/s.exec(message) ?? [];
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(code ?? '') ? undefined : (reason ?? message);
}

/** Opens a file, created if missing; `immutable`: a file that nothing writes to any more. */
export function openFile(path: string, how?: 'immutable') {
  const name = `file:${path.replace(/[%?#]/g, encodeURIComponent)}${how === undefined ? '' : `?${how}=1`}`;
  return toRows(new sqlite.oo1.DB(name, how === undefined ? 'c' : 'r'));
}

/** The encodings of the texts in a database, by the number in its header. */
const encodings = ['utf-8', 'utf-8', 'utf-16le', 'utf-16be'] as const;
const encodingFrom = 59;

/** Pure: the encoding of the texts in a database. */
export function encodingOf(bytes: Uint8Array): (typeof encodings)[number] {
  return encodings[bytes[encodingFrom] ?? 0] ?? 'utf-8';
}

/** Opens a copy of the bytes of a database, for reading. */
export function openBytes(bytes: Uint8Array) {
  const { capi, wasm } = sqlite;
  const connection = new sqlite.oo1.DB(':memory:', 'c');
  // SQLite's type check rejects a Buffer.
  const from = wasm.allocFromTypedArray(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length));
  const encoding = encodingOf(bytes);
  // SQLite for WebAssembly opens only UTF-8, so the header says UTF-8.
  wasm.heap8u().fill(1, from + encodingFrom, from + encodingFrom + 1);
  const flags =
    capi.SQLITE_DESERIALIZE_FREEONCLOSE |
    (encoding === 'utf-8' ? capi.SQLITE_DESERIALIZE_READONLY : capi.SQLITE_DESERIALIZE_RESIZEABLE);
  const length = bytes.byteLength;
  connection.checkRc(
    capi.sqlite3_deserialize(connection.pointer as WasmPointer, 'main', from, length, length, flags),
  );
  const rows = toRows(connection, new TextDecoder(encoding));
  if (encoding !== 'utf-8') rewriteSchema(rows, encoding);
  return rows;
}

/**
 * SQLite for WebAssembly takes all texts for UTF-8, so it can't read the schema of a UTF-16 database. This rewrites the schema in UTF-8; the texts in
 * the tables stay as they are, and are decoded later.
 */
function rewriteSchema({ all, exec, run }: Rows, encoding: string): void {
  const decoder = new TextDecoder(encoding);
  const names = ['type', 'name', 'tbl_name', 'sql'];
  exec('PRAGMA writable_schema = ON');
  const columns = names.map((name) => `hex(${name}) AS ${name}`);
  for (const { id, ...row } of all(`SELECT rowid AS id, ${columns} FROM sqlite_schema`)) {
    // An index that SQLite made itself has no statement.
    const texts = names.map((name) => decoder.decode(Buffer.from(String(row[name]), 'hex')) || null);
    run(`UPDATE sqlite_schema SET ${names.map((name) => `${name} = ?`)} WHERE rowid = ?`, [
      ...texts,
      Number(id),
    ]);
  }
  exec('PRAGMA writable_schema = RESET');
}

function toRows(connection: Database, decoder = new TextDecoder()) {
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
  // Reads all rows: an unfinished statement would keep a read transaction open.
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
    /**
     * The cells of each row as texts: integers with all digits, empty for NULL and blobs. Older rows have the `defaults` of a column that was added
     * later; these are in UTF-8, whatever the encoding.
     */
    *texts(sql: string, defaults: ReadonlySet<string> = new Set()): Generator<string[], void> {
      const toText = (bytes: Uint8Array): string => {
        const text = defaults.size === 0 ? '' : utf8.decode(bytes);
        return defaults.has(text) ? text : decoder.decode(bytes);
      };
      const statement = connection.prepare(sql);
      try {
        while (statement.step()) {
          yield Array.from({ length: statement.columnCount }, (_, at) => textOf(statement, at, toText));
        }
      } finally {
        statement.finalize();
      }
    },
    /** Closes the database and its statements. */
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

const utf8 = new TextDecoder();

function textOf({ pointer }: PreparedStatement, at: number, toText: (bytes: Uint8Array) => string): string {
  const { capi, wasm } = sqlite;
  const { exports } = wasm;
  switch (exports.sqlite3_column_type(pointer, at)) {
    case capi.SQLITE_FLOAT:
      return String(exports.sqlite3_column_double(pointer, at));
    case capi.SQLITE_INTEGER:
      return String(exports.sqlite3_column_int64(pointer, at));
    case capi.SQLITE_TEXT: {
      const from = exports.sqlite3_column_text(pointer, at);
      return toText(wasm.heap8u().subarray(from, from + exports.sqlite3_column_bytes(pointer, at)));
    }
    default:
      return '';
  }
}
