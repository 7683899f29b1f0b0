import { open } from 'node:fs/promises';
import { checkWebAssembly, LeadpipeError, UsageError } from '../errors.ts';
import { objectOf } from '../json/text.ts';
import { encodingOf, isSqliteError, loadSqlite, openBytes, reasonOf } from '../sqlite/database.ts';
import { inUseError, useOf } from './database-use.ts';
import { type FileRecord, nameIn, type ReadOptions, type Records, readAll } from './reading.ts';
import { isRegularFile } from './target.ts';

/** Bytes. A database is read as a whole, since it may come from a pipe. */
const maxDatabase = 1024 * 1024 * 1024;

/** The table in which leadpipe notes what it has written into a database. */
export const notesTable = 'leadpipe_writes';

/** Position of SQLite's change counter in the header. */
const [changesFrom, changesTo] = [24, 28];
/** Header bytes that say whether changes are in a write-ahead log. A copy without that log must say that they are in the file. */
const [writeVersion, readVersion] = [18, 19];
const inFile = 1;

/** Changes the header in place, so that SQLite looks for no log. Returns the two old bytes. */
export function detachLog(bytes: Uint8Array): readonly [number, number] {
  const before = [bytes[writeVersion] ?? inFile, bytes[readVersion] ?? inFile] as const;
  bytes[writeVersion] = inFile;
  bytes[readVersion] = inFile;
  return before;
}

/** Throws UsageError for a database that is not a whole number of pages: it was cut off, and SQLite would read empty rows there. */
export function checkEnd(header: Uint8Array, length: number, what: string): void {
  const size = ((header[16] ?? 0) << 8) | (header[17] ?? 0);
  if (length % (size === 1 ? 65_536 : size) === 0) return;
  throw new UsageError(`${what} is damaged: its end is missing`, 'Copy it again, or name another file.');
}

/** The rows of a table of a database, as texts. Throws UsageError, and `temporary` where another program is writing it. */
export async function openDatabase(
  bytes: AsyncIterable<Uint8Array | string>,
  { what, sheet, table, path }: ReadOptions,
): Promise<Records> {
  if (sheet !== undefined) throw new UsageError(`${what} is a database: choose a table, not a sheet`);
  const database = await readAll(
    bytes,
    maxDatabase,
    `${what} has more than ${maxDatabase} bytes, which is too much`,
    asCsv,
  );
  const { columns, rows, warnings } = await openDatabaseTable(database, what, table, path);
  async function* records(): AsyncGenerator<FileRecord> {
    for (const { line, cells } of rows()) {
      const members = columns.map((name, at) => [name, JSON.stringify(cells[at] ?? '')] as const);
      yield { line, isRow: true, record: objectOf(members) };
    }
  }
  return { format: 'csv', columns, rows: records(), warnings };
}

interface DatabaseTable {
  readonly columns: readonly string[];
  rows(): Generator<{ readonly line: number; readonly cells: readonly string[] }, void>;
  readonly warnings: readonly string[];
}

/**
 * The one table of a database, or the table or view of this name. `path` is its file, if it has one. Throws UsageError, and `temporary`
 * where another program is writing it.
 */
