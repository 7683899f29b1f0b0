import { chosenLayout } from '../columns/columns.ts';
import type { Layout, LayoutOf } from '../columns/layout.ts';
import type { Context, StoreContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Announce } from '../files/own-file.ts';
import { checkNotOwn } from '../files/target.ts';
import type { Records } from '../json/text.ts';
import type { Appending } from './append.ts';
import type { Placing } from './file-sink.ts';
import type { WriterForm, WriterOptions } from './form.ts';
import { createStreamSink } from './sink.ts';
import { createForm, type Format, writePieces } from './writer.ts';

/** The destination and format of records; made from the options before anything is opened. */
export interface OutputPlan extends Omit<WriterOptions, 'layout' | 'lineEnd'> {
  readonly format: Format;
  /** A function where the columns depend on the first records. */
  readonly layout: Layout | LayoutOf;
  /** The columns that the user chose: names, or headers with their names. */
  readonly columns?: readonly string[] | undefined;
  /** Undefined for standard output. */
  readonly file: string | undefined;
  /** Whether rows are added to the file. */
  readonly append: boolean;
  /** Whether a file that rows are added to must have the same delimiter. */
  readonly isDelimiterFixed: boolean;
  /** Whether the file must be a new one. */
  readonly isNew: boolean;
}

type OpenContext = StoreContext & Pick<Context, 'stdout' | 'signal'>;

/** Facts about a complete output, for messages. */
export interface Finished {
  /** The real path of its file, if it was put in place. */
  readonly target?: string | undefined;
  readonly warnings: readonly string[];
  /** Whether it has replaced a file that was not empty. */
  readonly isReplaced: boolean;
  /** How many cells were changed so that no spreadsheet runs them. */
  readonly guardedCells: number;
  /** The chosen names that no record had, and the names of the columns. */
  readonly unfound: readonly string[];
  readonly headers: readonly string[];
}

/**
 * Opens an output for records; operations/delivery.ts describes its members. `announce` is awaited before a file is made. Throws LocalIoError
 * and UsageError.
 */
export async function openRows(context: OpenContext, plan: OutputPlan, announce: Announce) {
  const { columns, file, format, layout } = plan;
  const { signal, stdout } = context;
  const sink =
    file === undefined
      ? createStreamSink(stdout.stream, signal)
      : await openFile(context, file, plan, announce);
  if (file === undefined) await stdout.watchReader?.();
  const found = new Map<string, boolean>();
  let headers: readonly string[] = [];
  let isOpen = true;
  let written = false;
  let form: WriterForm | undefined;
  const formFor = async (records: Records): Promise<WriterForm> => {
    if (form !== undefined) return form;
    const defaultLayout = typeof layout === 'function' ? await layout([...records], signal) : layout;
    const { lineEnd } = sink;
    const delimiter = sink.delimiter ?? plan.delimiter;
    headers = defaultLayout.columns.map(({ header }) => header);
    const known = columns === undefined ? defaultLayout : await chosenOf(columns, defaultLayout, found);
    form = await createForm(format, { ...plan, layout: known, lineEnd, delimiter });
    return form;
  };
  // If the layout is known, load the format before anything is sent.
  if (typeof layout !== 'function') await formFor([]);
  let kept: string | undefined;
  const writeEnd = (end = ''): Promise<void> => writePieces(sink.write, [end]);
  return {
    file,
    isPipe: sink.isPipe,
    async write(records: Records): Promise<void> {
      written = true;
      const { lines } = await formFor(records);
      if (records.length > 0) await writePieces(sink.write, lines(records), signal);
    },
    async finish(isPartial = false, placing: Placing = async () => {}): Promise<Finished> {
      isOpen = false;
      const nothing = { warnings: [], isReplaced: false, guardedCells: 0, unfound: [], headers };
      if (isPartial && !written && sink.replaces) {
        await sink.abandon(true);
        return { ...nothing, warnings: [`${file} was not changed, because this run received no records`] };
      }
      try {
        await writeEnd((await formFor([])).end?.());
      } catch (error) {
        isOpen = true;
        throw error;
      }
      const placed = await sink.commit(placing).catch(async (error) => {
        kept = await sink.abandon();
        throw error;
      });
      const unfound = [...found].filter(([, isFound]) => !isFound).map(([name]) => name);
      return {
        ...nothing,
        ...placed,
        guardedCells: form?.guardedCells?.() ?? 0,
        unfound,
        headers,
        isReplaced: sink.replaces,
      };
    },
    async cut(): Promise<string | undefined> {
      if (!isOpen) return kept;
      isOpen = false;
      // Completes the text, so that the file is valid. A full disk or a closed reader has already been reported.
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

async function openFile(context: OpenContext, file: string, plan: OutputPlan, announce: Announce) {
  const { append, format, isNew } = plan;
  await checkNotOwn(context, file);
  // Loaded before anything is sent.
  const { createFileSink } = await import('./file-sink.ts');
  const make = append ? undefined : await toMaking(context, format);
  const appending = append ? await toAppending(context, file, plan) : undefined;
  return await createFileSink(file, context, { isNew, make, append: appending, announce });
}

/** How a file is made from its rows; undefined for a format that is written row by row. */
async function toMaking({ directories, signal }: OpenContext, format: Format) {
  if (format === 'xlsx') return (await import('./workbook.ts')).toWorkbook(signal);
  if (format !== 'sqlite') return undefined;
  return (await import('./database-part.ts')).toDatabase(directories.state, signal);
}

/** How rows are added to a file of this format. Throws UsageError where its columns can't be known yet. */
async function toAppending(
  { directories }: OpenContext,
  path: string,
  { columns, csvRaw = false, delimiter, format, isDelimiterFixed, layout }: OutputPlan,
): Promise<(target: string) => Promise<Appending>> {
  if (format === 'sqlite') {
    const { openDatabaseAppending } = await import('./database-part.ts');
    return (target) => openDatabaseAppending(target, path, directories.state);
  }
  const { openAppending } = await import('./append.ts');
  if (format !== 'csv') return (target) => openAppending(target, path, {});
  const own = typeof layout === 'function' ? undefined : layout;
  const known = columns === undefined ? layout : chosenLayout(columns, own);
  if (typeof known === 'function') {
    // Checked now: after the answer, rows that are paid for could not be written.
    throw new UsageError(
      'the columns are not known before the rows arrive: to append to CSV, name the columns',
      { is: 'columns_unknown' },
    );
  }
  const header = (await import('./csv.ts')).csvHeader(known.columns, csvRaw);
  const wanted = isDelimiterFixed ? delimiter : undefined;
  return (target) => openAppending(target, path, { header, delimiter: wanted });
}
