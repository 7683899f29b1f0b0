import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import type { FolderLock } from '../files/folder-lock.ts';
import type { Opening } from '../files/target.ts';
import type { Records } from '../json/text.ts';
import type { Layout, LayoutOf } from './layout.ts';
import { createStreamSink } from './sink.ts';
import { createForm, type Format, type WriterForm, type WriterOptions, writePieces } from './writer.ts';

/** Where records go, and in which form. */
interface RecordOptions extends Omit<WriterOptions, 'layout' | 'continued' | 'lineEnd' | 'styles'> {
  readonly format: Format;
  /** A function where the columns depend on the first records. */
  readonly layout: Layout | LayoutOf;
  /** Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether rows are added to the file. */
  readonly append: boolean;
  /** Whether a file stays as it is when there are no records. */
  readonly keepsFile?: boolean | undefined;
  readonly opening?: Opening | undefined;
  readonly lock?: FolderLock | undefined;
  /** Prints what the format has no room for. */
  readonly warn: (line: string) => void;
}

/** Opens an output for records: the port of operations/delivery.ts, where each member is described. Throws LocalIoError and UsageError. */
export async function openRecords(
  context: Pick<Context, 'stdout' | 'signal' | 'clock'>,
  options: RecordOptions,
) {
  const { file, layout } = options;
  const sink =
    file === undefined
      ? createStreamSink(context.stdout.stream, context.signal)
      : await openFile(context, file, options);
  let isInLine = false;
  let isOpen = true;
  let written = false;
  // Only of complete writes: the rows of an incomplete one are written again by whoever resumes the output.
  let { length } = sink;
  const formOf = (known: Layout): Promise<WriterForm> =>
    createForm(options.format, {
      ...options,
      layout: known,
      continued: sink.continued,
      lineEnd: sink.lineEnd,
    });
  let form = typeof layout === 'function' ? undefined : await formOf(layout);
  const formFor = async (records: Records): Promise<WriterForm> => {
    if (typeof layout === 'function') form ??= await formOf(await layout([...records], context.signal));
    return form as WriterForm;
  };
  const write = async (text: string): Promise<void> => {
    if (text === '') return;
    isInLine = !text.endsWith('\n');
    await sink.write(text);
  };
  const sync = async (): Promise<number | undefined> => {
    await sink.sync();
    return length;
  };
  return {
    file,
    get length() {
      return length;
    },
    /** Whether the last write ended inside a line. */
    get isInLine() {
      return isInLine;
    },
    async write(records: Records): Promise<void> {
      if (!written && typeof layout !== 'function') await layout.learn?.([...records], context.signal);
      written = true;
      const { lines } = await formFor(records);
      if (records.length > 0) await writePieces(write, lines(records), context.signal);
      length = sink.length;
    },
    sync,
    /** The two functions of `placing` are those of the port. */
    async finish(
      placing: {
        readonly written?: (length: number | undefined) => Promise<void>;
        readonly adding?: (addition: Addition) => Promise<void>;
      } = {},
    ): Promise<void> {
      if (!isOpen) return;
      if (options.keepsFile && !written && sink.replaces) {
        isOpen = false;
        await sink.abandon(true);
        return options.warn(`${file} was left as it was, because this run brought nothing`);
      }
      await write((await formFor([])).end?.() ?? '');
      length = sink.length;
      await placing.written?.(await sync());
      isOpen = false;
      await sink.commit(placing.adding);
    },
    async cut(): Promise<string | undefined> {
      if (!isOpen) return undefined;
      isOpen = false;
      // What arrived becomes a valid file; without records there is none. A full disk or a reader that went away has been reported already.
      if (written) await write(form?.end?.() ?? '').catch(() => undefined);
      return await sink.abandon();
    },
  };
}

async function openFile(
  waiting: Pick<Context, 'signal' | 'clock'>,
  file: string,
  { append, csvRaw, format, layout, lock, opening, warn }: RecordOptions,
) {
  // Loaded before anything is sent.
  const { createFileSink } = await import('./file-sink.ts');
  const make =
    format === 'xlsx' ? (await import('./workbook.ts')).toWorkbook(waiting.signal, warn) : undefined;
  const options = { lock, make, opening, waiting, warn };
  if (!append) return await createFileSink(file, options);
  if (format !== 'csv') return await createFileSink(file, { ...options, append: { format } });
  if (typeof layout === 'function') {
    // If this was found after the answer, rows that are paid for would have no place.
    throw new UsageError(
      'the columns are not known before the rows arrive: to append to CSV, name the columns',
      { is: 'columns_unknown' },
    );
  }
  const header = (await import('./csv.ts')).csvHeader(layout.columns, csvRaw ?? false);
  return await createFileSink(file, { ...options, append: { format, header } });
}
