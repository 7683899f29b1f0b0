import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import type { FolderLock } from '../files/folder-lock.ts';
import type { Records } from '../json/text.ts';
import type { Make } from './file-sink.ts';
import type { Layout, LayoutOf } from './layout.ts';
import type { Opening } from './part-file.ts';
import { createStreamSink, type FileSink, type Sink } from './sink.ts';
import { createWriter, type Format, type RecordWriter } from './writer.ts';

const lineEnd = 0x0a;

/** Where records go, and how they look there. */
export interface RecordOptions {
  readonly format: Format;
  readonly shape: 'list' | 'single';
  /** A function where the columns are known only with the first records. */
  readonly layout: Layout | LayoutOf;
  /** Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether rows are added to those that the file has. */
  readonly append: boolean;
  /** Whether a file stays as it is when no record comes. */
  readonly keepsFile?: boolean | undefined;
  /** As in `FileSinkOptions`. */
  readonly opening?: Opening | undefined;
  readonly lock?: FolderLock | undefined;
  /** CSV as it came: formulas and control characters too. */
  readonly csvRaw: boolean;
  /** Columns of the terminal; undefined where there is none. */
  readonly width: number | undefined;
  readonly color: boolean;
  /** Prints what the format could not take. */
  readonly warn: (line: string) => void;
  readonly onTerminal?: boolean;
  readonly links?: boolean;
}

/** As in the port. */
interface Placing {
  readonly written?: (length: number | undefined) => Promise<void>;
  readonly adding?: (addition: Addition) => Promise<void>;
}

/**
 * Opens what records are written to: the port of operations/delivery.ts, which says what each member does. Throws
 * LocalIoError and UsageError.
 */
export async function openRecords(
  context: Pick<Context, 'stdout' | 'signal' | 'clock' | 'random'>,
  options: RecordOptions,
) {
  const { file, layout } = options;
  const fileSink = file === undefined ? undefined : await openFile(context, file, options);
  const stream: Sink = fileSink ?? createStreamSink(context.stdout.stream, context.signal);
  let isInLine = false;
  const sink: Sink = {
    async write(text) {
      if (text.length > 0) isInLine = text.at(-1) !== (typeof text === 'string' ? '\n' : lineEnd);
      await stream.write(text);
    },
  };
  const writerOf = (known: Layout): Promise<RecordWriter> =>
    createWriter(options.format, sink, {
      ...options,
      layout: known,
      signal: context.signal,
      ...(fileSink === undefined ? {} : { continued: fileSink.continued, lineEnd: fileSink.lineEnd }),
    });
  let writer = typeof layout === 'function' ? undefined : await writerOf(layout);
  const writerFor = async (records: Records): Promise<RecordWriter> => {
    writer ??= await writerOf(
      typeof layout === 'function' ? await layout([...records], context.signal) : layout,
    );
    return writer;
  };
  let isOpen = true;
  let written = false;
  // Of whole writes. The rows of one that was stopped half-way are not counted: whoever goes on with the file writes them again.
  let length = fileSink?.length;
  const sync = async (): Promise<number | undefined> => {
    await fileSink?.sync();
    return length;
  };
  return {
    file,
    get length() {
      return length;
    },
    /** Whether what was written last ends inside a line. */
    get isInLine() {
      return isInLine;
    },
    async write(records: Records): Promise<void> {
      if (!written && typeof layout !== 'function') await layout.learn?.([...records], context.signal);
      written = true;
      await (await writerFor(records)).write(records);
      length = fileSink?.length;
    },
    sync,
    async finish(placing: Placing = {}): Promise<void> {
      if (!isOpen) return;
      if (options.keepsFile && !written && fileSink?.replaces) {
        isOpen = false;
        await fileSink.discard();
        return options.warn(`${file} was left as it was, because this run brought nothing`);
      }
      await (await writerFor([])).end();
      length = fileSink?.length;
      await placing.written?.(await sync());
      isOpen = false;
      await fileSink?.commit(placing.adding);
    },
    async cut(): Promise<string | undefined> {
      if (!isOpen) return undefined;
      isOpen = false;
      // What arrived should be a valid file, and nothing should leave none; a disk that is full or a reader that is gone is reported already.
      if (written) await writer?.end().catch(() => undefined);
      return await fileSink?.abandon();
    },
  };
}

/**
 * What makes the file of a format that can't be written row by row; undefined for the others. It is loaded before anything is
 * sent. `warn` prints what did not fit.
 */
async function toMake(
  format: Format,
  signal: AbortSignal,
  warn: (line: string) => void,
): Promise<Make | undefined> {
  if (format !== 'xlsx') return undefined;
  const [{ writeWorkbook }, { readWorkbookRows }] = await Promise.all([
    import('./workbook.ts'),
    import('./workbook-rows.ts'),
  ]);
  return async (part, write) => {
    const unfit = await writeWorkbook(readWorkbookRows(part), write, { signal });
    if (unfit.cells > 0) {
      warn(
        `a cell of a workbook holds up to 32767 characters: longer texts were cut (${unfit.cells}); csv and jsonl keep them whole`,
      );
    }
    if (unfit.columns > 0) {
      warn(
        `a workbook has up to 16384 columns: ${unfit.columns} were left out; csv and jsonl keep all of them`,
      );
    }
  };
}

async function openFile(
  waiting: Pick<Context, 'signal' | 'clock' | 'random'>,
  file: string,
  { append, csvRaw, format, layout, lock, opening, warn }: RecordOptions,
): Promise<FileSink> {
  const { createFileSink } = await import('./file-sink.ts');
  const make = await toMake(format, waiting.signal, warn);
  const options = { lock, make, opening, waiting, warn };
  if (!append) return await createFileSink(file, options);
  if (typeof layout === 'function') {
    if (format !== 'csv') return await createFileSink(file, { ...options, append: { format } });
    // Found out after the answer, another header would mean that rows which are paid for have no place.
    throw new UsageError(
      'the columns are not known before the rows arrive: to append to CSV, name the columns',
      { is: 'columns_unknown' },
    );
  }
  const { csvHeader } = await import('./csv.ts');
  const header = csvHeader(layout.columns, csvRaw);
  return await createFileSink(file, { ...options, append: { format, header } });
}
