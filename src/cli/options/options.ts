import { extname } from 'node:path';
import { Argument, type Command, Option } from 'commander';
import { chosenIn, hasOpenQuote, toChosen } from '../../columns/chosen-names.ts';
import { type SettingValue, toSettingValue } from '../../config/settings.ts';
import { UsageError } from '../../errors.ts';
import { type Format, formats, printedFormats } from '../../output/writer.ts';
import { clip } from '../../requests/closed-list.ts';
import {
  checkIdempotencyKey,
  checkNumber,
  checkOneOf,
  type InputNames,
} from '../../requests/within-limits.ts';
import { groups } from '../help.ts';
import { type OptionFacts, withFacts } from './facts.ts';
import { checkFileName, isOutput, readNamedFile } from './inputs.ts';

/** Options of every command about what it prints on stderr. */
export interface ReportOptions {
  readonly quiet?: true;
  readonly verbose?: true;
  readonly color: boolean;
  readonly jsonErrors?: true;
}

export interface ProfileOptions extends ReportOptions {
  readonly profile?: string;
}

export interface ConnectionOptions extends ProfileOptions {
  readonly baseUrl?: string;
  readonly local?: true;
  readonly timeout?: number;
}

export interface PaidOptions {
  readonly idempotencyKey?: string;
  /** Credits. */
  readonly maxCredits?: number;
  readonly dryRun?: true;
  /** False: this machine stores the cost alone. */
  readonly history: boolean;
}

export interface RecordOptions {
  readonly format?: Format;
  readonly json?: true;
  readonly output?: string;
  readonly append?: true;
  /** Names, or `header=name`. */
  readonly columns?: string[];
  readonly csvRaw?: true;
  /** Between the cells of CSV. */
  readonly delimiter?: string;
  /** Of the commands that read tasks. */
  readonly positions?: true;
}

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

/** Pure: whether a file in this format is made of its rows at the end, and is not printed. */
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

/** What the values of --delimiter mean. */
const delimiters: Readonly<Record<string, string>> = { comma: ',', semicolon: ';', bar: '|', tab: '\t' };

/** Pure: the name of a delimiter, from its name or the character itself. Throws UsageError. */
function toDelimiterName(given: string): string {
  const names = Object.keys(delimiters);
  const named = names.find((name) => delimiters[name] === given);
  return checkOneOf('delimiter', named ?? given, names, { '\\t': 'tab' });
}

/** An option with a parsed value. The parser also gets the previous value of a repeated option, and its name. */
export function option<Value>(
  flags: string,
  description: string,
  parse: (value: string, before: Value | undefined, name: string) => Value,
  facts: OptionFacts = {},
): Option {
  const made = withFacts(new Option(flags, description), facts);
  return made.argParser((value, before: Value | undefined) => parse(value, before, made.long ?? flags));
}

/** An option with one of these values; for any other, the error names the nearest. `words` are other words for them. */
export function choice(
  flags: string,
  description: string,
  name: string,
  values: readonly string[],
  words?: Readonly<Record<string, string>>,
  facts: OptionFacts = {},
): Option {
  const made = withFacts(new Option(flags, description).choices(values), facts);
  return made.argParser((value) => checkOneOf(name, value, values, words));
}

/** A parser for a whole number in this range. */
export function numberIn(range: Parameters<typeof checkNumber>[0]) {
  return (value: string, _: unknown, name: string): number => checkNumber(range, name, value);
}

export const anyCredits = { unit: 'credits', min: 0, max: Number.MAX_SAFE_INTEGER } as const;

const reportOptions = under(groups.messages, [
  new Option('-q, --quiet', 'print no progress and no closing line'),
  new Option('-v, --verbose', 'print requests, and the stack trace of an error, on stderr'),
  withFacts(new Option('--no-color', 'print no colours'), { variable: 'NO_COLOR' }),
  new Option('--json-errors', 'print an error as one JSON object on stderr, and nothing else there'),
]);

const profileOptions = under(groups.connection, [
  withFacts(new Option('--profile <profile>', 'use the settings and the key of this profile'), {
    variable: 'LEADPIPE_PROFILE',
  }),
]);

const addressOptions = under(groups.connection, [
  withFacts(new Option('--base-url <url>', 'the address of the service'), {
    variable: 'LEADPIPE_BASE_URL',
    settings: ['base_url'],
  }),
  option('--timeout <seconds>', 'give up after this many seconds without data', seconds, {
    defaultText: 'depends on the request',
    settings: ['timeout.headers', 'timeout.idle', 'timeout.event'],
  }),
]);

const localOptions = under(groups.connection, [
  new Option('--local', 'use the local service: offline, free, with fictional leads').conflicts('baseUrl'),
]);

const paidOptions = under(groups.buying, [
  option(
    '--idempotency-key <key>',
    'the key of this purchase: the service charges a key only once',
    (key) => checkIdempotencyKey(key, inputNames),
    { defaultText: 'a new one each time' },
  ),
  createMaxCreditsOption('do not start if this could cost more than n credits, or more than your balance'),
  new Option(
    '--dry-run',
    'print what would be sent now, what it costs at most, and your balance; buy nothing',
  ),
  new Option(
    '--no-history',
    "store only the cost on this machine; the result can't be shown again or resumed",
  ),
]);