async function openDatabaseTable(
  bytes: Uint8Array,
  what: string,
  wanted: string | undefined,
  path: string | undefined,
): Promise<DatabaseTable> {
  if (path !== undefined) await checkWhole(bytes, what, path);
  checkEnd(bytes, bytes.length, what);
  detachLog(bytes);
  checkWebAssembly();
  await loadSqlite();
  /** The table or view, for messages. */
  let subject = what;
  try {
    const database = openBytes(bytes);
    const all = database.all<{ name: string; type: string }>(
      "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type != 'shadow' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name != ? ORDER BY name",
      [notesTable],
    );
    const tables = toTables(all);
    const names = all.map(({ name }) => name);
    const named = wanted === undefined ? undefined : nameIn(names, wanted);
    if (wanted !== undefined && named === undefined) {
      throw new UsageError(
        `${what} has no table "${wanted}"`,
        names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
      );
    }
    if (wanted === undefined && tables.length > 1) {
      throw new UsageError(`${what} has several tables: ${tables.join(', ')}`, {
        is: 'several_tables',
        areOfDatabase: true,
        names: tables,
      });
    }
    const table = named ?? tables[0];
    if (table === undefined) throw new UsageError(`${what} has no table`);
    const type = all.find(({ name }) => name === table)?.type;
    subject = `the ${type === 'view' ? 'view' : 'table'} "${table}" of ${what}`;
    const isUtf16 = encodingOf(bytes) !== 'utf-8';
    if (isUtf16 && type !== 'table') {
      throw new UsageError(`${subject} can't be read: the database is in UTF-16`, asCsv);
    }
    const found = database.all<{ name: string; dflt_value: string | null }>(
      'SELECT name, dflt_value FROM pragma_table_xinfo(?) WHERE hidden != 1',
      [table],
    );
    const columns = found.map(({ name }) => name);
    const defaults = new Set(isUtf16 ? found.flatMap(({ dflt_value }) => textIn(dflt_value ?? '')) : []);
    const list = columns.map(quoted).join(', ');
    // One sum per column: SQLite allows at most 1000 terms in an expression.
    const sums = columns.map((name) => `sum(typeof(${quoted(name)}) = 'blob')`).join(', ');
    const counts = Object.values(database.get(`SELECT ${sums} FROM ${quoted(table)}`) ?? {});
    const blobs = counts.reduce<number>((sum, count) => sum + Number(count), 0);
    return {
      columns,
      *rows() {
        let line = 0;
        try {
          for (const cells of database.texts(`SELECT ${list} FROM ${quoted(table)}`, defaults))
            yield { line: ++line, cells };
        } catch (error) {
          throw isSqliteError(error) ? unreadable(what, subject, error) : error;
        } finally {
          database.close();
        }
      },
      warnings: blobs
        ? [`${what}: ${blobs} ${blobs === 1 ? 'cell is' : 'cells are'} binary and read as empty`]
        : [],
    };
  } catch (error) {
    throw isSqliteError(error) ? unreadable(what, subject, error) : error;
  }
}

const asCsv =
  'Write its rows into a CSV file with a program that can read it, for example: sqlite3 -csv -header <file> "SELECT * FROM <table>" > rows.csv';

function unreadable(what: string, subject: string, error: Error): UsageError {
  const reason = reasonOf(error);
  return new UsageError(
    reason === undefined
      ? `${what} can't be read as a SQLite database: it is damaged or encrypted`
      : `${subject} can't be read: ${reason}`,
    reason === undefined ? undefined : asCsv,
  );
}

/** Suffixes of the internal tables of full-text indexes. This SQLite marks only its own kinds of them as shadow tables. */
const ofFts = ['content', 'docsize', 'segdir', 'segments', 'stat'];

/** Pure: the tables to choose from if none is named. */
function toTables(all: readonly { readonly name: string; readonly type: string }[]): string[] {
  const hidden = all.flatMap(({ name, type }) =>
    type === 'virtual' ? ofFts.map((end) => `${name}_${end}`) : [],
  );
  return all.flatMap(({ name, type }) => (type === 'view' || hidden.includes(name) ? [] : [name]));
}

/** Pure: the value of an SQL string literal; empty for any other expression. */
function textIn(expression: string): string[] {
  const text = /^'(.*)'$/s.exec(expression)?.[1];
  return text === undefined ? [] : [text.replaceAll("''", "'")];
}

/** Pure: a name quoted for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Throws `temporary` if the file is being written, or changed while it was read. */
async function checkWhole(bytes: Uint8Array, what: string, path: string): Promise<void> {
  if (!(await isRegularFile(path))) return;
  const use = await useOf(path);
  if (use !== undefined && use !== 'reader') throw inUseError(what, use);
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(changesTo), 0, changesTo, 0);
    if (buffer.subarray(changesFrom, bytesRead).equals(bytes.subarray(changesFrom, changesTo))) return;
  } finally {
    await handle.close();
  }
  throw new LeadpipeError('temporary', `${what} was changed while it was read`, { charged: 'no' });
}
