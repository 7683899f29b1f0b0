import { mkdirSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/local-service/store.ts';
import { loadSqlite } from '../../src/sqlite/database.ts';
import { admitForTest, hang } from './ledger-steps.ts';

await loadSqlite();

/** Run as a process of its own: works on the ledger until it is killed, or as often as it is told. */
const [stateDir = '', mode = '', rounds = '0'] = process.argv.slice(2);
const open = (folder: string) =>
  openStore({ stateDir: folder, pid: process.pid, monotonic: () => performance.now() });

if (mode === 'first') {
  // Folders in which there is nothing yet, each opened in the same instant as the other process does.
  for (let round = 0; round < Number(rounds); round += 1) {
    const folder = join(stateDir, String(round));
    const ready = join(stateDir, `ready-${round}`);
    for (const path of [folder, ready]) mkdirSync(path, { recursive: true });
    writeFileSync(join(ready, String(process.pid)), '');
    while (readdirSync(ready).length < 2);
    try {
      open(folder).close();
    } catch {
      // The other process waits for this one in the next round.
      process.exitCode = 1;
    }
  }
  process.exit();
}

const store = open(stateDir);

if (mode === 'hold') {
  store.transaction((rows) => {
    admitForTest(rows, `${process.pid}-held`);
    writeSync(1, 'in the transaction\n');
    hang();
  });
}

if (mode === 'spill') {
  store.transaction((rows) => {
    admitForTest(rows, `${process.pid}-spilled`);
    // More than the page cache of 16 MiB holds: SQLite has written into the database file before the commit.
    const bulk = 10_000;
    rows.exec('CREATE TABLE bulk (text TEXT)');
    for (let index = 0; index < bulk; index += 1) rows.run('INSERT INTO bulk VALUES (?)', 'x'.repeat(2000));
    rows.exec("UPDATE accounts SET settled = settled + 7 WHERE account = 'demo'");
    for (let index = 0; index < bulk; index += 1) rows.run('INSERT INTO bulk VALUES (?)', 'y'.repeat(2000));
    writeSync(1, 'in the transaction\n');
    hang();
  });
}

for (let round = 0; mode === 'work' && (rounds === '0' || round < Number(rounds)); round += 1) {
  store.transaction((rows) => admitForTest(rows, `${process.pid}-${round}`));
  writeSync(1, `${round}\n`);
}
store.close();
