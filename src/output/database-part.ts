import { digestOfRows } from '../files/addition.ts';
import { checkDatabase, folderOfDatabases, writeDatabase } from '../files/database-rows.ts';
import type { Appending } from './append.ts';
import type { Making } from './file-sink.ts';
import { createRowsToMake, type WriterForm, type WriterOptions } from './form.ts';

/** The rows of a database, as files/database-rows.ts describes them. */
export function createDatabaseRows(options: WriterOptions): WriterForm {
  const { columns, records = 'records' } = options.layout;
  const header = columns.map(({ header }) => JSON.stringify(header));
  return createRowsToMake(options, [JSON.stringify(records)], header);
}

/** Makes a database from its rows. A database with tables of other programs is not replaced. */
export function toDatabase(stateDir: string, signal: AbortSignal): Making {
  const folder = folderOfDatabases(stateDir);
  return {
    what: 'a database',
    check: (target, path) => checkDatabase(target, path, folder, false),
    async write(rows, to) {
      await writeDatabase(rows, to, folder, undefined, signal);
      return [];
    },
  };
}

/** Adds rows to a copy of a database. Throws UsageError if that is not possible, and `temporary` if another program uses it. */
export async function openDatabaseAppending(
  target: string,
  path: string,
  stateDir: string,
): Promise<Appending> {
  const folder = folderOfDatabases(stateDir);
  await checkDatabase(target, path, folder, true);
  return {
    lineEnd: undefined,
    delimiter: undefined,
    isNothing: async () => false,
    write: (rows) => async (to, file) => {
      const isEmpty = file === undefined || (await file.stat()).size === 0;
      const note = await writeDatabase(rows, to.handle, folder, isEmpty ? undefined : { file, target, path });
      const { size } = await to.handle.stat();
      return { at: 0, length: size, digest: await digestOfRows(to.handle, 0), note };
    },
  };
}
