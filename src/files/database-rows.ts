import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError, UsageError } from '../errors.ts';
import { createYielder } from '../event-loop.ts';
import { eachItem, type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';
import { isSqliteError, loadSqlite, openFile } from '../sqlite/database.ts';
import { ColumnKind, isPlainNumber } from './column-kind.ts';
import { checkEnd, detachLog, notesTable, quoted } from './database-input.ts';
import { inUseError, useOf } from './database-use.ts';
import { databaseMark } from './decoded.ts';
import { copyInto, linesIn, readFlags } from './own-file.ts';
import { withTemporaryFolder } from './private-folder.ts';
import { nameIn } from './reading.ts';
import { reasonOf } from './write-failure.ts';

/*
 * Rows that become a table of a database. They are first collected in a file of JSON arrays: the name of the table, its columns, then the rows. Then
 * the database (new, or a copy of the old one) is made in a private folder, and its bytes replace the output. SQLite trusts files with certain names
 * beside a database, so it must not see the folder of the output. Its locks, which Node can't take, are not needed this way.
 */

/** `application_id` of the databases that leadpipe has made. */
const ours = 0x6c_70_69_70;

/** The folder in the state directory where databases are read and made. */
export function folderOfDatabases(stateDir: string): string {
  return join(stateDir, 'databases');
}

/**
 * Throws UsageError if the file is not a readable database, or has tables of others and is to be replaced (not `isAdded`); `temporary` if another
 * program uses it. `folder` comes from `folderOfDatabases`.
 */
export async function checkDatabase(
  target: string,
  path: string,
  folder: string,
  isAdded: boolean,
): Promise<void> {
  if ((await readHeader(target, path)) === undefined) return;
  await checkUnused(target, path);
  const { tables, isOurs } = await tablesOf(target, path, folder);
  const others = isOurs ? tables.others : [...tables.others, ...tables.own];
  if (others.length === 0 || isAdded) return;
  throw new UsageError(
    `${path} has tables that leadpipe did not write (${others.join(', ')}); it was not replaced`,
    { is: 'others_tables' },
  );
}

/**
 * Writes a database with these rows, and with the tables of `old` if given, into the empty file `to`. It is made in a private folder, where SQLite
 * finds no files of others. Returns the ID under which the rows are noted. Throws `temporary` if another program uses the old one, LocalIoError.
 */
export async function writeDatabase(
  rows: FileHandle,
  to: FileHandle,
  folder: string,
  old?: { readonly file: FileHandle; readonly target: string; readonly path: string },
  signal?: AbortSignal,
): Promise<string> {
  const note = randomUUID();
  await withTemporaryFolder(folder, async (own) => {
    const made = join(own, 'rows.db');
    const file = await open(made, 'ax+', 0o600);
    try {
      if (old !== undefined) {
        await checkUnused(old.target, old.path);
        await copyInto(old.file, file);
      }
      await writeRows(rows, made, note, signal);
      await copyInto(file, to);
      if (old !== undefined) await checkUnused(old.target, old.path);
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      const where = old === undefined ? '' : ` to ${old.path}`;
      throw new LocalIoError(`the rows can't be added${where}: ${reasonOf(error)}`, { cause: error });
    } finally {
      await file.close();
    }
  });
  return note;
}

/** Whether a database has a note with this ID, so the rows of that run are in it. Throws LocalIoError. */
export async function hasNote(target: string, note: string, folder: string): Promise<boolean> {
  if ((await readHeader(target, target).catch(() => undefined)) === undefined) return false;
  const isNoted = looking(target, folder, ({ all, get }) => {
    const isThere = all('SELECT 1 FROM sqlite_schema WHERE name = ?', [notesTable]).length > 0;
    return isThere && get(`SELECT 1 FROM ${notesTable} WHERE id = ?`, [note]) !== undefined;
  });
  return await isNoted.catch((error: unknown) => {
    if (isSqliteError(error)) return false;
    throw error;
  });
}

async function checkUnused(target: string, path: string): Promise<void> {
  const use = await useOf(target);
  if (use !== undefined) throw inUseError(path, use);
}

/** The header; undefined if the file is missing or empty. Throws UsageError if it is not a database. */
async function readHeader(target: string, path: string): Promise<Buffer | undefined> {
  const file = await open(target, readFlags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    if (bytesRead === 0) return undefined;
    if (buffer.subarray(0, databaseMark.length).equals(databaseMark)) return buffer;
  } finally {
    await file.close();
  }
  throw new UsageError(`${path} is not a SQLite database; it was not changed`, 'Name another file.');
}

/** The tables of a database: those that leadpipe has written, and others. Throws UsageError for one that can't be read. */
async function tablesOf(target: string, path: string, folder: string) {
  checkEnd((await readHeader(target, path)) ?? Buffer.alloc(0), (await stat(target)).size, path);
  try {
    return await looking(target, folder, ({ all, get }) => {
      const names = all<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      ).map(({ name }) => name);
      const isOurs = get<{ application_id: number }>('PRAGMA application_id')?.application_id === ours;
      const written = names.includes(notesTable)
        ? all<{ name: string }>(`SELECT DISTINCT table_name AS name FROM ${notesTable}`).map(
            ({ name }) => name,
          )
        : [];
      const own = names.filter((name) => written.includes(name));
      const others = names.filter((name) => name !== notesTable && !own.includes(name));
      return { isOurs, tables: { own, others } };
    });
  } catch (error) {
    if (!isSqliteError(error)) throw error;
    throw new UsageError(
      `${path} can't be read as a SQLite database: it is damaged or encrypted`,
      'Name another file.',
    );
  }
}

