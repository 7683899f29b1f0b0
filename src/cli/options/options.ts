import { Argument, type Command, Option } from 'commander';
import { UsageError } from '../../errors.ts';
import { formats } from '../../output/writer.ts';
import { checkOneOf } from '../../requests/closed-list.ts';
import { checkIdempotencyKey, checkNumber, type InputNames } from '../../requests/within-limits.ts';
import { groups } from '../help.ts';
import { checkRecordOptions } from '../records/record-output.ts';
import { checkFileName, isInput, readNamedFile } from './inputs.ts';

/** Options of every command: what it says on stderr. */
export interface ReportOptions {
  readonly quiet?: true;
  readonly verbose?: true;
  readonly color: boolean;
  readonly jsonErrors?: true;
}

/** Options of every command that is about a profile. */
export interface ProfileOptions extends ReportOptions {
  readonly profile?: string;
}

/** Options of every command that calls the service. */
export interface ConnectionOptions extends ProfileOptions {
  readonly baseUrl?: string;
  readonly local?: true;
  readonly timeout?: number;
}

/** Options of every command that can cost credits. */
export interface PaidOptions {
  readonly idempotencyKey?: string;
  /** Credits. */
  readonly maxCredits?: number;
  readonly dryRun?: true;
  /** False: no record is kept on this machine. */
  readonly history: boolean;
}

/** Options of every command that prints records. */
export interface RecordOptions {
  readonly format?: (typeof formats)[number];
  readonly output?: string;
  readonly append?: true;
  readonly columns?: string[];
  readonly csvRaw?: true;
}

/** What the command line calls the inputs of requests. */
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

/** What people call the formats. */
const formatWords = { ndjson: 'jsonl', excel: 'xlsx', xl: 'xlsx', markdown: 'md', text: 'table' };

export function addConnectionOptions(command: Command): Command {
  const local = new Option('--local', 'use the local service: offline, free, with fictional leads').conflicts(
    'baseUrl',
  );
  return addServiceOptions(add(command, groups.connection, [local]));
}

/** For commands that are about one service: its address, its key. */
export function addServiceOptions(command: Command): Command {
  const connection = add(addProfileOption(command), groups.connection, [
    new Option('--base-url <url>', 'the address of the service (or LEADPIPE_BASE_URL)'),
    new Option('--timeout <seconds>', 'give up after this many seconds without data').argParser(
      secondsOf('--timeout'),
    ),
  ]);
  return addReportOptions(connection);
}

export function addProfileOption(command: Command): Command {
  return add(command, groups.connection, [
    new Option('--profile <profile>', 'use the settings and the key of this profile (or LEADPIPE_PROFILE)'),
  ]);
}

export function addReportOptions(command: Command): Command {
  return add(command, groups.messages, [
    new Option('-q, --quiet', 'print no progress and no closing line'),
    new Option('-v, --verbose', 'print requests, and the stack trace of an error, on stderr'),
    new Option('--no-color', 'print no colours (or NO_COLOR)'),
    new Option('--json-errors', 'print an error as one JSON object on stderr, and nothing else there'),
  ]);
}

export function addPaidOptions(command: Command): Command {
  return add(command, groups.buying, [
    new Option(
      '--idempotency-key <key>',
      'the idempotency key of this purchase (default: a new one each time); the service charges it only once',
    ).argParser((key) => checkIdempotencyKey(key, inputNames)),
    createMaxCreditsOption(
      'refuse (exit code 5) what can cost more than this, or more than your balance; see leadpipe help money',
    ),
    new Option('--dry-run', 'print the request, what it costs at most, and your balance; buy nothing'),
    new Option('--no-history', "store nothing on this machine; the result can't be shown again or resumed"),
  ]);
}

export function createMaxCreditsOption(description: string): Option {
  return new Option('--max-credits <n>', description).argParser((value) =>
    checkNumber({ unit: 'credits', min: 0, max: Number.MAX_SAFE_INTEGER }, '--max-credits', value),
  );
}

export function addRecordOptions(command: Command): Command {
  return add(command, groups.output, [
    new Option(
      '-f, --format <format>',
      'the output format (default: from the file name of -o, else table on a terminal and jsonl elsewhere)',
    )
      .choices(formats)
      .argParser((value) => checkOneOf('format', value, formats, formatWords)),
    new Option(
      '-o, --output <file>',
      'write to this file; it is created or replaced only when everything is there',
    ).argParser(once('-o', (name) => checkFileName('-o', name))),
    new Option('--append', 'add rows at the end of the file of -o'),
    new Option('--columns <dot.paths>', 'only these columns, such as name,links.website').argParser(collect),
    new Option('--csv-raw', 'keep CSV cells unchanged, with formulas and control characters'),
  ]).hook('preAction', async (_, action) => {
    const { columns } = action.opts<RecordOptions>();
    if (columns !== undefined) action.setOptionValue('columns', await readColumns(columns));
    checkRecordOptions(action.opts());
  });
}

/** The same with what the files have, a path per line. Throws UsageError. */
async function readColumns(columns: readonly string[]): Promise<string[]> {
  const read: string[] = [];
  for (const one of columns) {
    const file = one.startsWith('@') ? one.slice(1) : undefined;
    if (file === undefined) read.push(one);
    else {
      if (isInput(file)) throw new UsageError("--columns can't be read from standard input", 'Name a file.');
      const lines = (await readNamedFile(file, '--columns')).split(/\r\n|\n|\r/);
      const paths = lines.filter((line) => line.trim() !== '');
      if (paths.length === 0)
        throw new UsageError(`--columns: ${file} is empty: it needs a path on each line`);
      read.push(...paths);
    }
  }
  return read;
}

/**
 * An argument out of a closed list, which completion offers. What is said of a value that is not in it is said by
 * the command, which knows more.
 */
export function argumentOf(
  flags: string,
  values: readonly string[],
  description = values.join(', '),
): Argument {
  return new Argument(flags, description).choices(values).argParser((value: string) => value);
}

/** A parser of an option that means one thing: of two, the first would be ignored. */
export function once<Value>(option: string, parse: (value: string) => Value) {
  return (value: string, before: Value | undefined): Value => {
    if (before === undefined) return parse(value);
    throw new UsageError(`${option} is given twice`, 'Give it once.');
  };
}

/** An ID that was cut out of a line of CSV brings the carriage return of its end along. */
export function toId(value: string): string {
  return value.trim();
}

/** Gathers a repeated option. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A parser of seconds, fractions too. */
export function secondsOf(option: string): (value: string) => number {
  return (value) => {
    const seconds = Number(value);
    if (!/^\d+(?:\.\d+)?$/.test(value.trim()) || seconds <= 0 || seconds > 86_400) {
      throw new UsageError(
        `${option} must be a number of seconds above 0 and at most 86400, not "${value.slice(0, 40)}"`,
      );
    }
    return seconds;
  };
}

function add(command: Command, group: string, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option.helpGroup(group));
  return command;
}
