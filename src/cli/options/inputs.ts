import { readFile } from 'node:fs/promises';
import { extname, sep } from 'node:path';
import type { Context, InputStream } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { decodeText } from '../../files/decoded.ts';

/** An argument that is a text, `-` for standard input, or `@file`. */
export async function readTextArgument(context: Context, name: string, argument: string): Promise<string> {
  if (argument === '-') return await readInput(context.stdin);
  if (!argument.startsWith('@')) return argument;
  return await readNamedFile(
    argument.slice(1),
    name,
    'To send a text that begins with @, pipe it in and give - instead.',
  );
}

/** The same for an argument that may be left out where standard input brings it. Throws UsageError where that is a terminal. */
export async function readTextOrInput(
  context: Context,
  name: string,
  argument: string | undefined,
): Promise<string> {
  if (argument === undefined && context.stdin.isTerminal) {
    throw new UsageError(`${name} is missing`, 'Give it as a text, as @file, or pipe it in.');
  }
  return await readTextArgument(context, name, argument ?? '-');
}

/**
 * The items of a list option: commas, repetition, or `@file`. A file is text with an item per line, CSV with a
 * column of the given name, or JSONL with a field of that name. White space around items, empty items and repetitions
 * are dropped.
 */
export async function readList(option: string, column: string, values: readonly string[]): Promise<string[]> {
  const items: string[] = [];
  for (const value of values) {
    if (value.startsWith('@')) items.push(...(await readListFile(value.slice(1), option, column)));
    else items.push(...value.split(','));
  }
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ''))];
}

async function readListFile(path: string, option: string, column: string): Promise<string[]> {
  const text = await readNamedFile(path, option);
  const extension = extname(path).toLowerCase();
  if (extension === '.csv') return await readCsvColumn(path, text, option, column);
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '');
  const isJsonl = ['.jsonl', '.ndjson'].includes(extension) || lines[0]?.trimStart().startsWith('{') === true;
  if (!isJsonl) return lines;
  return lines.map((line, index) => {
    const value = fieldOf(line, column);
    if (value === undefined) {
      throw new UsageError(
        `${option}: line ${index + 1} of ${path} is not a JSON object with a text "${column}"`,
      );
    }
    return value;
  });
}

async function readCsvColumn(path: string, text: string, option: string, column: string): Promise<string[]> {
  const { parse } = await import('csv-parse/sync');
  let rows: string[][];
  try {
    rows = parse(text, { relax_column_count: true, skip_empty_lines: true });
  } catch (error) {
    throw new UsageError(`${option}: ${path} is not valid CSV: ${(error as Error).message}`);
  }
  const at = rows[0]?.findIndex((header) => header.trim().toLowerCase() === column) ?? -1;
  if (at === -1) throw new UsageError(`${option}: ${path} has no column "${column}"`);
  return rows.slice(1).map((row) => row[at] ?? '');
}

function fieldOf(line: string, field: string): string | undefined {
  try {
    const value = (JSON.parse(line) as Record<string, unknown> | null)?.[field];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
};

/** Pure: the name of a file, as the user gave it. Throws UsageError for one that no file has. */
export function checkFileName(what: string, name: string, hint = 'Name a file.'): string {
  if (name.trim() === '') throw new UsageError(`${what}: the name of the file is empty`, hint);
  if (/(?:^|\/)\.{0,2}$/.test(name) || name.endsWith(sep)) {
    throw new UsageError(`${what}: ${name} is a folder`, hint);
  }
  return name;
}

/** The text of a file that the user has named. Throws UsageError. */
export async function readNamedFile(path: string, what: string, hint?: string): Promise<string> {
  checkFileName(what, path, hint);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = readFailures[error.code ?? ''] ?? error.message;
    throw new UsageError(`${what}: can't read ${path}: ${why}`, hint);
  });
  return decodeText(bytes, `${what}: ${path}`);
}

/** Everything that standard input brings, as text. Throws UsageError for what is none. */
export async function readInput({ stream }: InputStream): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(Buffer.from(piece as Buffer));
  return decodeText(Buffer.concat(pieces), 'standard input');
}
