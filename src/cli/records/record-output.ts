import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { FolderLock } from '../../files/folder-lock.ts';
import { withOutputLock } from '../../files/output-lock.ts';
import type { Delivery, Opening } from '../../operations/delivery.ts';
import { colorOf } from '../../output/color.ts';
import type { Layout, LayoutOf } from '../../output/layout.ts';
import { openRecords } from '../../output/records.ts';
import type { Format } from '../../output/writer.ts';
import { clip } from '../../requests/closed-list.ts';
import { createNotes } from '../messages/notes.ts';
import { openStatusLine } from '../messages/status-line.ts';
import type { RecordOptions, ReportOptions } from '../options/options.ts';
import { toChosen } from './chosen-columns.ts';

/** What a command prints: records in rows or one answer, and how they are laid out where --columns does not say. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  /** Of the profile, which may prefer a format. */
  readonly settings: { readonly format?: Format };
  readonly opening?: Opening | undefined;
  /** Of the file, where this run has it already. */
  readonly lock?: FolderLock | undefined;
}

const extensions: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
  '.md': 'md',
  '.xlsx': 'xlsx',
};

type OutputOptions = RecordOptions & ReportOptions;

/** Pure: `-f`, then the extension of `-o`, then the profile, then table for a terminal and jsonl for the rest. */
export function toFormat(
  options: RecordOptions,
  stdoutIsTerminal: boolean,
  preferred: Format | undefined,
): Format {
  if (options.format !== undefined) return options.format;
  const file = fileOf(options);
  return formatOfName(options) ?? preferred ?? (file === undefined && stdoutIsTerminal ? 'table' : 'jsonl');
}

/** Throws UsageError for options that contradict each other; nothing is opened. */
export function checkRecordOptions(options: RecordOptions): void {
  if (options.append && fileOf(options) === undefined) {
    throw new UsageError('--append needs a file', 'Name it: -o leads.csv --append.');
  }
  toChosen(options);
  if (options.format === undefined) formatOfName(options);
  if (options.append) checkAppendable(options);
  if (options.format === 'xlsx') checkWorkbook(options);
}

/** What no rows can be added to. */
const wholeFormats: Partial<Readonly<Record<Format, string>>> = {
  xlsx: 'Excel files',
  json: 'JSON arrays',
  md: 'Markdown files',
  table: 'tables',
  cards: 'cards',
};

/** Throws UsageError, also where only the name says it: rows of another format would spoil a workbook. */
function checkAppendable(options: RecordOptions): void {
  const named = extensions[extname(fileOf(options) ?? '').toLowerCase()];
  const format = named === 'xlsx' ? named : (options.format ?? named);
  const whole = format === undefined ? undefined : wholeFormats[format];
  if (whole === undefined) return;
  throw new UsageError(`${whole} can't be appended to`, 'Name a .csv or .jsonl file: -o leads.csv --append.');
}

/** Throws UsageError: a workbook is whole or it is nothing. */
function checkWorkbook(options: RecordOptions): void {
  if (fileOf(options) !== undefined) return;
  throw new UsageError(
    'xlsx can only be written to a file, not to standard output',
    'Name it: -o leads.xlsx',
  );
}

/**
 * Pure: the format that the name of the file says; undefined where it has no extension. Throws UsageError for an unknown one,
 * which would hold something else than it says.
 */
function formatOfName(options: RecordOptions): Format | undefined {
  const extension = extname(fileOf(options) ?? '').toLowerCase();
  if (extension === '') return undefined;
  const format = Object.hasOwn(extensions, extension) ? extensions[extension] : undefined;
  if (format !== undefined) return format;
  throw new UsageError(
    `-o: unknown extension ${clip(extension)}`,
    `Known extensions: ${Object.keys(extensions).join(', ')}. Or name the format, for example: -f csv`,
  );
}

/**
 * Runs `work` with the output open. It is opened before anything is sent, so that a full disk or a wrong path costs
 * nothing; when `work` returns without a cut, everything is there and the file of `-o` appears; when it throws, what
 * arrived stays in `<file>.part`. What another run has left there gets another name. Throws `temporary` where another run is at
 * work on the file, what `work` throws, LocalIoError and UsageError.
 */
