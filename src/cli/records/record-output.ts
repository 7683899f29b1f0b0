import { toZonedTime, type Zone } from '../../clock.ts';
import { headersOf } from '../../columns/columns.ts';
import type { Layout, Printed, TableColumn } from '../../columns/layout.ts';
import { readProfile } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import type { JsonView } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { toSigns } from '../../output/ascii.ts';
import { colorOf, stylesOf } from '../../output/color.ts';
import type { WriterOptions } from '../../output/form.ts';
import { type OutputPlan, openRows } from '../../output/open-rows.ts';
import { readable } from '../../output/readable.ts';
import type { Format } from '../../output/writer.ts';
import { createNotes, openStatusLine } from '../messages/status-line.ts';
import {
  checkPositions,
  fileOf,
  type RecordOptions,
  toDelimiter,
  toFormat,
  toFormatNote,
  toGuardedNote,
  toNames,
} from '../options/record-options.ts';
import type { ReportOptions } from '../options/shared-options.ts';

/** The output of a command; its layout is that without --columns. */
export interface PrintedOutput extends Printed {
  /** The settings, which may set a format; by default those of the profile in use. */
  readonly settings?: { readonly format?: Format };
  /** The delimiter and byte order mark of a CSV file, if the options don't set them. */
  readonly csv?: Pick<WriterOptions, 'delimiter' | 'mark'> | undefined;
  /** The purchase whose records these are, if they can be printed again. */
  readonly operationId?: string | undefined;
  /** Whether the file must be a new one: none is replaced. */
  readonly isNew?: boolean;
}

type OutputOptions = RecordOptions & ReportOptions;

/** As `checkChosenColumns`, which most runs don't load, since they choose no columns. */
export async function checkColumns(options: RecordOptions, layout: Printed['layout']): Promise<void> {
  if (options.columns === undefined) return;
  const { checkChosenColumns } = await import('./chosen-columns.ts');
  checkChosenColumns(options.columns, layout);
}

/**
 * Runs `work` with the output open. It is opened before anything is sent, so that a full disk or a wrong path costs nothing. If `work`
 * returns, the file of `-o` appears; if it throws, the rows stay in a temporary file. Throws what `work` throws, LocalIoError, UsageError.
 */
export async function withOutput<T>(
  context: Context,
  options: OutputOptions,
  printed: PrintedOutput,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  await checkColumns(options, printed.layout);
  const output = await openOutput(context, options, printed);
  try {
    const result = await work(output);
    await output.finish();
    return result;
  } finally {
    await output.cut();
  }
}

/** Opens the output. `announce` is awaited before a file is made. Throws LocalIoError and UsageError. */
export async function openOutput(
  context: Context,
  options: OutputOptions,
  printed: PrintedOutput,
  announce: (file: string) => Promise<void> = async () => {},
): Promise<Delivery> {
  const settings = printed.settings ?? (await readProfile(context, undefined)).settings;
  const plan = toOutputPlan(context, options, printed, settings.format);
  if (plan.file !== undefined) (await import('../run-facts.ts')).recordOutput(context, plan.file);
  const opened = await openRows(context, plan, announce);
  const { say, warn } = createNotes(context, options);
  let finished: Promise<string | undefined> | undefined;

  /** Finishes the output. Notes about it come after its last byte. */
  async function finish(...placing: Parameters<Delivery['finish']>): Promise<string | undefined> {
    const { guardedCells, headers, isReplaced, target, unfound, warnings } = await opened.finish(...placing);
    if (isReplaced) (await import('../run-facts.ts')).note(context, { isReplaced: true });
    for (const line of warnings) warn(line);
    const formatNote = toFormatNote(options, plan.format);
    if (target !== undefined && formatNote !== undefined) say(formatNote);
    if (guardedCells > 0) say(toGuardedNote(guardedCells));
    if (unfound.length > 0) {
      const { toNoSuchColumnWarning } = await import('./chosen-columns.ts');
      warn(toNoSuchColumnWarning(options, unfound, headers, printed.operationId));
    }
    return target;
  }

  const delivery: Delivery = {
    ...opened,
    finish(...placing) {
      finished ??= finish(...placing);
      return finished;
    },
  };
  const isOnScreen = plan.file === undefined && !context.stdout.isFile;
  return isOnScreen ? onScreen(context, options, delivery, plan.format) : delivery;
}