/** Reads from a private copy of a database. The caller has checked that no other program uses it. */
async function looking<T>(
  target: string,
  folder: string,
  look: (rows: Pick<ReturnType<typeof openFile>, 'all' | 'get'>) => T,
): Promise<T> {
  await loadSqlite();
  return await withTemporaryFolder(folder, async (own) => {
    const copy = join(own, 'copy.db');
    await copyFile(target, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    const database = openFile(copy, 'immutable');
    try {
      return look(database);
    } finally {
      database.close();
    }
  });
}

/** Adds the rows, and a note of them, in one transaction. The file is a private copy, thrown away if this fails. */
async function writeRows(rows: FileHandle, made: string, note: string, signal?: AbortSignal): Promise<void> {
  const yielder = createYielder(signal);
  const kinds: ColumnKind[] = [];
  let table = '';
  let header: string[] = [];
  let number = 0;
  for await (const line of linesIn(rows)) {
    const cells = [...eachItem(line)];
    number += 1;
    if (number === 1) table = stringOf(cells[0] ?? '') ?? '';
    else if (number === 2) header = distinct(cells.map((cell) => stringOf(cell) ?? ''));
    else {
      for (const [at, cell] of cells.entries()) {
        const kind = kindOf(cell);
        const text = kind === 'string' ? (stringOf(cell) ?? '') : cell.trim();
        if (kind === 'null' || text === '') continue;
        kinds[at] ??= new ColumnKind();
        kinds[at]?.add(text, kind === 'number');
      }
    }
    if (yielder.isDue()) await yielder.yield();
  }
  const size = (await stat(made)).size;
  const log = size === 0 ? undefined : await patched(made);
  await loadSqlite();
  const database = openFile(made);
  try {
    database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF');
    if (size === 0) database.exec(`PRAGMA application_id = ${ours}`);
    database.exec('BEGIN IMMEDIATE');
    database.exec(
      `CREATE TABLE IF NOT EXISTS ${notesTable} (id TEXT PRIMARY KEY, table_name TEXT NOT NULL, row_count INTEGER NOT NULL)`,
    );
    if (header.length > 0) {
      const columns = prepareTable(database, table, header, kinds);
      const places = columns.map(() => '?').join(', ');
      const insert = `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(', ')}) VALUES (${places})`;
      let at = 0;
      for await (const line of linesIn(rows)) {
        at += 1;
        if (at <= 2) continue;
        const cells = [...eachItem(line)];
        database.run(
          insert,
          columns.map((_, column) => toValue(cells[column] ?? 'null', kinds[column])),
        );
        if (yielder.isDue()) await yielder.yield();
      }
    }
    database.run(`INSERT INTO ${notesTable} VALUES (?, ?, ?)`, [note, table, Math.max(0, number - 2)]);
    database.exec('COMMIT');
  } finally {
    database.close();
  }
  if (log !== undefined) await patched(made, log);
}

/** Sets the two log bytes of the header. Returns the old ones. */
async function patched(path: string, to?: readonly [number, number]): Promise<readonly [number, number]> {
  const file = await open(path, 'r+');
  try {
    const { buffer } = await file.read(Buffer.alloc(20), 0, 20, 0);
    const before = detachLog(buffer);
    if (to !== undefined) [buffer[18], buffer[19]] = to;
    await file.write(buffer, 18, 2, 18);
    return before;
  } finally {
    await file.close();
  }
}

/** Creates the table or its missing columns. Returns the column names as the table spells them. */
function prepareTable(
  { all, exec }: Pick<ReturnType<typeof openFile>, 'all' | 'exec'>,
  table: string,
  header: readonly string[],
  kinds: readonly (ColumnKind | undefined)[],
): string[] {
  // A TEXT column turns numbers into text; a column without a type keeps each value.
  const define = (name: string, at: number): string =>
    `${quoted(name)}${kinds[at]?.isNumeric ? '' : ' TEXT'}`;
  const there = all<{ name: string }>('SELECT name FROM pragma_table_info(?)', [table]).map(
    ({ name }) => name,
  );
  if (there.length === 0) {
    exec(`CREATE TABLE ${quoted(table)} (${header.map(define).join(', ')})`);
    return [...header];
  }
  return header.map((name, at) => {
    const known = nameIn(there, name);
    if (known === undefined) exec(`ALTER TABLE ${quoted(table)} ADD COLUMN ${define(name, at)}`);
    return known ?? name;
  });
}

/** Pure: makes the names unique without regard to case, as SQLite compares them. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; taken.has(free.toLowerCase()); number++) free = `${name}_${number}`;
    taken.add(free.toLowerCase());
    return free;
  });
}

function toValue(cell: JsonText, kind: ColumnKind | undefined): string | number | null {
  const is = kindOf(cell);
  if (is === 'null') return null;
  const text = is === 'string' ? (stringOf(cell) ?? '') : toLine(cell).trim();
  // Only if the number reads back as the same text.
  return kind?.isNumeric && isPlainNumber(text) && String(Number(text)) === text ? Number(text) : text;
}