export async function withOutput<T>(
  context: Context,
  options: OutputOptions,
  printed: Printed,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  const file = fileOf(options);
  if (file === undefined || printed.lock !== undefined) {
    return await withOpened(context, options, printed, work);
  }
  return await withOutputLock(context, file, (lock) =>
    withOpened(context, options, { ...printed, lock }, work),
  );
}

/** Runs `work` as the one run that writes the file of -o, where there is one. Throws `temporary` where another one does. */
export async function withHeldOutput<T>(
  context: Context,
  options: RecordOptions & { readonly dryRun?: boolean },
  work: (lock: FolderLock | undefined) => Promise<T>,
): Promise<T> {
  const file = options.dryRun ? undefined : fileOf(options);
  return file === undefined ? await work(undefined) : await withOutputLock(context, file, work);
}

async function withOpened<T>(
  context: Context,
  options: OutputOptions,
  { shape, layout, lock, opening, settings }: Printed,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  const file = fileOf(options);
  const format = toFormat(options, context.stdout.isTerminal, settings.format);
  if (options.append && format !== 'csv' && format !== 'jsonl') {
    throw new UsageError('--append works only with jsonl and csv', 'Add -f jsonl or -f csv.');
  }
  const { warn } = createNotes(context, options);
  const chosen = toChosen(options, layout);
  const isForPeople = format === 'table' || format === 'cards';
  const onTerminal = file === undefined && context.stdout.isTerminal;
  // JSON is data: where no terminal shows it, FORCE_COLOR must not spoil it.
  const color =
    file === undefined && (onTerminal || isForPeople) && colorOf(context, context.stdout, options.color);
  const opened = await openRecords(context, {
    format,
    shape,
    layout: chosen?.layout ?? layout,
    file,
    append: options.append === true,
    opening,
    lock,
    csvRaw: options.csvRaw === true,
    width: widthOf(context),
    warn,
    color,
    onTerminal,
    links:
      isForPeople &&
      onTerminal &&
      color &&
      (await import('../messages/hyperlinks.ts')).hasHyperlinks(context),
  });
  const output = file === undefined && !context.stdout.isFile ? onScreen(context, options, opened) : opened;
  try {
    const result = await work(output);
    await output.finish();
    for (const line of chosen?.unfound() ?? []) warn(line);
    return result;
  } catch (error) {
    await output.cut();
    throw error;
  }
}

/** The same output, on whose lines nothing is drawn. */
function onScreen(
  context: Context,
  options: OutputOptions,
  opened: Awaited<ReturnType<typeof openRecords>>,
): Delivery {
  const status = openStatusLine(context, options);

  async function apart<T>(work: () => Promise<T>): Promise<T> {
    // What reads a pipe may print to this terminal, now or later.
    if (!context.stdout.isTerminal) status.hush();
    status.hold();
    try {
      return await work();
    } finally {
      if (opened.isInLine) status.hush();
      status.release();
    }
  }
  return {
    file: opened.file,
    get length() {
      return opened.length;
    },
    async write(records) {
      await apart(() => opened.write(records));
      if (records.length > 0 && context.stdout.isTerminal && context.stderr.isTerminal) status.wrote();
    },
    sync: opened.sync,
    finish: (placing) => apart(() => opened.finish(placing)),
    cut: () => apart(opened.cut),
  };
}

/** Prints what this machine knows already. */
export async function printRecords(
  context: Context,
  options: OutputOptions,
  printed: Printed,
  records: readonly object[],
): Promise<void> {
  await withOutput(context, options, printed, (output) =>
    output.write(records.map((record) => JSON.stringify(record))),
  );
}

/** The file of `-o`; `-o -` is standard output, as everywhere. */
export function fileOf({ output }: RecordOptions): string | undefined {
  return output === '-' ? undefined : output;
}

/** A table in a pipe takes the width that the shell exports, if it does. */
function widthOf(context: Context): number | undefined {
  const exported = Number(context.env.COLUMNS);
  return context.stdout.columns ?? (exported > 0 ? exported : undefined);
}
