import { chosenLayout } from '../columns/columns.ts';
import type { Layout, LayoutOf } from '../columns/layout.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import type { Opening } from '../files/target.ts';
import type { Records } from '../json/text.ts';
import type { WriterForm, WriterOptions } from './form.ts';
import { createStreamSink } from './sink.ts';
import { createForm, type Format, writePieces } from './writer.ts';

/** Where records go, and in which form. */
interface RecordsOutput extends Omit<WriterOptions, 'layout' | 'continued' | 'lineEnd'> {
  readonly format: Format;
  /** A function where the columns depend on the first records. */
  readonly layout: Layout | LayoutOf;
  /** The columns that the user chose: names, or headers with their names. */
  readonly columns?: readonly string[] | undefined;
  /** Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether rows are added to the file. */
  readonly append?: boolean;
  readonly opening?: Opening | undefined;
  /** Whether a file that rows are added to must have the same delimiter. */
  readonly isDelimiterFixed?: boolean | undefined;
  /** Whether the file must be a new one. */
  readonly isNew?: boolean | undefined;
  /** The lock of the file. */
  readonly lock: HeldLock;
  /** Gets the chosen names that no record had, if there are any, and the names of the columns. */
  readonly unfound?: (names: readonly string[], columns: readonly string[]) => void;
  /** Called when the file is in its place. */
  readonly placed?: () => void;
  /** Gets the number of cells that were changed so that no spreadsheet runs them, if there are any, when the file is in its place. */
  readonly guarded?: (cells: number) => void;
  /** Prints what the format has no room for. */
  readonly warn: (line: string) => void;
}

/** Opens an output for records: the port of operations/delivery.ts, where each member is described. Throws LocalIoError and UsageError. */
export async function openRecords(
  context: Pick<Context, 'stdout' | 'signal' | 'clock'>,
  options: RecordsOutput,
) {
  const { columns, file, format, layout, warn } = options;
  const { signal, stdout } = context;
  const sink =
    file === undefined ? createStreamSink(stdout.stream, signal) : await openFile(context, file, options);
  if (file === undefined) await stdout.watchReader?.();
  const found = new Map<string, boolean>();
  let names: readonly string[] = [];
  let isOpen = true;
  let written = false;
  // Only of complete writes: the rows of an incomplete one are written again by the run that resumes the output.
  let { length } = sink;
  let form: WriterForm | undefined;
  const formFor = async (records: Records): Promise<WriterForm> => {
    if (form !== undefined) return form;
    const defaultLayout = typeof layout === 'function' ? await layout([...records], signal) : layout;
    const { continued, lineEnd } = sink;
    const delimiter = sink.delimiter ?? options.delimiter;
    names = defaultLayout.columns.map(({ header }) => header);
    const known = columns === undefined ? defaultLayout : await chosenOf(columns, defaultLayout, found);
    form = await createForm(format, { ...options, layout: known, continued, lineEnd, delimiter });
    return form;
  };
  // Loaded before anything is sent, if that can be done.
  if (typeof layout !== 'function') await formFor([]);
  let kept: string | undefined;
  const writeEnd = (end = ''): Promise<void> => writePieces(sink.write, [end]);
  const sync = async (): Promise<number | undefined> => {
    await sink.sync();
    return length;
  };
  return {
    file,
    note: sink.note,
    get length() {
      return length;
    },
    async write(records: Records): Promise<void> {
      written = true;
      const { lines } = await formFor(records);
      if (records.length > 0) await writePieces(sink.write, lines(records), signal);
      length = sink.length;
    },
    sync,
    /** The members of `placing` are those of the port. */
    async finish(
      placing: {
        readonly isPartial?: boolean;
        readonly written?: (length: number | undefined) => Promise<void>;
        readonly adding?: (addition: Addition) => Promise<void>;
      } = {},
    ): Promise<void> {
      if (!isOpen) return;
      if (placing.isPartial && !written && sink.replaces) {
        isOpen = false;
        await sink.abandon(true);
        return warn(`${file} was left as it was, because this run brought nothing`);
      }
      await writeEnd((await formFor([])).end?.());
      length = sink.length;
      await placing.written?.(await sync());
      isOpen = false;
      await sink.commit(placing.adding);
      if (length !== undefined) options.placed?.();
      const guarded = form?.guardedCells?.() ?? 0;
      if (guarded > 0) options.guarded?.(guarded);
      const unfound = [...found].filter(([, isFound]) => !isFound).map(([name]) => name);
      if (unfound.length > 0) options.unfound?.(unfound, names);
    },
    async cut(): Promise<string | undefined> {
      if (!isOpen) return kept;
      isOpen = false;
      // What arrived becomes a valid file; without records there is none. A full disk or a reader that went away has been reported already.
      if (written) await writeEnd(form?.end?.()).catch(() => undefined);
      kept = await sink.abandon();
      return kept;
    },
  };
}

async function chosenOf(
  columns: readonly string[],
  layout: Layout,
  found: Map<string, boolean>,
): Promise<Layout> {
  const { shownColumns } = await import('./table-columns.ts');
  return chosenLayout(columns, layout, shownColumns(layout), found);
}

async function openFile(
  waiting: Pick<Context, 'signal' | 'clock'>,
  file: string,
  { append, columns, csvRaw = false, format, isNew, layout, lock, opening, warn, ...options }: RecordsOutput,
) {
  // Loaded before anything is sent.
  const { createFileSink } = await import('./file-sink.ts');
  const make = await toMaking(format, waiting.signal, warn);
  const sinkOptions = { isNew, lock, make, opening, waiting, warn };
  if (!append) return await createFileSink(file, sinkOptions);
  if (format === 'sqlite')
    return await createFileSink(file, { ...sinkOptions, append: { isDatabase: true } });
  if (format !== 'csv') return await createFileSink(file, { ...sinkOptions, append: {} });
  const own = typeof layout === 'function' ? undefined : layout;
  const known = columns === undefined ? layout : chosenLayout(columns, own);
  if (typeof known === 'function') {
    // If this was found after the answer, rows that are paid for would have no place.
    throw new UsageError(
      'the columns are not known before the rows arrive: to append to CSV, name the columns',
      { is: 'columns_unknown' },
    );
  }
  const header = (await import('./csv.ts')).csvHeader(known.columns, csvRaw);
  const delimiter = options.isDelimiterFixed ? options.delimiter : undefined;
  return await createFileSink(file, { ...sinkOptions, append: { header, delimiter } });
}

/** How a file is made from its rows; undefined for a format that is written row by row. */
async function toMaking(format: Format, signal: AbortSignal, warn: (line: string) => void) {
  if (format === 'xlsx') return (await import('./workbook.ts')).toWorkbook(signal, warn);
  return format === 'sqlite' ? (await import('./database-part.ts')).toDatabase(signal) : undefined;
}
