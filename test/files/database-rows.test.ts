import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import type { OutputStream } from '../../src/context.ts';
import { type Addition, isAdded } from '../../src/files/addition.ts';
import { checkDatabase, folderOfDatabases, hasNote, writeDatabase } from '../../src/files/database-rows.ts';
import { openRows } from '../../src/output/open-rows.ts';
import { machineClock as clock } from '../helpers/clock.ts';
import { execute, journalNaming, rowsOf } from '../helpers/databases.ts';
import { temporaryFolder } from '../helpers/run.ts';

const rows = '["leads"]\n["name","Name","n"]\n["Ada","x",1]\n["Bob",null,2]\n';

let folder: string;
let path: string;
let state: string;
let databases: string;
const handles: FileHandle[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'leads.db');
  state = temporaryFolder();
  databases = folderOfDatabases(state);
});
afterEach(async () => {
  for (const handle of handles.splice(0)) await handle.close();
});

async function opened(name: string, flags?: string): Promise<FileHandle> {
  const handle = await open(name, flags);
  handles.push(handle);
  return handle;
}

/** Writes a database with these rows or, with `old`, its tables and these rows. Returns where it is, and its note. */
async function written(text = rows, old?: string, signal?: AbortSignal) {
  const place = temporaryFolder();
  const [from, made] = [join(place, 'rows'), join(place, 'made.db')];
  writeFileSync(from, text);
  const to = await opened(made, 'ax+');
  const known = old === undefined ? undefined : { file: await opened(old), target: old, path: 'leads.db' };
  const writing = writeDatabase(await opened(from), to, databases, known, signal);
  const note = await writing.finally(() => expect(readdirSync(databases)).toEqual([]));
  return { made, note };
}

const check = (isAdded: boolean) => checkDatabase(path, 'leads.db', databases, isAdded);
const namesIn = (at: string) => rowsOf(at, 'leads').map(({ name }) => name);

describe('a database that is made', () => {
  it('has the rows in a table, and says that they are in it', async () => {
    const { made, note } = await written();
    expect(rowsOf(made, 'leads')).toEqual([
      // SQLite takes names that differ by case alone for one.
      { name: 'Ada', Name_2: 'x', n: 1 },
      { name: 'Bob', Name_2: null, n: 2 },
    ]);
    expect(rowsOf(made, 'leadpipe_writes')).toEqual([{ id: note, table_name: 'leads', row_count: 2 }]);
    expect([...readFileSync(made).subarray(68, 72)].map((byte) => String.fromCharCode(byte)).join('')).toBe(
      'lpip',
    );
    expect(lstatSync(databases).mode & 0o777).toBe(0o700);
    const others = join(folder, 'other.db');
    execute(others, 'CREATE TABLE leads (name)');
    const text = join(folder, 'notes.txt');
    writeFileSync(text, 'my notes');
    expect(await hasNote(made, note, databases)).toBe(true);
    for (const at of [others, text, path]) expect(await hasNote(at, note, databases)).toBe(false);
    expect(await hasNote(made, 'another', databases)).toBe(false);
  });

  it.each<[says: string, text: string, found: readonly object[]]>([
    ['a header alone', '["leads"]\n["name"]\n', []],
    ['no columns', '["leads"]\n[]\n', []],
    ['nothing at all', '', []],
  ])('of %s has no rows, and notes that', async (_, text) => {
    const { made, note } = await written(text);
    expect(rowsOf(made, 'leadpipe_writes')).toMatchObject([{ id: note, row_count: 0 }]);
    if (text.includes('name')) expect(namesIn(made)).toEqual([]);
  });

  it('is refused where its database came into use meanwhile', async () => {
    execute(path, 'CREATE TABLE leads (name)');
    const from = join(temporaryFolder(), 'rows');
    writeFileSync(from, rows);
    const given = await opened(from);
    const read = given.read.bind(given) as (...args: unknown[]) => never;
    given.read = (...args: unknown[]) => {
      // Another program begins to write.
      writeFileSync(`${path}-wal`, 'changes');
      return read(...args);
    };
    const to = await opened(join(temporaryFolder(), 'made.db'), 'ax+');
    const old = { file: await opened(path), target: path, path: 'leads.db' };
    await expect(writeDatabase(given, to, databases, old)).rejects.toMatchObject({ outcome: 'temporary' });
  });

  it('stops between two rows when it is told to', async () => {
    const many = `["leads"]\n["name"]\n${'["Ada"]\n'.repeat(50_000)}`;
    await expect(written(many, undefined, AbortSignal.abort('interrupted'))).rejects.toMatchObject({
      outcome: 'interrupted',
    });
  });

  it('removes what a killed process has left in the private folder a day ago', async () => {
    const now = Date.now() / 1000;
    for (const [name, hoursAgo] of [
      ['made-old', 25],
      ['made-young', 23],
    ] as const) {
      mkdirSync(join(databases, name), { recursive: true });
      writeFileSync(join(databases, name, 'copy.db'), 'x');
      utimesSync(join(databases, name), now, now - 3600 * hoursAgo);
    }
    await expect(written()).rejects.toThrow();
    expect(readdirSync(databases)).toEqual(['made-young']);
  });
});

