import { readFile } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Readable } from 'node:stream';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { nameIn, placeOf, type Records } from '../../files/reading.ts';
import { reasonOf } from '../../files/write-failure.ts';
import { stringOf } from '../../json/text.ts';
import { listed } from '../../requests/closed-list.ts';
import type { InputNames } from '../../requests/within-limits.ts';

/** The names of the requests' inputs on the command line. */
export const inputNames: InputNames = {
  objective: 'the objective',
  limit: '--limit',
  enrich_fields: '--enrich-fields',
  dedup_service_leads: '--dedup-service-leads',
  dedup_custom_leads: '--dedup-custom-leads',
  enable_web_search: '--enable-web-search',
  query: 'the query',
  entity_context: 'the entity context',
  target: 'the target',
  instruction: '--instruction',
  idempotency_key: '--idempotency-key',
};

/** Names by which a program finds its own standard input. */
const inputFiles = ['-', '/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'];

/** Pure: whether the name of a file means standard input. */
export function isInput(name: string): boolean {
  return inputFiles.includes(name);
}

/** Names of standard output. A file that the shell has opened for it must not be replaced: it may be opened with >>. */
const outputFiles = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'];

/** Pure: whether the name of a file means standard output. */
export function isOutput(name: string): boolean {
  return outputFiles.includes(name);
}

/** Lines for the user. */
interface InputNotes {
  say(line: string): void;
  warn(line: string): void;
}

/** Reports the parts of an input that are ignored, or can't be read correctly. */
export function printInputNotes(
  { say, warn }: InputNotes,
  { note, warnings = [] }: Pick<Records, 'note' | 'warnings'>,
): void {
  if (note !== undefined) say(note);
  for (const warning of warnings) warn(warning);
}

/** Reports the parts of an input that were left out, after its last row. */
export function printEndNote(
  { say }: Pick<InputNotes, 'say'>,
  { noteAtEnd }: Pick<Records, 'noteAtEnd'>,
): void {
  const note = noteAtEnd?.();
  if (note !== undefined) say(note);
}

/** Standard input, for `name` only. Throws UsageError if something else reads it, too. */
export function takeInput({ stdin, run }: Context, name: string): Readable {
  if (run.inputTakenBy !== undefined) {
    throw new UsageError(
      `standard input can be read only once, but ${run.inputTakenBy} and ${name} both need it`,
      'Put one of them in a file.',
    );
  }
  run.inputTakenBy = name;
  return stdin.stream;
}

/** An argument that is a text, `-` for standard input, or `@file`. */
export async function readTextArgument(context: Context, name: string, argument: string): Promise<string> {
  if (argument === '-') return await readInput(context, name);
  if (!argument.startsWith('@')) return argument;
  return await readTextFile(
    context,
    argument.slice(1),
    name,
    'To send a text that begins with @, pipe it in and give - instead.',
  );
}

/**
 * The items of a list option: commas, repetition, `@file`, or `-` for standard input. A file is text with an item per line, CSV
 * with a column of the given name, or JSONL with a field of that name. White space around items, empty items and repetitions
 * are dropped. Throws UsageError.
 */
export async function readList(
  context: Context,
  option: string,
  column: string,
  values: readonly string[],
  notes: InputNotes,
) {
  const items: string[] = [];
  for (const value of values) {
    if (value === '-' || value.startsWith('@')) {
      items.push(...(await readListFile(context, value.replace(/^@/, ''), option, column, notes)));
    } else items.push(...value.split(','));
  }
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ''))];
}

/** Pure: the name of a file, as the user gave it. Throws UsageError for a name that no file can have. */
export function checkFileName(what: string, name: string, hint = 'Name a file.'): string {
  if (name.trim() === '') throw new UsageError(`${what}: the name of the file is empty`, hint);
  if (/(?:^|\/)\.{0,2}$/.test(name) || name.endsWith(sep)) {
    throw new UsageError(`${what}: ${name} is a folder`, hint);
  }
  return name;
}

/** The text of a file that the user has named, or of standard input by one of its names. Throws UsageError. */
export async function readTextFile(context: Context, path: string, what: string, hint?: string) {
  return isInput(path) ? await readInput(context, what) : await readNamedFile(path, what, hint);
}

/** The text of a file that the user has named. Throws UsageError. */
export async function readNamedFile(path: string, what: string, hint?: string): Promise<string> {
  checkFileName(what, path, hint);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new UsageError(`${what}: can't read ${path}: ${reasonOf(error)}`, hint);
  });
  return await decoded(bytes, `${what}: ${path}`);
}

export async function readInput(context: Context, name: string): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of takeInput(context, name)) pieces.push(Buffer.from(piece as Buffer));
  return await decoded(Buffer.concat(pieces), 'standard input');
}

async function decoded(bytes: Buffer, what: string): Promise<string> {
  const { decodeText } = await import('../../files/decoded.ts');
  return decodeText(bytes, what);
}

/**
 * The items in the file of a list option: the lines of a text, else the column or field of this name; names of leads also from other usual
 * name columns. Throws UsageError, also for a row that can't be read: a lead that is not excluded is bought.
 */
async function readListFile(
  context: Context,
  path: string,
  option: string,
  column: string,
  notes: InputNotes,
) {
  // Only loaded by lists that are in a file.
  const [{ bytesOf }, { openInput }, { memberIn }, { leadName, leadNameColumns }] = await Promise.all([
    import('../../requests/file-bytes.ts'),
    import('../../requests/rows.ts'),
    import('../../requests/template.ts'),
    import('../../requests/lead-name.ts'),
  ]);
  const isOfNames = column === 'name';
  const isPiped = isInput(path);
  const bytes = isPiped ? takeInput(context, option) : bytesOf(checkFileName(option, path), option);
  const name = isPiped ? 'standard input' : path;
  const what = `${option}: ${name}`;
  const input = await openInput(bytes, {
    name: path,
    field: column,
    wanted: [column],
    what,
  });
  printInputNotes(notes, input);
  const { columns, rows } = input;
  const isThere = (names: readonly string[]): boolean =>
    isOfNames ? leadNameColumns(names).length > 0 : nameIn(names, column) !== undefined;
  if (columns !== undefined && !isThere(columns)) {
    throw new UsageError(`${what} has no column "${column}": its columns are ${listed(columns)}`);
  }
  const items: string[] = [];
  for await (const row of rows) {
    const { record, flaw } = row;
    const isRead = record !== undefined && flaw === undefined;
    const item = isRead ? (isOfNames ? leadName(record) : stringOf(memberIn(record, column))) : undefined;
    if (item === undefined) {
      throw new UsageError(`${option}: ${placeOf(row)} of ${name} ${flaw ?? `has no text "${column}"`}`);
    }
    items.push(item);
  }
  printEndNote(notes, input);
  return items;
}
