import { extname } from 'node:path';
import { Option } from 'commander';
import { chosenIn, hasOpenQuote, toChosen } from '../../columns/chosen-names.ts';
import { UsageError } from '../../errors.ts';
import { type Format, formats, printedFormats } from '../../output/writer.ts';
import { clip } from '../../requests/closed-list.ts';
import { checkOneOf } from '../../requests/within-limits.ts';
import { groups } from '../help.ts';
import { withFacts } from './facts.ts';
import { checkFileName, isOutput, readNamedFile } from './inputs.ts';
import { choice, collect, once, option, under } from './option-builders.ts';

export interface RecordOptions {
  readonly format?: Format;
  readonly json?: true;
  readonly output?: string;
  readonly append?: true;
  /** Names, or `header=name`. */
  readonly columns?: string[];
  readonly csvRaw?: true;
  /** The character between CSV cells. */
  readonly delimiter?: string;
  /** Only for commands that read tasks. */
  readonly positions?: true;
}

const extensions: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.md': 'md',
  '.xlsx': 'xlsx',
  '.db': 'sqlite',
  '.sqlite': 'sqlite',
};

const appendable: readonly Format[] = ['csv', 'jsonl', 'sqlite'];

/** Pure: true for a format whose file is made at the end from all rows (workbook, database). */
function isMade(format: Format): boolean {
  return !(printedFormats as readonly Format[]).includes(format);
}

/** Other names that people use for the formats. */
const formatWords = {
  ndjson: 'jsonl',
  excel: 'xlsx',
  xl: 'xlsx',
  db: 'sqlite',
  sqlite3: 'sqlite',
  markdown: 'md',
  text: 'table',
};

/** The character for each value of --delimiter. */
const delimiters: Readonly<Record<string, string>> = { comma: ',', semicolon: ';', bar: '|', tab: '\t' };

/** Pure: the name of a delimiter, from its name or the character itself. Throws UsageError. */
function toDelimiterName(given: string): string {
  const names = Object.keys(delimiters);
  const named = names.find((name) => delimiters[name] === given);
  return checkOneOf('delimiter', named ?? given, names, { '\\t': 'tab' });
}

export const recordOptions = under(groups.output, [
  choice('-f, --format <format>', 'the format', 'format', formats, formatWords, {
    defaultText: 'by -o; table or jsonl',
    settings: ['format'],
    common: true,
  }),
  new Option('--json', 'print JSON (short for -f json)').implies({ format: 'json' }),
  option(
    '-o, --output <file>',
    'save to this file: leads.csv, leads.xlsx …',
    once('-o', (name) => (isOutput(name) ? '-' : checkFileName('-o', name))),
    { common: true },
  ),
  withFacts(new Option('--append', 'add rows at the end of the file of -o'), { common: true }),
  option('--columns <names>', 'only these columns: name,Site=links.website', collect, { common: true }),
  new Option(
    '--delimiter <character>',
    'the character between the cells of CSV (default: comma; in .tsv, tab)',
  )
    .choices(Object.keys(delimiters))
    .argParser(toDelimiterName),
  new Option('--csv-raw', 'keep CSV cells unchanged, with formulas and control characters'),
]);

/**
 * Checks the options before anything is read or opened; checks that need the profile come later. Returns the columns, also those of `@file`.
 * Throws UsageError.
 */
export async function checkRecordOptions(options: RecordOptions): Promise<readonly string[] | undefined> {
  if (options.json && options.format !== 'json') {
    throw new UsageError(
      `--json means -f json, so -f ${options.format} can't be used with it`,
      'Use only one of the two.',
    );
  }
  const columns = options.columns && (await readColumns(options.columns));
  const format = toFormat(options, false, undefined);
  checkPositions(options, format);
  if (isFormatNamed(options)) toDelimiter(options, format);
  return columns;
}

/** Replaces `@file` by the columns in the file, one per line. Throws UsageError. */
async function readColumns(columns: readonly string[]): Promise<string[]> {
  const lists = columns.map(async (one) => {
    if (!one.startsWith('@')) return [one];
    const lines = (await readNamedFile(one.slice(1), '--columns')).split(/\r\n|\n|\r/);
    return lines.filter((line) => line.trim() !== '');
  });
  const all = (await Promise.all(lists)).flat();
  toNames(all);
  return all;
}

/** The file of `-o`. `-o -` means standard output, as in other programs. */
export function fileOf({ output }: RecordOptions): string | undefined {
  return output === '-' ? undefined : output;
}

/**
 * Pure: the format by `-f`, else by the extension of `-o`, else by the profile, else table for a terminal and jsonl for anything else. Throws
 * UsageError for options that contradict each other.
 */
