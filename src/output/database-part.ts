import { checkReplaceable, makeDatabase } from '../files/database-rows.ts';
import { type JsonText, toLine, valuesIn } from '../json/text.ts';
import type { Making } from './file-sink.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './form.ts';

/** The .part of a database, which itself can't be added to row by row: its form stands in files/database-rows.ts. */
export function createDatabaseRows(options: WriterOptions): WriterForm {
  const { columns, records = 'records' } = options.layout;
  const header = columns.map(({ header }) => JSON.stringify(header));
  const toText = (rows: readonly (readonly JsonText[])[]): string =>
    rows.map((cells) => `${toLine(`[${cells.join(',')}]`)}\n`).join('');
  return createRowsForm(options, [[JSON.stringify(records)], header], valuesIn, toText);
}

/** Makes the database from its .part. One with tables of other programs is not replaced. */
export function toDatabase(signal: AbortSignal): Making {
  const write: Making['write'] = (part, _, made) => makeDatabase(part, made, signal);
  return { write, check: checkReplaceable, what: 'a database', isDatabase: true };
}