/** Pure: where the records go, and in which form. Throws UsageError for options that contradict each other. */
function toOutputPlan(
  context: Context,
  options: OutputOptions,
  { csv, isNew = false, layout, shape }: PrintedOutput,
  preferred: Format | undefined,
): OutputPlan {
  const file = fileOf(options);
  const format = toFormat(options, context.stdout.isTerminal, preferred);
  checkPositions(options, format);
  const own = file === undefined ? undefined : csv;
  const isForPeople = format === 'table' || format === 'cards';
  const onTerminal = file === undefined && context.stdout.isTerminal;
  // JSON is data: unless it goes to a terminal, FORCE_COLOR must not change it.
  const color =
    file === undefined && (onTerminal || isForPeople) && colorOf(context, context.stdout, options.color);
  return {
    ...{ file, format, isNew, layout, onTerminal, shape },
    columns: options.columns && toNames(options.columns),
    append: options.append === true,
    csvRaw: options.csvRaw === true,
    delimiter: toDelimiter(options, format) ?? own?.delimiter,
    isDelimiterFixed: options.delimiter !== undefined,
    mark: own?.mark,
    width: widthOf(context),
    mustBeTable: (options.format ?? preferred) === 'table',
    styles: color ? stylesOf(true) : undefined,
    signs: onTerminal ? toSigns(context, context.stdout) : undefined,
    links: isForPeople && onTerminal && color && hasHyperlinks(context),
  };
}

/** Removes the status line while rows are written to the screen. */
function onScreen(context: Context, options: OutputOptions, opened: Delivery, format: Format): Delivery {
  const status = openStatusLine(context, options);

  async function apart<T>(work: () => Promise<T>): Promise<T> {
    // A program behind the pipe may print to this terminal at any time, and an array ends in mid-line between writes.
    if (!context.stdout.isTerminal || format === 'json') status.pause();
    status.hold();
    try {
      return await work();
    } finally {
      status.release();
    }
  }
  return {
    ...opened,
    async write(records) {
      await apart(() => opened.write(records));
      if (records.length > 0 && context.stdout.isTerminal && context.stderr.isTerminal) status.wrote();
    },
    finish: (...placing) => apart(() => opened.finish(...placing)),
    cut: () => apart(opened.cut),
  };
}

/** Prints records of this machine, which have no other members than those of the layout. */
export async function printRecords(
  context: Context,
  options: OutputOptions,
  { layout, ...printed }: PrintedOutput & { readonly layout: Layout },
  records: readonly object[],
): Promise<void> {
  const known = { ...layout, members: headersOf(layout) };
  await withOutput(context, options, { ...printed, layout: known }, (output) =>
    output.write(records.map((record) => JSON.stringify(record))),
  );
}

/** The width of a table in a pipe, if the shell exports one. */
function widthOf(context: Context): number | undefined {
  const exported = Number(context.env.COLUMNS);
  return context.stdout.columns ?? (exported > 0 ? exported : undefined);
}

/** Terminals that know OSC 8, by `TERM_PROGRAM` and by `TERM`. */
const programs = ['iTerm.app', 'vscode', 'WezTerm', 'ghostty', 'Hyper', 'rio', 'zed', 'Tabby'];
const terms = ['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot', 'foot-extra', 'contour', 'wezterm'];

/**
 * Pure: true if the environment says that the terminal on standard output supports links. False for an unknown terminal, and for a multiplexer,
 * since the terminal behind it may not support them.
 */
export function hasHyperlinks({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  const { FORCE_HYPERLINK, TERM = '', TERM_PROGRAM = '', VTE_VERSION = 0 } = env;
  if (!stdout.isTerminal) return false;
  if (FORCE_HYPERLINK) return FORCE_HYPERLINK !== '0' && FORCE_HYPERLINK !== 'false';
  if (TERM === 'dumb' || env.CI || env.TMUX || env.STY) return false;
  if (env.WT_SESSION || env.DOMTERM || env.KITTY_WINDOW_ID || env.KONSOLE_VERSION) return true;
  // VTE 0.50.0 has a bug here.
  return terms.includes(TERM) || programs.includes(TERM_PROGRAM) || Number(VTE_VERSION) > 5000;
}

/** Pure: the record with this UTC time converted to the local time zone. */
export function zoned<Name extends string, Kept extends { readonly [name in Name]: string | null }>(
  record: Kept,
  name: Name,
  zone: Zone,
): Kept {
  const time = record[name];
  return time === null ? record : { ...record, [name]: toZonedTime(new Date(time), zone) };
}

/** Pure: a column for such a time, without seconds. `recent`: without the year, for times less than a year ago. */
export function timeColumn(
  name: string,
  {
    recent = false,
    ...rest
  }: Pick<TableColumn, 'role' | 'yields'> & { readonly header?: string; readonly recent?: boolean } = {},
): TableColumn {
  const [from, width] = recent ? [5, 11] : [0, 16];
  const text = (record: JsonView): string => readable(record.member(name)).slice(from, 16).replace('T', ' ');
  return { header: name, min: width, max: width, ...rest, text };
}
