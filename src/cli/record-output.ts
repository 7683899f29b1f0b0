import { extname } from 'node:path';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { type Layout, type LayoutOf, pathLayout } from '../output/columns.ts';
import type { FileSink, Resumed } from '../output/open-file.ts';
import { createStreamSink, type Sink } from '../output/sink.ts';
import { arrayEnd, createWriter, type Format, type RecordWriter } from '../output/writer.ts';
import { colorOf } from './color.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';

/** What a command prints: records in rows or one answer, and how they are laid out where --columns does not say. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  /** Of the profile, which may prefer a format. */
  readonly settings: { readonly format?: Format };
  /** The file of an earlier run that this one goes on with. */
  readonly resumed?: Resumed;
}

/** The output of one command, while it runs. */
export interface RecordOutput {
  /** The file of `-o`, as the user named it; undefined for standard output. */
  readonly file: string | undefined;
  /** Whether rows appear on a terminal. */
  readonly onTerminal: boolean;
  /** Resolves when the output can take more. */
  write(records: readonly JsonText[]): Promise<void>;
  /** Bytes of whole writes in the file so far; undefined where it has no length. */
  readonly length: number | undefined;
  /** To be called when all rows of the earlier run have been written again: what else stands behind them is not ours. */
  settle(): Promise<void>;
  /** Resolves when everything written is on the disk; returns the bytes of whole writes in the file, undefined where it has no length. */
  sync(): Promise<number | undefined>;
  /**
   * Everything that will ever be there has been written: the file of `-o` appears, also when the run then fails.
   * `counted` is awaited before that, with the file's length, once every byte is on the disk.
   */
  finish(counted?: (length: number | undefined) => Promise<void>): Promise<void>;
  /** There should have been more: closes the output. Returns the file that holds what arrived, if one does. */
  cut(): Promise<string | undefined>;
}

const extensions: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'json',
};

type OutputOptions = RecordOptions & Pick<ConnectionOptions, 'color'>;

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
 * arrived stays in `<file>.part`. Throws what `work` throws, LocalIoError and UsageError.
 */
export async function withOutput<T>(
  context: Context,
  options: OutputOptions,
  { shape, layout: wanted, settings, resumed }: Printed,
  work: (output: RecordOutput) => Promise<T>,
): Promise<T> {
  const format = toFormat(options, context.stdout.isTerminal, settings.format);
  const file = fileOf(options);
  const layout = toChosenLayout(options) ?? wanted;
  const fileSink =
    file === undefined ? undefined : await openFile(context, file, options, format, layout, resumed);
  const sink: Sink = fileSink ?? createStreamSink(context.stdout.stream, context.signal);
  const onTerminal = fileSink === undefined && context.stdout.isTerminal;
  const writerOf = (known: Layout): Promise<RecordWriter> =>
    createWriter(format, sink, {
      layout: known,
      shape,
      width: widthOf(context),
      color: onTerminal && colorOf(context, context.stdout, options.color),
      csvRaw: options.csvRaw === true,
      signal: context.signal,
      ...(fileSink === undefined ? {} : { continued: fileSink.continued, lineEnd: fileSink.lineEnd }),
    });
  let writer = typeof layout === 'function' ? undefined : await writerOf(layout);
  const writerFor = async (records: readonly JsonText[]): Promise<RecordWriter> => {
    writer ??= await writerOf(typeof layout === 'function' ? await layout(records, context.signal) : layout);
    return writer;
  };
  let open = true;
  let written = false;
  // Of whole writes. The rows of one that was stopped half-way are not counted: whoever goes on with the file writes them again.
  let length = fileSink?.length;
  const cut = async (): Promise<string | undefined> => {
    if (!open) return undefined;
    open = false;
    // What arrived should be a valid file, and nothing should leave none; a disk that is full or a reader that is gone is reported already.
    if (written) await writer?.end().catch(() => undefined);
    return await fileSink?.abandon();
  };
  const sync = async (): Promise<number | undefined> => {
    await fileSink?.sync();
    return length;
  };
  const finish = async (counted?: (length: number | undefined) => Promise<void>): Promise<void> => {
    if (!open) return;
    await (await writerFor([])).end();
    length = fileSink?.length;
    await counted?.(await sync());
    open = false;
    await fileSink?.commit();
  };
  try {
    const write = async (records: readonly JsonText[]): Promise<void> => {
      written = true;
      await (await writerFor(records)).write(records);
      length = fileSink?.length;
    };
    const result = await work({
      file,
      onTerminal,
      get length() {
        return length;
      },
      write,
      async settle() {
        await fileSink?.settle();
        length = fileSink?.length;
      },
      sync,
      finish,
      cut,
    });
    await finish();
    return result;
  } catch (error) {
    await cut();
    throw error;
  }
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

async function openFile(
  context: Context,
  file: string,
  { append, csvRaw }: RecordOptions,
  format: Format,
  layout: Layout | LayoutOf,
  resumed: Resumed | undefined,
): Promise<FileSink> {
  const { createFileSink } = await import('../output/file-sink.ts');
  const options = { resumed, waiting: context };
  if (!append)
    return await createFileSink(file, { ...options, ...(format === 'json' ? { closing: arrayEnd } : {}) });
  if (typeof layout === 'function') {
    if (format !== 'csv') return await createFileSink(file, { ...options, append: { format } });
    // Found out after the answer, another header would mean that rows which are paid for have no place.
    throw new UsageError(
      'the columns of these rows are known only when they arrive: to append them to CSV, name them with --columns',
    );
  }
  const { csvHeader } = await import('../output/csv-cell.ts');
  const header = csvHeader(layout.columns, csvRaw === true);
  return await createFileSink(file, { ...options, append: { format, header } });
}

/** Of --columns. Throws UsageError. */
function toChosenLayout({ columns }: RecordOptions): Layout | undefined {
  return columns === undefined ? undefined : pathLayout(columns.flatMap((one) => one.split(',')));
}

/** `-o -` is standard output, as everywhere. */
function fileOf(options: RecordOptions): string | undefined {
  return options.output === '-' ? undefined : options.output;
}

/** A table in a pipe takes the width that the shell exports, if it does. */
function widthOf(context: Context): number | undefined {
  const exported = Number(context.env.COLUMNS);
  return context.stdout.columns ?? (exported > 0 ? exported : undefined);
}
