import type { Printed } from '../columns/layout.ts';
import type { Context } from '../context.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import type { Buyer } from '../operations/buyer.ts';
import type { Delivery, OpenDelivery } from '../operations/delivery.ts';
import { findNamed } from '../operations/earlier.ts';
import { type OperationEvent, type Running, runToEnd, type Stage } from '../operations/events.ts';
import type { Reader } from '../operations/journal/operation-index.ts';
import type { Operation } from '../operations/operation.ts';
import type { Order } from '../operations/order.ts';
import { isPriceDue } from '../operations/prune-if-due.ts';
import { type Results, type Runnable, run } from '../operations/run.ts';
import { countOf, createWarnings, plural } from '../operations/wording.ts';
import { RequestError } from '../transport/request-error.ts';
import { type AskOptions, Declined } from './ask.ts';
import { toWaitReason } from './connect.ts';
import { closeUnread } from './messages/closing-line.ts';
import { createNotes, toCounted, withStatus } from './messages/status-line.ts';
import { fileOf, type RecordOptions } from './options/record-options.ts';
import type { ConnectionOptions } from './options/shared-options.ts';
import { checkColumns, openOutput, type PrintedOutput } from './records/record-output.ts';
import { learn, note } from './run-facts.ts';

export interface Shown {
  /** Status text while waiting for one answer, or for the first row. */
  readonly label?: string;
  /** The requested number of leads. */
  readonly limit?: number | undefined;
  /** How its records are printed. */
  readonly printed: Printed & Pick<PrintedOutput, 'csv'>;
  /** Called with the output once it is open; returns the one that is used. `announce` is awaited before another file is made. */
  readonly opened?: (delivery: Delivery, announce: Parameters<OpenDelivery>[1]) => Promise<Delivery>;
  /** The progress of a list, after this number of seconds. */
  readonly toProgress?: (
    counts: Extract<OperationEvent, { is: 'rows' }>['counts'],
    seconds: number,
  ) => string;
  /** Additional handling of an event; an error ends the run. `warn` prints a line when no rows are in its way. */
  readonly on?: ((event: OperationEvent, warn: (line: string) => void) => void | Promise<void>) | undefined;
  /** The operation that the user wants to resume, if any. */
  readonly resumes?: Resumes | undefined;
}

/** An operation to resume, and the reader that has found it. */
export interface Resumes {
  readonly operation: Operation;
  readonly reader: Reader;
}

type ShowOptions = ConnectionOptions & RecordOptions & AskOptions & { readonly first?: number };

/** How many warnings are kept until the rows are printed. */
const maxHeld = 20;

/** Runs an order, and shows its progress on stderr. Returns undefined after a preview, or if the user said no. Throws as `run`. */
export async function runAndShow<Kind extends Runnable>(
  context: Context,
  options: ShowOptions,
  buyer: Buyer,
  order: Order<Kind>,
  shown: Shown,
): Promise<Results[Kind] | undefined> {
  const { settings } = buyer.connection;
  await checkColumns(options, shown.printed.layout);
  const open: OpenDelivery = async (operationId, announce) => {
    const printed = { ...shown.printed, settings, operationId };
    const delivery = await openOutput(context, options, printed, announce);
    try {
      return (await shown.opened?.(delivery, announce)) ?? delivery;
    } catch (error) {
      await delivery.cut();
      throw error;
    }
  };
  try {
    const found = shown.resumes && (await findNamed(buyer, order, shown.resumes));
    return await show(context, options, run<Kind>(buyer, order, open, found), shown);
  } catch (error) {
    if (error instanceof LeadpipeError && error.outcome === 'reader_closed') closeUnread(context, options);
    if (!(error instanceof Declined)) throw error;
    createNotes(context, options).say('Nothing was bought.');
    return undefined;
  }
}

