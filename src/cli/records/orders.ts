import { resolve } from 'node:path';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LocalIoError } from '../../errors.ts';
import { type Bought, buyAnswer } from '../../operations/answer.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { Delivery, Listener, OpenDelivery, Stage } from '../../operations/delivery.ts';
import { findEarlier, toWanted } from '../../operations/earlier.ts';
import type { AnswerKind, BodyOf, PaidKind } from '../../operations/kinds.ts';
import type { Order, OutputTerms } from '../../operations/purchase.ts';
import { toSpending, toWorstCase } from '../../operations/spending.ts';
import type { Format } from '../../output/writer.ts';
import { RequestError } from '../../transport/errors.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { tellEarlier, toRepeated } from '../messages/earlier-runs.ts';
import { createNotes, type Notes } from '../messages/notes.ts';
import { printPreview } from '../messages/preview.ts';
import { toWaitReason } from '../messages/wait-reason.ts';
import type { ConnectionOptions, PaidOptions, RecordOptions, ReportOptions } from '../options/options.ts';
import { printedAs } from './printed-as.ts';
import { fileOf, type Printed, toFormat, withOutput } from './record-output.ts';
import { withSpinner, withWaiting } from './spinner.ts';

export interface PurchaseOptions extends ConnectionOptions, PaidOptions, RecordOptions {}

/** Where a command buys, and what all of it may cost. */
export function toShop(context: Context, { maxCredits }: PaidOptions, connection: Connection): Buyer {
  return {
    connection,
    context,
    spending: toSpending(maxCredits, connection),
  };
}

/** What a command orders, as its options say; `more` of them shape the output too. */
export function toOrder<Kind extends PaidKind>(
  context: Context,
  options: PurchaseOptions,
  { settings }: Connection,
  kind: Kind,
  body: BodyOf<Kind>,
  more: OutputTerms['options'] = {},
): Order<Kind> {
  const { dryRun, history, idempotencyKey } = options;
  if (!dryRun) checkOutputOpen(context, options);
  if (!history && !dryRun) {
    createNotes(context, options).say(
      "Nothing is stored on this machine: the result can't be shown again or resumed.",
    );
  }
  return {
    kind,
    body,
    idempotencyKey,
    preview: dryRun ? (request, cost) => printPreview(context, options, request, cost) : undefined,
    keep: history,
    terms: toTerms(options, toFormat(options, context.stdout.isTerminal, settings.format), more),
    open: openOutput(context, options, { ...printedAs(kind, body), settings }),
  };
}

/**
 * Warns where standard output is closed: what is bought can be read from what is kept. Throws LocalIoError, before anything is
 * sent, where nothing is kept. Programs that throw an output away may leave it as one that is closed.
 */
export function checkOutputOpen(
  context: Context,
  options: RecordOptions & ConnectionOptions & Pick<PaidOptions, 'history'>,
): void {
  if (fileOf(options) !== undefined || !context.stdout.isClosed) return;
  if (options.history) {
    createNotes(context, options).warn(
      'standard output is closed, so nothing is printed. What arrives is stored. To read it, for free: leadpipe history',
    );
    return;
  }
  throw new LocalIoError('standard output is closed, and nothing was sent', {
    charged: 'no',
    hint: 'Name a file with -o, or leave out --no-history. To throw the output away: > /dev/null',
  });
}

/** Pure: what shapes the output, so that it can be gone on with as it was begun. */
export function toTerms(options: RecordOptions, format: Format, more: OutputTerms['options']): OutputTerms {
  const { append, columns, csvRaw } = options;
  const file = fileOf(options);
  return {
    output: file === undefined ? null : resolve(file),
    // What a profile or an extension decided may be decided otherwise later; standard output may be another one.
    options: {
      format: file === undefined ? options.format : format,
      append,
      columns,
      csv_raw: csvRaw,
      ...more,
    },
  };
}

/** Pure: the options that an output was begun with. */
export function fromTerms({ output, options }: OutputTerms): RecordOptions {
  const { format, append, columns, csv_raw: csvRaw } = options;
  const given = { format, append, columns, csvRaw, output };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as RecordOptions;
}

export function openOutput(
  context: Context,
  options: RecordOptions & ReportOptions,
  printed: Printed,
): OpenDelivery {
  return (work) => withOutput(context, options, printed, work);
}

const labels: Readonly<Record<Exclude<Stage, 'asking'>, string>> = {
  searching: 'searching',
  creating: 'creating the task',
  waiting: 'waiting',
  fetching: 'fetching',
};

/** Shows on stderr how it goes; `asking` is what is done while the user waits for one answer, `most` how many leads were asked for. */
export function createListener(
  context: Context,
  options: ConnectionOptions,
  { asking = '', most }: { readonly asking?: string; readonly most?: number | undefined } = {},
): Listener {
  const { warn } = createNotes(context, options);
  return {
    warn,
    during(stage, delivery, work) {
      if (stage === 'asking') {
        return withWaiting(context, options, asking, () => work(watchOf(delivery, () => {}, warn)));
      }
      return withSpinner(
        context,
        options,
        delivery,
        labels[stage],
        { unit: 'lead', most },
        (write, relabel) =>
          // The spinner's line is not to be torn by another.
          work({ ...watchOf(delivery, relabel, context.stderr.isTerminal ? relabel : warn), write }),
      );
    },
  };
}

function watchOf({ write }: Delivery, relabel: (label: string) => void, stumbled: (line: string) => void) {
  return {
    write,
    progress: (state: string, readyCount: number) => relabel(`task ${state}, ${readyCount} ready`),
    stumbled: (fault: Error) =>
      stumbled(`trying again: ${fault instanceof RequestError ? toWaitReason(fault) : fault.message}`),
  };
}

/** What was bought, and what is left to say about it. */
export interface Shown extends Bought {
  readonly notes: Notes;
  /** The last lines on stderr: what it came to, and the IDs to ask about it with. */
  close(summary: string): void;
}

/** Buys one answer and prints it; undefined after `--dry-run`. Throws as `buyAnswer`. */
export async function buy<Kind extends AnswerKind>(
  context: Context,
  options: PurchaseOptions,
  kind: Kind,
  body: BodyOf<Kind>,
  asking: string,
): Promise<Shown | undefined> {
  const bought = await withConnection(context, options, async (connection) => {
    const buyer = toShop(context, options, connection);
    const order = toOrder(context, options, connection, kind, body);
    const earlier = await findEarlier(buyer, toWanted(buyer, order));
    if (earlier.is === 'new') tellEarlier(context, options, earlier);
    const again = toRepeated(context, options, order, earlier);
    const answer = await buyAnswer(buyer, again, createListener(context, options, { asking }));
    return answer && { ...answer, costAtMost: toWorstCase(kind, body, connection.settings).credits };
  });
  if (bought === undefined) return undefined;
  const notes = createNotes(context, options);
  return {
    ...bought,
    notes,
    close(summary) {
      close(context, options, { what: summary, costAtMost: bought.costAtMost, ids: bought.ids });
    },
  };
}
