import { randomUUID } from 'node:crypto';
import { constants, createReadStream, type Stats } from 'node:fs';
import { copyFile, type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadpipeError, LocalIoError, outputChanged, UsageError } from '../errors.ts';
import { createYielder } from '../event-loop.ts';
import { eachItem, type JsonText, kindOf, stringOf, toLine } from '../json/text.ts';
import { isSqliteError, loadSqlite, openFile } from '../sqlite/database.ts';
import { type Addition, readAddition } from './addition.ts';
import { ColumnKind, isPlainNumber } from './column-kind.ts';
import { checkEnd, detachLog, notesTable, quoted } from './database-input.ts';
import { inUse, useOf } from './database-use.ts';
import { databaseMark } from './decoded.ts';
import { codeOf } from './error-code.ts';
import type { HeldLock } from './folder-lock.ts';
import { syncFolder } from './private-folder.ts';
import { nameIn } from './reading.ts';
import { statOrNothing, targetOf } from './target.ts';
import { fail, reasonOf, writeFailure } from './write-failure.ts';

/*
 * Rows that become a table of a database. They stand in a .part until all are there: a line with the name of the table, one with the names
 * of its columns, and a line for each row, all of them JSON arrays. Then the database is made, or a copy of the old one with the rows, and put
 * in its place: no one sees half of it, and SQLite's locks are not needed, which Node does not have.
 */

/** `application_id` of the databases that leadpipe has made. */
const ours = 0x6c_70_69_70;

/** Throws UsageError for what is not leadpipe's own, and `temporary` where another program uses it. */
export async function checkReplaceable(target: string, path: string): Promise<void> {
  await checkName(target, path);
  const bytes = await readHeader(target, path);
  if (bytes === undefined) return;
  await checkUnused(target, path);
  const { tables, isOurs } = await tablesOf(target, path);
  const others = isOurs ? tables.others : [...tables.others, ...tables.own];
  if (others.length === 0) return;
  throw new UsageError(
    `${path} has tables that leadpipe has not written: ${others.join(', ')}. It is not replaced`,
    {
      is: 'others_tables',
    },
  );
}

/** A database that rows will be added to, if that can be done. Changes nothing before `add`. Throws UsageError, `temporary`. */
export async function openDatabaseAddition(target: string, path: string, lock: HeldLock) {
  await checkName(target, path);
  if ((await readHeader(target, path)) !== undefined) {
    await checkUnused(target, path);
    await tablesOf(target, path);
  }
  return {
    lineEnd: undefined,
    delimiter: undefined,
    async add(
      part: FileHandle,
      _named: string,
      _length: number,
      adding: (addition: Addition) => Promise<void>,
    ): Promise<void> {
      const note = randomUUID();
      await adding({ ...(await readAddition(0, { file: part, from: 0, before: '' })), note });
      await addToDatabase(path, target, note, lock);
    },
  };
}

/**
 * Adds the rows of the .part, unless the database has a note of this name, and removes the .part. The database is the old one or the new one,
 * whenever the process is killed. Throws LocalIoError, with the database as it was, and LockLostError.
 */
export async function addToDatabase(
  path: string,
  target: string,
  note: string,
  lock: HeldLock,
): Promise<void> {
  const made = `${target}.made`;
  try {
    await rm(made, { force: true });
    const before = await statOrNothing(target);
    if (before !== undefined) {
      await checkUnused(target, path);
      await copyFile(target, made, constants.COPYFILE_FICLONE);
    } else await (await open(made, 'ax')).close();
    await writeRows(`${target}.part`, made, note);
    await syncFile(made, before);
    if (before !== undefined) await checkUnused(target, path);
    const now = await statOrNothing(target);
    if (now?.mtimeMs !== before?.mtimeMs || now?.size !== before?.size || now?.ino !== before?.ino) {
      throw new LocalIoError(`${path} was changed while rows were added to a copy of it`, {
        type: outputChanged,
      });
    }
    lock.confirm();
    await rename(made, target);
  } catch (error) {
    await rm(made, { force: true }).catch(() => undefined);
    if (isSqliteError(error)) {
      throw new LocalIoError(`the rows can't be added to ${path}: ${reasonOf(error)}`, { cause: error });
    }
    throw error instanceof LeadpipeError ? error : writeFailure(path, error);
  }
  lock.confirm();
  await rm(`${target}.part`, { force: true });
  await syncFolder(dirname(target));
}

