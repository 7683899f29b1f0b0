import { toZonedTime, type Zone } from '../../clock.ts';
import { readProfile } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { type FolderLock, withOutputLock } from '../../files/folder-lock.ts';
import type { Opening } from '../../files/target.ts';
import type { JsonView } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { colorOf } from '../../output/color.ts';
import { pathLayout } from '../../output/columns.ts';
import type { Column, Layout, LayoutOf, TableColumn } from '../../output/layout.ts';
import { readable } from '../../output/readable.ts';
import { openRecords } from '../../output/records.ts';
import type { Format } from '../../output/writer.ts';
import { createNotes, openStatusLine } from '../messages/status-line.ts';
import { fileOf, type RecordOptions, type ReportOptions, toFormat, toPaths } from '../options/options.ts';

/** What a command prints: records in rows or one answer, and how they are laid out where --columns does not say. */
export interface Printed {
  readonly shape: 'list' | 'single';
  readonly layout: Layout | LayoutOf;
  /** Of the profile, which may prefer a format; of the one in use, where it is not given. */
  readonly settings?: { readonly format?: Format };
  readonly opening?: Opening | undefined;
  /** Of the file, where this run has it already. */
  readonly lock?: FolderLock | undefined;
}

type OutputOptions = RecordOptions & ReportOptions & { readonly positions?: true };

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
  return await withHeldOutput(context, options, async (lock) => {
    const output = await openOutput(context, options, { ...printed, lock }, false);
    try {
      const result = await work(output);
      await output.finish();
      return result;
    } finally {
      await output.cut();
    }
  });
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

/** Opens the output, which is held; `keepsFile`: a file stays as it is when no record comes. Throws LocalIoError and UsageError. */
export async function openOutput(
  context: Context,
  options: OutputOptions,
  { shape, layout, lock, opening, settings }: Printed,
  keepsFile = true,
): Promise<Delivery> {
  const file = fileOf(options);
  const { format: preferred } = settings ?? (await readProfile(context, undefined)).settings;
  const format = toFormat(options, context.stdout.isTerminal, preferred);
  if (options.append && format !== 'csv' && format !== 'jsonl') {
    throw new UsageError('--append works only with jsonl and csv', 'Add -f jsonl or -f csv.');
  }
  // Only a line of JSON can carry more than the columns it was given.
  if (options.positions && format !== 'jsonl') {
    throw new UsageError(`--positions works only with jsonl, not with ${format}`, 'Add -f jsonl.');
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
    keepsFile,
    opening,
    lock,
    csvRaw: options.csvRaw === true,
    width: widthOf(context),
    warn,
    color,
    onTerminal,
    links: isForPeople && onTerminal && color && hasHyperlinks(context),
  });
  const isOnScreen = file === undefined && !context.stdout.isFile;
  const output = isOnScreen ? onScreen(context, options, opened) : opened;
  return {
    ...output,
    get length() {
      return opened.length;
    },
    async finish(placing) {
      await output.finish(placing);
      for (const line of chosen?.takeUnfound() ?? []) warn(line);
    },
  };
}

/** What stands between an output and the screen: nothing is drawn on the lines of its rows. */
function onScreen(
  context: Context,
  options: OutputOptions,
  opened: Awaited<ReturnType<typeof openRecords>>,
): Pick<Delivery, 'file' | 'write' | 'sync' | 'finish' | 'cut'> {
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
    ...opened,
    async write(records) {
      await apart(() => opened.write(records));
      if (records.length > 0 && context.stdout.isTerminal && context.stderr.isTerminal) status.wrote();
    },
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

/** A table in a pipe takes the width that the shell exports, if it does. */
function widthOf(context: Context): number | undefined {
  const exported = Number(context.env.COLUMNS);
  return context.stdout.columns ?? (exported > 0 ? exported : undefined);
}

/** Terminals that know OSC 8, by `TERM_PROGRAM` and by `TERM`. */
const programs = ['iTerm.app', 'vscode', 'WezTerm', 'ghostty', 'Hyper', 'rio', 'zed', 'Tabby'];
const terms = ['xterm-kitty', 'xterm-ghostty', 'alacritty', 'foot', 'foot-extra', 'contour', 'wezterm'];

/**
 * Pure: whether the terminal on standard output can be given links, by what terminals say of themselves in the environment.
 * One that says nothing gets none, and neither does a multiplexer: it may pass them to a terminal that can't.
 */
export function hasHyperlinks({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  const { FORCE_HYPERLINK, TERM = '', TERM_PROGRAM = '', VTE_VERSION = 0 } = env;
  if (!stdout.isTerminal) return false;
  if (FORCE_HYPERLINK) return FORCE_HYPERLINK !== '0' && FORCE_HYPERLINK !== 'false';
  if (TERM === 'dumb' || env.CI || env.TMUX || env.STY) return false;
  if (env.WT_SESSION || env.DOMTERM || env.KITTY_WINDOW_ID || env.KONSOLE_VERSION) return true;
  // 0.50.0 is not to be given any.
  return terms.includes(TERM) || programs.includes(TERM_PROGRAM) || Number(VTE_VERSION) > 5000;
}

/**
 * Of --columns: paths, and, where a record has no such path, the headers of `usual`, which is printed without it; and a line for each
 * path that no record had, once there were records. Throws UsageError.
 */
function toChosen({ columns }: RecordOptions, usual?: Layout | LayoutOf) {
  if (columns === undefined) return undefined;
  const layout = pathLayout(toPaths(columns));
  const unfound = new Set(layout.columns);
  let isAsked = false;
  let known = typeof usual === 'object' ? byHeader(usual) : new Map<string, Column>();
  const chosen: Layout = {
    ...layout,
    async learn(records, signal) {
      if (typeof usual === 'function') known = byHeader(await usual(records, signal));
    },
    columns: layout.columns.map((column) => ({
      ...column,
      value(record) {
        isAsked = true;
        const own = known.get(column.header);
        const [one, other] = own?.overPath ? [own, column] : [column, own];
        const value = one.value(record) ?? other?.value(record);
        if (own !== undefined || value !== undefined) unfound.delete(column);
        return value;
      },
    })),
  };
  /** Once. */
  const takeUnfound = (): string[] => {
    const lines = isAsked ? [...unfound].map(({ header }) => `--columns: no record has "${header}"`) : [];
    unfound.clear();
    return lines;
  };
  return { layout: chosen, takeUnfound };
}

function byHeader({ columns }: Layout): Map<string, Column> {
  return new Map(columns.map((column) => [column.header, column]));
}

/** Pure: the record with this time, which is kept in UTC, as this place has it. */
export function zoned<Name extends string, Kept extends { readonly [name in Name]: string | null }>(
  record: Kept,
  name: Name,
  zone: Zone,
): Kept {
  const time = record[name];
  return time === null ? record : { ...record, [name]: toZonedTime(new Date(time), zone) };
}

/** Pure: such a time in the eyes' resolution; `recent` is never kept for a year, and needs none. */
export function timeColumn(
  header: string,
  { recent = false, ...rest }: Pick<TableColumn, 'role' | 'yields'> & { readonly recent?: boolean } = {},
): TableColumn {
  const [from, width] = recent ? [5, 11] : [0, 16];
  const text = (record: JsonView): string =>
    readable(record.member(header)).slice(from, 16).replace('T', ' ');
  return { header, min: width, max: width, ...rest, text };
}
