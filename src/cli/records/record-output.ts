import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { holdingOutput } from '../../operations/held-output.ts';
import { type Layout, type LayoutOf, pathLayout } from '../../output/columns.ts';
import type { Resumed } from '../../output/open-file.ts';
import { openRecords } from '../../output/records.ts';
import type { Format } from '../../output/writer.ts';
import { colorOf } from '../messages/color.ts';
import { createNotes } from '../messages/notes.ts';
import { openStatusLine } from '../messages/status-line.ts';
import type { RecordOptions, ReportOptions } from '../options/options.ts';

/** What a command prints: records in rows or one answer, and how they are laid out where --columns does not say. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  /** Of the profile, which may prefer a format. */
  readonly settings: { readonly format?: Format };
  /** The file of an earlier run that this one goes on with. */
  readonly resumed?: Resumed | undefined;
  /** Whether this run has made sure already that no other writes the file. */
  readonly held?: boolean;
}

const extensions: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
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
  const byExtension = file === undefined ? undefined : extensions[extname(file).toLowerCase()];
  return byExtension ?? preferred ?? (file === undefined && stdoutIsTerminal ? 'table' : 'jsonl');
}

/** Throws UsageError for options that contradict each other; nothing is opened. */
export function checkRecordOptions(options: RecordOptions): void {
  if (options.append && fileOf(options) === undefined) {
    throw new UsageError('--append needs the file of -o', 'Name it: -o leads.csv --append.');
  }
  toChosenLayout(options);
}

/**
 * Runs `work` with the output open. It is opened before anything is sent, so that a full disk or a wrong path costs
 * nothing; when `work` returns without a cut, everything is there and the file of `-o` appears; when it throws, what
 * arrived stays in `<file>.part`. What another run has left there is put aside. Throws `temporary` where another run is at
 * work on the file, what `work` throws, LocalIoError and UsageError.
 */
export async function withOutput<T>(
  context: Context,
  options: OutputOptions,
  printed: Printed,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  const file = fileOf(options);
  // Runs that add rows to one file may do so side by side.
  if (file === undefined || options.append || printed.held) {
    return await withOpened(context, options, printed, work);
  }
  return await holdingOutput(context, file, () => withOpened(context, options, printed, work));
}

async function withOpened<T>(
  context: Context,
  options: OutputOptions,
  { shape, layout, settings, resumed }: Printed,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  const file = fileOf(options);
  const format = toFormat(options, context.stdout.isTerminal, settings.format);
  if (options.append && format !== 'csv' && format !== 'jsonl') {
    throw new UsageError('--append goes with jsonl and csv', 'give -f jsonl or -f csv');
  }
  const onTerminal = file === undefined && context.stdout.isTerminal;
  // JSON is data: where no terminal shows it, FORCE_COLOR must not spoil it.
  const color =
    file === undefined &&
    (onTerminal || format === 'table') &&
    colorOf(context, context.stdout, options.color);
  const opened = await openRecords(context, {
    format,
    shape,
    layout: toChosenLayout(options) ?? layout,
    file,
    append: options.append === true,
    resumed,
    aside: createNotes(context, options).warn,
    csvRaw: options.csvRaw === true,
    width: widthOf(context),
    color,
    onTerminal,
    links:
      format === 'table' &&
      onTerminal &&
      color &&
      (await import('../messages/hyperlinks.ts')).hasHyperlinks(context),
  });
  const output = file === undefined && !context.stdout.isFile ? onScreen(context, options, opened) : opened;
  try {
    const result = await work(output);
    await output.finish();
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

  async function aside<T>(work: () => Promise<T>): Promise<T> {
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
    write: (records) => aside(() => opened.write(records)),
    settle: opened.settle,
    sync: opened.sync,
    finish: (counted) => aside(() => opened.finish(counted)),
    cut: () => aside(opened.cut),
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

/** Of --columns. Throws UsageError. */
function toChosenLayout({ columns }: RecordOptions): Layout | undefined {
  if (columns === undefined) return undefined;
  const paths = columns.flatMap((one) => one.split(',')).map((path) => path.trim());
  if (!paths.includes('')) return pathLayout(paths);
  throw new UsageError(
    '--columns has an empty name',
    'give dot paths, as in --columns name,score.score,links.website',
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
