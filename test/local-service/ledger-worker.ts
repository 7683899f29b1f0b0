import { writeSync } from 'node:fs';
import { openStore } from '../../src/local-service/store.ts';
import { admitForTest, hang } from './ledger-steps.ts';

/** Run as a process of its own: works on the ledger until it is killed, or as often as it is told. */
const [stateDir = '', mode = '', rounds = '0'] = process.argv.slice(2);
const store = openStore({ stateDir, pid: process.pid, monotonic: () => performance.now() });

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
    // More than the page cache holds: SQLite has written into the database file before the commit.
    rows.exec('CREATE TABLE bulk (text TEXT)');
    for (let index = 0; index < 4000; index += 1) rows.run('INSERT INTO bulk VALUES (?)', 'x'.repeat(2000));
    rows.exec("UPDATE accounts SET settled = settled + 7 WHERE account = 'demo'");
    for (let index = 0; index < 4000; index += 1) rows.run('INSERT INTO bulk VALUES (?)', 'y'.repeat(2000));
    writeSync(1, 'in the transaction\n');
    hang();
  });
}

for (let round = 0; mode === 'work' && (rounds === '0' || round < Number(rounds)); round += 1) {
  store.transaction((rows) => admitForTest(rows, `${process.pid}-${round}`));
  writeSync(1, `${round}\n`);
}
store.close();