export function toFormat(options: RecordOptions, stdoutIsTerminal: boolean, preferred: Format | undefined) {
  const file = fileOf(options);
  if (options.append && file === undefined) {
    throw new UsageError('--append needs a file', 'Name it: -o leads.csv --append.');
  }
  const extension = extensionOf(options);
  const named = extensions[extension];
  if (options.format === undefined && named === undefined && extension !== '') {
    // The content would not match the name of the file.
    throw new UsageError(
      `-o: unknown extension ${clip(extension)}`,
      `Known extensions: ${Object.keys(extensions).join(', ')}. Or name the format, for example: -f csv`,
    );
  }
  const defaultFormat = file === undefined && stdoutIsTerminal ? 'table' : 'jsonl';
  const format = options.format ?? named ?? preferred ?? defaultFormat;
  // Refused with any -f: rows in another format would damage a workbook or a database.
  const added = named !== undefined && isMade(named) ? named : format;
  if (options.append && !appendable.includes(added)) {
    throw new UsageError(
      `--append works only with csv, jsonl and sqlite files, not with ${added}`,
      'Name a .csv, .jsonl or .db file: -o leads.csv --append.',
    );
  }
  if (options.append && added !== format) {
    throw new UsageError(`rows of ${format} can't be added to a database`, 'Leave out -f.');
  }
  if (isMade(format) && file === undefined) {
    throw new UsageError(
      `${format} can only be written to a file, not to standard output`,
      `Name it: -o leads.${format === 'xlsx' ? 'xlsx' : 'db'}`,
    );
  }
  return format;
}

/** Pure: whether the options alone decide the format. */
function isFormatNamed(options: RecordOptions): boolean {
  return options.format !== undefined || extensionOf(options) in extensions;
}

/** The extension of the file of -o, in small letters; empty without one. */
function extensionOf(options: RecordOptions): string {
  return extname(fileOf(options) ?? '').toLowerCase();
}

/** Pure: the character between cells, as far as the options say it. Throws UsageError for a format without one. */
export function toDelimiter(options: RecordOptions, format: Format): string | undefined {
  const { delimiter } = options;
  if (delimiter === undefined) return extensionOf(options) === '.tsv' ? '\t' : undefined;
  if (format === 'csv') return delimiters[delimiter];
  throw new UsageError(`--delimiter works only with csv, not with ${format}`, 'Add -f csv.');
}

/**
 * Pure: a note about the format of a file, if its name does not show it; else undefined. An unknown extension gets no note, since it needs -f.
 */
export function toFormatNote(options: RecordOptions, format: Format): string | undefined {
  const file = fileOf(options);
  const extension = extensionOf(options);
  if (file === undefined || extensions[extension] === format) return undefined;
  if (extension === '') return `${file} was written as ${format}.`;
  if (!(extension in extensions)) return undefined;
  return `${file} was written as ${format}, although its name ends with ${extension}.`;
}

/** Pure: the note about the number of CSV cells that got an apostrophe. */
export function toGuardedNote(cells: number): string {
  const [places, them] = cells === 1 ? ['1 cell', 'it'] : [`${cells} cells`, 'them'];
  return `${places} got an apostrophe, so that no spreadsheet runs ${them} as a formula. To write ${them} unchanged: --csv-raw.`;
}

/** Pure: --positions needs JSONL, which can hold more than the columns. Throws UsageError. */
export function checkPositions({ positions }: RecordOptions, format: Format): void {
  if (!positions || format === 'jsonl') return;
  throw new UsageError(`--positions works only with jsonl, not with ${format}`, 'Add -f jsonl.');
}

/** Pure: the columns of --columns, each a name or `header=name`. Throws UsageError. */
export function toNames(columns: readonly string[]): string[] {
  const given = [...new Set(columns.flatMap(chosenIn))];
  const example = 'For example: --columns name,score,Website=links.website';
  if (given.length === 0 || given.some((one) => one === '' || /^=|=$/.test(one))) {
    throw new UsageError('--columns has an empty name', example);
  }
  const open = given.find(hasOpenQuote);
  if (open !== undefined) {
    const names = 'In quotes, a name can have commas: --columns \'name,"City, State"\'';
    throw new UsageError(`--columns: a quote is not closed: ${open}`, names);
  }
  const headers = given.map((one) => toChosen(one).header);
  const twice = headers.find((header, at) => headers.indexOf(header) < at);
  if (twice !== undefined) throw new UsageError(`--columns has two columns called "${twice}"`, example);
  return given;
}
