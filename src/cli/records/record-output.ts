import { toZonedTime, type Zone } from '../../clock.ts';
import type { Layout, LayoutOf, TableColumn } from '../../columns/layout.ts';
import { readProfile } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { type HeldLock, noLock, withOutputLock } from '../../files/folder-lock.ts';
import type { Opening } from '../../files/target.ts';
import type { JsonView } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { toSigns } from '../../output/ascii.ts';
import { colorOf, stylesOf } from '../../output/color.ts';
import type { WriterOptions } from '../../output/form.ts';
import { readable } from '../../output/readable.ts';
import { openRecords } from '../../output/records.ts';
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
import { toUnfound } from './chosen-columns.ts';

/** What a command prints, rows or one answer, and its layout without --columns. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  /** Of the profile, which may set a format; by default those of the profile in use. */
  readonly settings?: { readonly format?: Format };
  readonly opening?: Opening | undefined;
  /** The form of a file of CSV, where the options do not say it. */
  readonly csv?: Pick<WriterOptions, 'delimiter' | 'mark'> | undefined;
  /** The purchase whose records these are, if they can be printed again. */
  readonly operationId?: string | undefined;
  /** Whether the file must be a new one: none is replaced. */
  readonly isNew?: boolean;
}

type OutputOptions = RecordOptions & ReportOptions;

/**
 * Runs `work` with the output open. It is opened before anything is sent, so that a full disk or a wrong path costs
 * nothing; when `work` returns, everything is there and the file of `-o` appears; when it throws, what
 * arrived stays in `<file>.part`. What another run has left there gets another name. Throws `temporary` where another run is at
 * work on the file, what `work` throws, LocalIoError and UsageError.
 */
export async function withOutput<T>(
  context: Context,
  options: OutputOptions,
  printed: Printed,
  work: (output: Delivery) => Promise<T>,
): Promise<T> {
  return await withLock(context, options, async (lock) => {
    const output = await openOutput(context, options, { ...printed, lock });
    try {
      const result = await work(output);
      await output.finish();
      return result;
    } finally {
      await output.cut();
    }
  });
}

/**
 * Runs `work` while no other run writes the file of -o, if there is one. What a killed run was adding to it comes before what is added now.
 * Throws `temporary` where another run writes it, LocalIoError.
 */
async function withLock<T>(
  context: Context,
  options: RecordOptions,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const file = fileOf(options);
  if (file === undefined) return await work(noLock);
  return await withOutputLock(context, file, async (lock) => {
    if (options.append) {
      const [{ completeAdditionTo }, { createReader }] = await Promise.all([
        import('../../operations/output-owner.ts'),
        import('../../operations/journal/operation-index.ts'),
      ]);
      await completeAdditionTo(context, createReader(context), file);
    }
    return await work(lock);
  });
}

/** Opens the output, which is locked. Throws LocalIoError and UsageError. */
export async function openOutput(
  context: Context,
  options: OutputOptions,
  { shape, csv, isNew, layout, lock, operationId, opening, settings }: Printed & { readonly lock: HeldLock },
): Promise<Delivery> {
  const file = fileOf(options);
  const { format: preferred } = settings ?? (await readProfile(context, undefined)).settings;
  const format = toFormat(options, context.stdout.isTerminal, preferred);
  checkPositions(options, format);
  const delimiter = toDelimiter(options, format);
  const formatNote = toFormatNote(options, format);
  const own = file === undefined ? undefined : csv;
  const { say, warn } = createNotes(context, options);
  const isForPeople = format === 'table' || format === 'cards';
  const onTerminal = file === undefined && context.stdout.isTerminal;
  // JSON is data: unless it goes to a terminal, FORCE_COLOR must not change it.
  const color =
    file === undefined && (onTerminal || isForPeople) && colorOf(context, context.stdout, options.color);
  const opened = await openRecords(context, {
    format,
    shape,
    layout,
    columns: options.columns && toNames(options.columns),
    unfound: (names, headers) => warn(toUnfound(options, names, headers, operationId)),
    file,
    append: options.append === true,
    opening,
    isNew,
    lock,
    csvRaw: options.csvRaw === true,
    delimiter: delimiter ?? own?.delimiter,
    isDelimiterFixed: options.delimiter !== undefined,
    mark: own?.mark,
    placed: () => void (formatNote && say(formatNote)),
    guarded: (cells) => say(toGuardedNote(cells)),
    width: widthOf(context),
    mustBeTable: (options.format ?? preferred) === 'table',
    warn,
    styles: color ? stylesOf(true) : undefined,
    onTerminal,
    signs: onTerminal ? toSigns(context, context.stdout) : undefined,
    links: isForPeople && onTerminal && color && hasHyperlinks(context),
  });
  if (opened.note !== undefined) say(opened.note);
  const isOnScreen = file === undefined && !context.stdout.isFile;
  return isOnScreen ? onScreen(context, options, opened, format) : opened;
}

/** Removes the status line while rows are written to the screen. */
function onScreen(context: Context, options: OutputOptions, opened: Delivery, format: Format): Delivery {
  const status = openStatusLine(context, options);

  async function apart<T>(work: () => Promise<T>): Promise<T> {
    // The program that reads the pipe may print to this terminal at any time, and an array stops inside a line.
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
    finish: (placing) => apart(() => opened.finish(placing)),
    cut: () => apart(opened.cut),
  };
}

/** Prints records that this machine has. */
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

/** The width of a table in a pipe, if the shell exports one. */
function widthOf(context: Context): number | undefined {
  const exported = Number(context.env.COLUMNS);
  return context.stdout.columns ?? (exported > 0 ? exported : undefined);
}

/** Terminals that know OSC 8, by `TERM_PROGRAM` and by `TERM`. */
const programs = ['iTerm.app', 'vscode', 'WezTerm', 'ghostty', 'Hyper', 'rio', 'zed', 'Tabby'];
const terms = ['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot', 'foot-extra', 'contour', 'wezterm'];

/**
 * Pure: whether the terminal on standard output can show links, by what it says in the environment. One that says nothing gets none, and
 * neither does a multiplexer, since its terminal may not know them.
 */
export function hasHyperlinks({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  const { FORCE_HYPERLINK, TERM = '', TERM_PROGRAM = '', VTE_VERSION = 0 } = env;
  if (!stdout.isTerminal) return false;
  if (FORCE_HYPERLINK) return FORCE_HYPERLINK !== '0' && FORCE_HYPERLINK !== 'false';
  if (TERM === 'dumb' || env.CI || env.TMUX || env.STY) return false;
  if (env.WT_SESSION || env.DOMTERM || env.KITTY_WINDOW_ID || env.KONSOLE_VERSION) return true;
  // Version 0.50.0 has a fault.
  return terms.includes(TERM) || programs.includes(TERM_PROGRAM) || Number(VTE_VERSION) > 5000;
}

/** Pure: the record with this time, which is stored in UTC, in the time zone of this machine. */
export function zoned<Name extends string, Kept extends { readonly [name in Name]: string | null }>(
  record: Kept,
  name: Name,
  zone: Zone,
): Kept {
  const time = record[name];
  return time === null ? record : { ...record, [name]: toZonedTime(new Date(time), zone) };
}

/** Pure: a column for such a time, up to the minute. `recent` ones are less than a year old, and need no year. */
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
