import { extname } from 'node:path';
import { openFileRecords } from '../files/file-records.ts';
import type { FileRecord, ReadOptions, Records } from '../files/reading.ts';
import { isKnownColumn } from './column-meanings.ts';

/** A row of an input: its record, or why it has none. */
export interface InputRow extends FileRecord {
  /** From 1, without the header. */
  readonly number: number;
}

export interface Input extends Records {
  readonly rows: AsyncIterable<InputRow>;
}

/** The records of a file, numbered. `name` is where its extension stands. Throws UsageError. */
export async function openInput(
  bytes: AsyncIterable<Uint8Array | string>,
  { name, ...reading }: Omit<ReadOptions, 'extension' | 'isKnown' | 'path'> & { readonly name: string },
): Promise<Input> {
  const extension = extname(name).toLowerCase();
  const opened = await openFileRecords(bytes, { ...reading, path: name, extension, isKnown: isKnownColumn });
  async function* rows(): AsyncGenerator<InputRow> {
    let number = 0;
    for await (const row of opened.rows) yield { number: ++number, ...row };
  }
  return { ...opened, rows: rows() };
}