describe('a database with rows of before', () => {
  const others = "CREATE TABLE people (name); INSERT INTO people VALUES ('Eve')";
  const table = "CREATE TABLE leads (NAME, own DEFAULT 5); INSERT INTO leads VALUES ('old', 4)";

  it('is written again with all of its tables, and is itself left as it was', async () => {
    execute(path, `${others}; ${table}`);
    const before = readFileSync(path);
    const { made, note } = await written(rows, path);
    expect(rowsOf(made, 'leads')).toEqual([
      { NAME: 'old', own: 4, Name_2: null, n: null },
      { NAME: 'Ada', own: 5, Name_2: 'x', n: 1 },
      { NAME: 'Bob', own: 5, Name_2: null, n: 2 },
    ]);
    expect(rowsOf(made, 'people')).toEqual([{ name: 'Eve' }]);
    expect([await hasNote(made, note, databases), await hasNote(path, note, databases)]).toEqual([
      true,
      false,
    ]);
    expect(readFileSync(path).equals(before)).toBe(true);
    // Once more, with the note of both.
    const again = await written('["leads"]\n["name"]\n["Cid"]\n', made);
    expect(rowsOf(again.made, 'leads').map(({ NAME }) => NAME)).toEqual(['old', 'Ada', 'Bob', 'Cid']);
    for (const one of [note, again.note]) expect(await hasNote(again.made, one, databases)).toBe(true);
  });

  it('keeps the way in which it is written, and whose it is', async () => {
    execute(path, others);
    writeFileSync(path, readFileSync(path).fill(2, 18, 20));
    const { made } = await written(rows, path);
    const bytes = readFileSync(made);
    expect([...bytes.subarray(18, 20), ...bytes.subarray(68, 72)]).toEqual([2, 2, 0, 0, 0, 0]);
    expect(namesIn(made)).toEqual(['Ada', 'Bob']);
  });

  it('that refuses a row is told, and left as it was', async () => {
    execute(
      path,
      "CREATE TABLE leads (name); INSERT INTO leads VALUES ('old'); CREATE UNIQUE INDEX one ON leads (name)",
    );
    const before = readFileSync(path);
    await expect(written(rows.replace('Bob', 'Ada'), path)).rejects.toMatchObject({
      outcome: 'local_io',
      message: expect.stringMatching(
        /^the rows can't be added to leads\.db: .*UNIQUE constraint failed: leads\.name/,
      ),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('is added to once, though another program changes it while that is done', async () => {
    execute(path, "CREATE TABLE leads (name); INSERT INTO leads VALUES ('old')");
    const { signal } = new AbortController();
    const machine = { clock, directories: { config: '', state }, pid: process.pid, random: () => 0 };
    const context = { ...machine, signal, stdout: {} as OutputStream };
    const plan = { file: path, format: 'sqlite', layout: memberLayout(['name']), shape: 'list' } as const;
    const how = { append: true, isNew: false, isDelimiterFixed: false };
    const output = await openRows(context, { ...plan, ...how }, async () => {});
    await output.write(['{"name":"Ada"}', '{"name":"Bob"}']);
    const additions: Addition[] = [];
    const isIn = async ({ note = '', ...addition }: Addition) => [
      await isAdded({ ...addition, note }),
      await hasNote(path, note, databases),
    ];
    await output.finish(false, async (addition) => {
      if (addition === undefined) throw new Error('nothing is added');
      additions.push(addition);
      expect(await isIn(addition)).toEqual([false, false]);
      if (additions.length === 1) execute(path, "INSERT INTO leads VALUES ('of another')");
    });
    expect(rowsOf(path, 'records').map(({ name }) => name)).toEqual(['Ada', 'Bob']);
    expect(namesIn(path)).toEqual(['old', 'of another']);
    expect([additions.length, readdirSync(folder)]).toEqual([2, ['leads.db']]);
    // The last one is what has happened.
    const [, last] = additions as [Addition, Addition];
    expect(await isIn(last)).toEqual([true, true]);
    // Another program rewrites the database, and the note is still there.
    execute(path, 'VACUUM');
    writeFileSync(`${path}.new`, readFileSync(path));
    writeFileSync(path, '');
    writeFileSync(path, readFileSync(`${path}.new`));
    expect(await hasNote(path, last.note ?? '', databases)).toBe(true);
  });
});

describe('what is there already', () => {
  const ours = async (): Promise<void> => writeFileSync(path, readFileSync((await written()).made));
  const isNotOurs = /^leads\.db has tables that leadpipe did not write \((.*)\); it was not replaced$/;
  const isNone = 'leads.db is not a SQLite database; it was not changed';
  const isDamaged = "leads.db can't be read as a SQLite database: it is damaged or encrypted";

  it.each<[says: string, make: () => void | Promise<void>, others?: string]>([
    ['nothing', () => {}],
    ['an empty file', () => writeFileSync(path, '')],
    ['what leadpipe has made', ours],
    [
      'what leadpipe has made, with a table of others in it',
      async () => {
        await ours();
        execute(path, 'CREATE TABLE people (name)');
      },
      'people',
    ],
    [
      'a view of others',
      async () => {
        await ours();
        execute(path, 'CREATE VIEW seen AS SELECT * FROM leads');
      },
      'seen',
    ],
    ['a table that is only called as ours', () => execute(path, 'CREATE TABLE leads (name)'), 'leads'],
    [
      'a database of others to which rows were added',
      async () => {
        execute(path, 'CREATE TABLE people (name)');
        writeFileSync(path, readFileSync((await written(rows, path)).made));
      },
      'people, leads',
    ],
  ])('%s can be added to, and is replaced if it is leadpipe’s own', async (_, make, others) => {
    await make();
    await check(true);
    const replaced = await check(false).catch((error) => error);
    if (others === undefined) expect(replaced).toBeUndefined();
    else expect(isNotOurs.exec(replaced.message)?.[1]).toBe(others);
  });

  it.each<[says: string, make: () => void | Promise<void>, message: string]>([
    ['a text', () => writeFileSync(path, 'my notes'), isNone],
    [
      'half a database',
      async () => {
        await ours();
        writeFileSync(path, readFileSync(path).subarray(0, -1));
      },
      'leads.db is damaged: its end is missing',
    ],
    [
      'a damaged database',
      async () => {
        await ours();
        writeFileSync(path, readFileSync(path).fill(7, 100, 4000));
      },
      isDamaged,
    ],
  ])('%s is refused, and left as it is', async (_, make, message) => {
    await make();
    const before = readFileSync(path);
    for (const isAdded of [true, false])
      await expect(check(isAdded)).rejects.toMatchObject({ outcome: 'usage', message });
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(existsSync(databases) ? readdirSync(databases) : []).toEqual([]);
  });
});

describe('no file beside a database is opened by SQLite, written or removed', () => {
  const inUse = {
    outcome: 'temporary',
    message: expect.stringContaining('is being written by another program'),
  };

  /** What is in the folder; `isUnread`: also when it was read for the last time. */
  const all = () =>
    readdirSync(folder).map((name) => {
      const at = join(folder, name);
      const { atimeMs, ctimeMs, ino, mtimeMs, size } = lstatSync(at);
      return { name, ctimeMs, ino, mtimeMs, size, ...(name === 'named' ? { atimeMs } : {}) };
    });

  async function plant(change: (journal: Buffer) => Buffer) {
    const { made, note } = await written();
    writeFileSync(path, readFileSync(made));
    writeFileSync(join(folder, 'named'), 'of the user');
    writeFileSync(`${path}-journal`, change(journalNaming(join(folder, 'named'))));
    writeFileSync(`${path}-wal`, '');
    writeFileSync(`${path}-shm`, 'x'.repeat(32_768));
    // A file that was read after it was changed is not seen to be read again.
    utimesSync(join(folder, 'named'), 1, 2);
    return note;
  }

  it('where a journal seems to be in use', async () => {
    const note = await plant((journal) => journal);
    const before = all();
    for (const isAdded of [true, false]) await expect(check(isAdded)).rejects.toMatchObject(inUse);
    await expect(written(rows, path)).rejects.toMatchObject(inUse);
    expect(await hasNote(path, note, databases)).toBe(true);
    expect(all()).toEqual(before);
  });

  it.each<[says: string, change: (journal: Buffer) => Buffer]>([
    ['has been dealt with', (journal) => journal.fill(0, 0, 28)],
    ['is empty', () => Buffer.alloc(0)],
  ])('where one %s', async (_, change) => {
    const note = await plant(change);
    const before = all();
    for (const isAdded of [true, false]) await check(isAdded);
    expect(namesIn((await written(rows, path)).made)).toEqual(['Ada', 'Bob', 'Ada', 'Bob']);
    expect(await hasNote(path, note, databases)).toBe(true);
    expect(all()).toEqual(before);
  });

  it('where its changes are in a log of its own', async () => {
    const note = await plant(() => Buffer.alloc(0));
    writeFileSync(path, readFileSync(path).fill(2, 18, 20));
    const before = all();
    for (const isAdded of [true, false]) await check(isAdded);
    expect(namesIn((await written(rows, path)).made)).toHaveLength(4);
    expect(all()).toEqual(before);
    appendFileSync(`${path}-wal`, '7');
    for (const isAdded of [true, false])
      await expect(check(isAdded)).rejects.toMatchObject({ outcome: 'temporary' });
    await expect(written(rows, path)).rejects.toMatchObject({ outcome: 'temporary' });
    expect(await hasNote(path, note, databases)).toBe(true);
  });
});

it('a database that is replaced keeps its rights', async () => {
  const state = temporaryFolder();
  const file = join(temporaryFolder(), 'leads.db');
  const machine = { clock, directories: { config: '', state }, pid: process.pid, random: () => 0 };
  const context = { ...machine, signal: new AbortController().signal, stdout: {} as never };
  const plan = { file, format: 'sqlite', layout: memberLayout(['a']), shape: 'list' } as const;
  const make = async () => {
    const how = { append: false, isNew: false, isDelimiterFixed: false };
    const rows = await openRows(context, { ...plan, ...how }, async () => {});
    await rows.write(['{"a":1}']);
    await rows.finish();
  };
  await make();
  execFileSync('chmod', ['600', file]);
  await make();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('a database that is damaged has no note, or is told as every other one', async () => {
  const at = temporaryFolder();
  const path = join(at, 'leads.db');
  execute(path, 'CREATE TABLE leads (name)');
  writeFileSync(path, readFileSync(path).fill(7, 100, 4000));
  const found = await hasNote(path, 'n', join(at, 'databases')).catch((error) => error);
  expect(found === false || found.outcome !== undefined).toBe(true);
});