const recordOptions = under(groups.output, [
  choice('-f, --format <format>', 'the format', 'format', formats, formatWords, {
    defaultText: 'by -o; table or jsonl',
    settings: ['format'],
  }),
  new Option('--json', 'print JSON (short for -f json)').implies({ format: 'json' }),
  option(
    '-o, --output <file>',
    'save to this file: leads.csv, leads.xlsx …; it is replaced only when everything is there',
    once('-o', (name) => (isOutput(name) ? '-' : checkFileName('-o', name))),
  ),
  new Option('--append', 'add rows at the end of the file of -o'),
  option('--columns <names>', 'only these columns, such as name,Site=links.website', collect),
  new Option(
    '--delimiter <character>',
    'the character between the cells of CSV (default: comma; in .tsv, tab)',
  )
    .choices(Object.keys(delimiters))
    .argParser(toDelimiterName),
  new Option('--csv-raw', 'keep CSV cells unchanged, with formulas and control characters'),
]);

const summaryOptions = under(groups.messages, [
  option(
    '--summary <file>',
    'write one JSON object here when the command ends, however it ends; see leadpipe help formats',
    once('--summary', (name) => {
      if (name !== '-') return checkFileName('--summary', name);
      throw new UsageError(
        '--summary: standard output is for data',
        'Name a file, or a descriptor: /dev/fd/3.',
      );
    }),
  ),
]);

/** Options that commands share, in the order of the help. */
export const sharedOptions = {
  records: recordOptions,
  paid: paidOptions,
  report: reportOptions,
  profile: [...profileOptions, ...reportOptions],
  /** For commands about one service: its address and its key. */
  service: [...profileOptions, ...addressOptions, ...reportOptions, ...summaryOptions],
  connection: [...localOptions, ...profileOptions, ...addressOptions, ...reportOptions, ...summaryOptions],
  /** For a server, which buys for others. */
  server: [...localOptions, ...profileOptions, ...addressOptions, ...reportOptions],
} as const;

export type SharedOptions = keyof typeof sharedOptions;

export function addSharedOptions(command: Command, taken: readonly SharedOptions[]): void {
  for (const option of taken.flatMap((name) => sharedOptions[name])) command.addOption(option);
  if (!taken.includes('records')) return;
  command.hook('preAction', async (_, action) => {
    const options = action.opts<RecordOptions>();
    if (options.json && options.format !== 'json') {
      throw new UsageError(
        `--json means -f json, so -f ${options.format} can't be used with it`,
        'Use only one of the two.',
      );
    }
    if (options.columns !== undefined) action.setOptionValue('columns', await readColumns(options.columns));
    // Before anything is read or opened. What the profile says is checked later.
    const format = toFormat(options, false, undefined);
    checkPositions(options, format);
    if (isFormatNamed(options)) toDelimiter(options, format);
  });
}

export function createMaxCreditsOption(description: string): Option {
  return option('--max-credits <n>', description, numberIn(anyCredits), { settings: ['max_credits'] });
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
    // The file would hold something else than its name says.
    throw new UsageError(
      `-o: unknown extension ${clip(extension)}`,
      `Known extensions: ${Object.keys(extensions).join(', ')}. Or name the format, for example: -f csv`,
    );
  }
  const defaultFormat = file === undefined && stdoutIsTerminal ? 'table' : 'jsonl';
  const format = options.format ?? named ?? preferred ?? defaultFormat;
  // Whatever -f says: rows in another format would damage a workbook or a database.
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
 * Pure: what a file holds, where its name does not say it; undefined where it does. An extension that is not known says nothing, and then -f
 * has said it.
 */
export function toFormatNote(options: RecordOptions, format: Format): string | undefined {
  const file = fileOf(options);
  const extension = extensionOf(options);
  if (file === undefined || extensions[extension] === format) return undefined;
  if (extension === '') return `${file} was written as ${format}.`;
  if (!(extension in extensions)) return undefined;
  return `${file} was written as ${format}, although its name ends with ${extension}.`;
}

/** Pure: only JSONL can hold more than the columns. Throws UsageError. */
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

/** An argument from a closed list, for completion. The command itself reports values that are not in it, since it can say more. */
export function argumentOf(flags: string, values: readonly string[]) {
  return new Argument(flags, values.join(', ')).choices(values).argParser((value: string) => value);
}

/** A parser for an option that may be given only once: otherwise the first value would be ignored. */
export function once<Value>(option: string, parse: (value: string) => Value) {
  return (value: string, before: Value | undefined): Value => {
    if (before === undefined) return parse(value);
    throw new UsageError(`${option} is given twice`, 'Give it once.');
  };
}

/** Removes the carriage return that an ID has when it was cut out of a line of CSV. */
export function toId(value: string): string {
  return value.trim();
}

/** A parser for the name of a file. */
export function toFileName(value: string, _: unknown, name: string): string {
  return checkFileName(name, value);
}

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A parser for seconds, with fractions. */
export function seconds(given: string, _: unknown, name: string): SettingValue {
  return toSettingValue('timeout.idle', given.trim(), name);
}

export function under(heading: string, options: readonly Option[]): readonly Option[] {
  return options.map((option) => option.helpGroup(heading));
}
