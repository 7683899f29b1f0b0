import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readAddition } from '../../src/files/addition.ts';
import { addToDatabase, completeDatabaseAddition, makeDatabase } from '../../src/files/database-rows.ts';
import { noLock } from '../../src/files/folder-lock.ts';
import { execute, rowsOf } from '../helpers/databases.ts';
import { temporaryFolder } from '../helpers/run.ts';

const rows = '["leads"]\n["name","Name","n"]\n["Ada","x",1]\n["Bob",null,2]\n';

/** A database with a row, rows that are added to it, and what the journal says of them. */
async function adding() {
  const path = join(temporaryFolder(), 'leads.db');
  const part = `${path}.part`;
  execute(path, "CREATE TABLE leads (name); INSERT INTO leads VALUES ('old')");
  writeFileSync(part, rows);
  const file = await open(part);
  const addition = { ...(await readAddition(0, { file, from: 0, before: '' })), note: 'run 1' };
  await file.close();
  return { path, part, addition, names: () => rowsOf(path, 'leads').map(({ name }) => name) };
}

it('rows are added once, wherever the run that was adding them was killed', async () => {
  const { path, part, addition, names } = await adding();
  // Before the database was put in its place.
  writeFileSync(`${path}.made`, 'half of it');
  expect(await completeDatabaseAddition(path, addition, noLock)).toBe('done');
  expect(names()).toEqual(['old', 'Ada', 'Bob']);
  expect([existsSync(part), existsSync(`${path}.made`)]).toEqual([false, false]);
  // After that, before the .part was removed.
  writeFileSync(part, rows);
  expect(await completeDatabaseAddition(path, addition, noLock)).toBe('done');
  expect(names()).toEqual(['old', 'Ada', 'Bob']);
  expect(existsSync(part)).toBe(false);
  // After that, when a later run has begun.
  writeFileSync(part, '["leads"]\n["name"]\n["Eve"]\n');
  expect(await completeDatabaseAddition(path, addition, noLock)).toBe('done');
  expect(readFileSync(part, 'utf8')).toContain('Eve');
});

it('rows that are not those of the run are not added', async () => {
  const { path, part, addition, names } = await adding();
  writeFileSync(part, rows.replace('Bob', 'Eve'));
  expect(await completeDatabaseAddition(path, addition, noLock)).toBe('not_added');
  expect(names()).toEqual(['old']);
});

it.skipIf(process.platform === 'win32')(
  'rows are not added to a database that was changed after it was copied',
  async () => {
    const { path, part, names } = await adding();
    rmSync(part);
    execFileSync('mkfifo', [part]);
    const added = addToDatabase(path, path, 'run 2', noLock);
    // This goes on when the rows are read, which is after the copy was made.
    const writer = await open(part, 'w');
    execute(path, "INSERT INTO leads VALUES ('of another'); CREATE TABLE others (name)");
    await writer.writeFile(rows);
    // They are read a second time.
    writeFileSync(`${part}.again`, rows);
    renameSync(`${part}.again`, part);
    await writer.close();
    await expect(added).rejects.toMatchObject({ details: { type: 'output_changed' } });
    expect(names()).toEqual(['old', 'of another']);
    expect([existsSync(part), existsSync(`${path}.made`)]).toEqual([true, false]);
  },
);

it('a row that the table refuses leaves the database as it was, with the rows in the .part', async () => {
  const { path, part } = await adding();
  execute(path, 'CREATE UNIQUE INDEX one ON leads (name)');
  writeFileSync(part, rows.replace('Bob', 'Ada'));
  const before = readFileSync(path);
  await expect(addToDatabase(path, path, 'run 2', noLock)).rejects.toMatchObject({
    outcome: 'local_io',
    message: expect.stringContaining('UNIQUE constraint failed: leads.name'),
  });
  expect(readFileSync(path).equals(before)).toBe(true);
  expect([existsSync(part), existsSync(`${path}.made`)]).toEqual([true, false]);
});

it('columns whose names differ by case alone have a number, since SQLite takes them for one', async () => {
  const folder = temporaryFolder();
  const [part, made] = [join(folder, 'a.part'), join(folder, 'a.db')];
  writeFileSync(part, rows);
  writeFileSync(made, '');
  await makeDatabase(part, made);
  expect(rowsOf(made, 'leads')).toEqual([
    { name: 'Ada', Name_2: 'x', n: 1 },
    { name: 'Bob', Name_2: null, n: 2 },
  ]);
});
