import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { parse } from 'csv-parse/sync';
import readWorkbook from 'read-excel-file/node';
import { loadSqlite, openFile } from '../../src/sqlite/database.ts';

type Printed = Readonly<Record<string, unknown>>;

/** A file as it is read in each format, by its extension. */
const readers: Readonly<Record<string, (path: string) => Printed[] | Promise<Printed[]>>> = {
  '.jsonl': (path) => whole(path, '\n').map((line) => JSON.parse(line)),
  '.json': (path) => JSON.parse(readFileSync(path, 'utf8')),
  '.csv': (path) => {
    const [header = '', ...lines] = whole(path, '\r\n');
    if (lines.includes(header)) throw new Error(`${path}: the header is there twice`);
    return parse(readFileSync(path), { columns: true });
  },
  '.md': (path) => {
    const lines = whole(path, '\n').filter((line) => line.startsWith('|'));
    const [header = [], , ...rows] = lines.map((line) => line.slice(2, -2).split(' | '));
    return rows.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at]])));
  },
  '.xlsx': async (path) => {
    const [sheet] = await readWorkbook(readFileSync(path));
    const [header = [], ...rows] = sheet?.data ?? [];
    return rows.map((cells) => Object.fromEntries(header.map((name, at) => [String(name), cells[at]])));
  },
  '.db': async (path) => {
    await loadSqlite();
    const database = openFile(path, 'immutable');
    try {
      const tables = database.all<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'leadpipe%'",
      );
      return tables.flatMap(({ name }) => database.all<Printed>(`SELECT * FROM "${name}"`));
    } finally {
      database.close();
    }
  },
};

/** The records of an output, in any format; none where there is no file. Throws where a row is torn, or a header is there twice. */
export async function readPrinted(path: string): Promise<Printed[]> {
  const reader = readers[extname(path)];
  if (reader === undefined) throw new Error(`${path}: unknown format`);
  return existsSync(path) ? await reader(path) : [];
}

/** The names of the leads of an output, in their order. */
export async function namesIn(path: string): Promise<string[]> {
  return (await readPrinted(path)).map(({ name }) => String(name));
}

/** The lines of a text that ends with the end of a line. */
function whole(path: string, end: string): string[] {
  const text = readFileSync(path, 'utf8');
  if (text !== '' && !text.endsWith(end))
    throw new Error(`${path}: the last row is torn: ${text.slice(-80)}`);
  return text.split(end).slice(0, -1);
}
