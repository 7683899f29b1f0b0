import { loadSqlite, openFile } from '../../src/sqlite/database.ts';

await loadSqlite();

/** All rows of a table, each cell as SQLite has it. */
export function rowsOf(path: string, table: string): Record<string, unknown>[] {
  const database = openFile(path, 'immutable');
  try {
    return database.all(`SELECT * FROM "${table}"`);
  } finally {
    database.close();
  }
}

/** Makes a database, or changes it, by these statements. */
export function execute(path: string, statements: string): void {
  const database = openFile(path);
  try {
    database.exec(statements);
  } finally {
    database.close();
  }
}

/** A journal of SQLite that names a file, which SQLite then looks for, and removes. */
export function journalNaming(name: string): Buffer {
  const magic = Buffer.from('d9d505f920a163d7', 'hex');
  const numbers = (...all: number[]) => {
    const bytes = Buffer.alloc(4 * all.length);
    for (const [at, one] of all.entries()) bytes.writeUInt32BE(one, 4 * at);
    return bytes;
  };
  const head = Buffer.concat([magic, numbers(0, 0, 3, 512, 4096)], 512);
  const text = Buffer.from(name);
  const sum = text.reduce((all, byte) => all + byte, 0);
  return Buffer.concat([head, numbers((1 << 30) / 4096 + 1), text, numbers(text.length, sum), magic]);
}
