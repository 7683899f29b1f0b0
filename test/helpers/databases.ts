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