/** Shows the events of an operation while it runs to its end. Throws as the operation does. */
export async function show<T>(
  context: Context,
  options: ShowOptions,
  operation: Running<T>,
  shown: Pick<Shown, 'label' | 'limit' | 'toProgress' | 'on' | 'resumes'>,
): Promise<T> {
  const { clock, patience, signal, stderr, stdout } = context;
  const { say, warn } = createNotes(context, options);
  const { label: first = '', limit, on, toProgress } = shown;
  const labels: Readonly<Record<Stage, string>> = {
    asking: first,
    searching: 'searching',
    creating: 'creating the task',
    waiting: 'waiting',
    fetching: 'fetching',
  };
  // If rows and warnings share a terminal, the warnings come after the rows.
  const isHeld = toProgress && fileOf(options) === undefined && stdout.isTerminal && stderr.isTerminal;
  const held = createWarnings(maxHeld);
  const warnLater = isHeld ? held.add : warn;
  const previousMs = patience?.ms ?? 0;
  let stoppingAt: number | undefined;
  let stage: Stage | undefined;
  let label = '';
  let leads = 0;
  let progress = (seconds: number): string | undefined =>
    toProgress ? first : stage && toCounted(limit, leads, label, seconds);

  async function take(event: OperationEvent): Promise<void> {
    learn(context, event, options);
    await on?.(event, warnLater);
    switch (event.is) {
      case 'again':
        await (await import('./messages/earlier-runs.ts')).confirmRepurchase(context, options, event);
        break;
      case 'resuming': {
        const { confirmRest, toResumingLine } = await import('./messages/earlier-runs.ts');
        const isNamed = shown.resumes !== undefined;
        if (isNamed) await confirmRest(context, options, event.resuming);
        say(toResumingLine(event.resuming, isNamed, fileOf(options), context, options));
        break;
      }
      case 'stage':
        stage = event.stage;
        label = labels[stage];
        break;
      case 'delivered':
        leads += event.records;
        break;
      case 'task_seen':
        label = `task ${event.state}, ${event.readyCount} ready`;
        break;
      case 'stumbled': {
        const { fault } = event;
        const line = `trying again: ${fault instanceof RequestError ? toWaitReason(fault) : fault.message}`;
        // On a terminal, the status line shows it.
        if (stderr.isTerminal) label = line;
        else warn(line);
        break;
      }
      case 'warning':
        warn(event.line);
        break;
      case 'preview':
        (await import('./records/preview.ts')).printPreview(context, options, event);
        break;
      case 'rows': {
        const { counts } = event;
        progress = (seconds) => toProgress?.(counts, seconds);
        break;
      }
      case 'stopping':
        stoppingAt = clock.monotonic();
        if (patience !== undefined) patience.ms = previousMs + 1000 * event.seconds;
        // stderr may have no reader either.
        if (stoppedBy(signal) === 'reader_closed') break;
        say(
          `waiting up to ${event.seconds} s for ${countOf(event.answers, 'pending answer')}${options.local ? '' : ` that ${plural(event.answers, 'is', 'are')} paid for`}; press Ctrl-C again to stop at once`,
        );
        break;
      case 'settled': {
        const { unknown } = event.cost;
        const isShown = !options.local && !options.quiet && !options.jsonErrors;
        if (typeof unknown === 'object' && isShown && (await isPriceDue(context)))
          note(context, { newPrice: unknown.setting });
        break;
      }
      case 'ended':
        // The status line is no longer needed.
        context.run.statusLine?.pause();
        break;
      default:
    }
  }

  try {
    return await withStatus(
      context,
      options,
      (seconds) => progress(seconds),
      (update) =>
        runToEnd(operation, async (event) => {
          await take(event);
          update();
        }),
    );
  } finally {
    // Waiting for answers does not use up the time for the last messages.
    if (patience !== undefined && stoppingAt !== undefined)
      patience.ms = previousMs + clock.monotonic() - stoppingAt;
    for (const line of held.all()) warn(line);
  }
}