/** Adds what a killed run was adding. `not_added`: the .part is not the one of that run any more. */
export async function completeDatabaseAddition(
  path: string,
  { note = '', length, digest }: Addition,
  lock: HeldLock,
): Promise<'done' | 'not_added'> {
  const target = await targetOf(path);
  const part = await open(`${target}.part`).catch(() => undefined);
  try {
    const found = part && (await readAddition(0, { file: part, from: 0, before: '' }));
    const isSame = found?.length === length && found.digest === digest;
    if ((await readHeader(target, path)) !== undefined && (await hasNote(target, note))) {
      // A .part with other rows belongs to a later run.
      if (isSame) await rm(`${target}.part`, { force: true });
      return 'done';
    }
    if (!isSame) return 'not_added';
  } finally {
    await part?.close();
  }
  await addToDatabase(path, target, note, lock);
  return 'done';
}

/** Makes a database of the rows of a .part; the file is there, and empty. */
export async function makeDatabase(part: string, made: string, signal?: AbortSignal): Promise<void> {
  await writeRows(part, made, randomUUID(), signal);
}

async function hasNote(target: string, note: string): Promise<boolean> {
  return await looking(target, ({ all, get }) => {
    const isThere = all('SELECT 1 FROM sqlite_schema WHERE name = ?', [notesTable]).length > 0;
    return isThere && get(`SELECT 1 FROM ${notesTable} WHERE id = ?`, [note]) !== undefined;
  });
}

async function checkUnused(target: string, path: string): Promise<void> {
  const use = await useOf(target);
  if (use !== undefined) throw inUse(path, use);
}

/** SQLite looks for a file with a longer name beside the one that is made. Throws LocalIoError. */
async function checkName(target: string, path: string): Promise<void> {
  await stat(`${target}.made-journal`).catch((error) => {
    if (codeOf(error) === 'ENAMETOOLONG') fail(path, error);
  });
}

/** The first bytes; undefined where there is no file, or an empty one. Throws UsageError for what is no database. */
async function readHeader(target: string, path: string): Promise<Buffer | undefined> {
  const file = await open(target).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    if (bytesRead === 0) return undefined;
    if (buffer.subarray(0, databaseMark.length).equals(databaseMark)) return buffer;
  } finally {
    await file.close();
  }
  throw new UsageError(`${path} is no SQLite database, and is left as it is`, 'Name another file.');
}

/** The tables of a database: those that leadpipe has written, and others. Throws UsageError for one that can't be read. */
async function tablesOf(target: string, path: string) {
  checkEnd((await readHeader(target, path)) ?? Buffer.alloc(0), (await stat(target)).size, path);
  try {
    return await looking(target, ({ all, get }) => {
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

/** Looks into a database that no one uses now. */
async function looking<T>(
  target: string,
  look: (rows: Pick<ReturnType<typeof openFile>, 'all' | 'get'>) => T,
): Promise<T> {
  await loadSqlite();
  const database = openFile(target, 'immutable');
  try {
    return look(database);
  } finally {
    database.close();
  }
}

/** Gives the copy what rights the old file has, as far as this user may. */
async function syncFile(path: string, old: Stats | undefined): Promise<void> {
  const file = await open(path, 'r+');
  try {
    if (old !== undefined) {
      await file.chown(old.uid, old.gid).catch(() => undefined);
      await file.chmod(old.mode & 0o777).catch(() => undefined);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The lines of a .part. */
async function* linesOf(path: string): AsyncGenerator<JsonText, void> {
  let rest = '';
  for await (const piece of createReadStream(path, 'utf8')) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** In one transaction, which notes it. The file is a copy, which is thrown away where this fails. */
async function writeRows(part: string, made: string, note: string, signal?: AbortSignal): Promise<void> {
  const yielder = createYielder(signal);
  const kinds: ColumnKind[] = [];
  let table = '';
  let header: string[] = [];
  let number = 0;
  for await (const line of linesOf(part)) {
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
      for await (const line of linesOf(part)) {
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

/** Sets the two bytes of the header that say where changes are kept. Returns what they were. */
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

/** Makes the table or its missing columns. Returns the names under which it has the columns. */
function prepareTable(
  { all, exec }: Pick<ReturnType<typeof openFile>, 'all' | 'exec'>,
  table: string,
  header: readonly string[],
  kinds: readonly (ColumnKind | undefined)[],
): string[] {
  // A column of texts makes texts of numbers; one without a type keeps each value as it is.
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

/** Pure: names that are different in SQLite, too, which knows no capital letters. */
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
  // Only what is the same when it is read again.
  return kind?.isNumeric && isPlainNumber(text) && String(Number(text)) === text ? Number(text) : text;
}
