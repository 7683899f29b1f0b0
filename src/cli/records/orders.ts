import { resolve } from 'node:path';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LocalIoError } from '../../errors.ts';
import type { HeldLock } from '../../files/folder-lock.ts';
import { type Bought, buyAnswer } from '../../operations/answer.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { OpenDelivery } from '../../operations/delivery.ts';
import type { Earlier } from '../../operations/earlier.ts';
import { anew, findEarlier, toWanted } from '../../operations/find-earlier.ts';
import { type AnswerKind, type BodyOf, kinds, type PaidKind } from '../../operations/kinds/kinds.ts';
import type { Order, OutputTerms } from '../../operations/purchase.ts';
import type { ListIntent } from '../../operations/row-request.ts';
import { toSpending, toWorstCase } from '../../operations/money.ts';
import { memberLayout } from '../../output/columns.ts';
import {
  contactLayout,
  enrichLayout,
  entityLayout,
  itemsLayout,
  researchLayout,
} from '../../output/paid-layouts.ts';
import type { Format } from '../../output/writer.ts';
import { withConnection } from '../connect.ts';
import { close } from '../messages/closing-line.ts';
import { createNotes, type Notes } from '../messages/status-line.ts';
import {
  type ConnectionOptions,
  fileOf,
  type PaidOptions,
  type RecordOptions,
  toFormat,
} from '../options/options.ts';
import { openOutput, type Printed, withHeldOutput } from './record-output.ts';
import { runOperation } from './run-operation.ts';

export interface PurchaseOptions extends ConnectionOptions, PaidOptions, RecordOptions {}

/** Where a command buys, and the limit for all of its purchases. */
export function toBuyer(context: Context, { maxCredits }: PaidOptions, connection: Connection): Buyer {
  return {
    connection,
    context,
    spending: toSpending(maxCredits, connection),
  };
}

/** The order that the options of a command describe. Those of `more` shape the output, too. */
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
    isPreview: dryRun === true,
    keep: history,
    terms: toTerms(options, toFormat(options, context.stdout.isTerminal, settings.format), more),
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

/** Pure: what shapes the output, so that a later run can continue it in the same form. */
export function toTerms(options: RecordOptions, format: Format, more: OutputTerms['options']): OutputTerms {
  const { append, columns, csvRaw } = options;
  const file = fileOf(options);
  return {
    output: file === undefined ? null : resolve(file),
    // The profile or the file's name may say something else later, and standard output may be another one.
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

/** What was bought, with a way to finish the report about it. */
export interface Shown extends Bought {
  readonly notes: Notes;
  /** Prints the last lines on stderr: the result, and the IDs. */
  close(summary: string): void;
}

/** What a command needs to buy, once earlier runs have been looked at. `lock` is that of the output. */
export interface Purchase<Kind extends PaidKind> {
  readonly buyer: Buyer;
  /** With the key of the purchase that it repeats, if it repeats one. */
  readonly order: Order<Kind>;
  readonly open: OpenDelivery;
  readonly earlier: Earlier;
  readonly lock: HeldLock;
}

/** Runs `work` with what it takes to buy. Notes about earlier runs have been printed then. */
export async function withPurchase<Kind extends PaidKind, T>(
  context: Context,
  options: PurchaseOptions,
  kind: Kind,
  body: BodyOf<Kind>,
  work: (purchase: Purchase<Kind>) => Promise<T>,
  { list, more }: { readonly list?: Order['list']; readonly more?: OutputTerms['options'] } = {},
): Promise<T> {
  return await withConnection(context, options, async (connection) => {
    const buyer = toBuyer(context, options, connection);
    const ordered = { ...toOrder(context, options, connection, kind, body, more), list };
    return await withHeldOutput(context, options, async (lock) => {
      const earlier = await findEarlier(buyer, toWanted(buyer, ordered));
      if (earlier !== anew)
        (await import('../messages/earlier-runs.ts')).tellEarlier(context, options, earlier);
      const order = earlier.is === 'repeat' ? { ...ordered, again: earlier.operation } : ordered;
      const printed = { ...printedAs(kind, body), settings: connection.settings, lock };
      return await work({ buyer, order, open: () => openOutput(context, options, printed), earlier, lock });
    });
  });
}

/** Buys one answer and prints it; undefined after `--dry-run`. Throws as `buyAnswer`. */
export async function buy<Kind extends AnswerKind>(
  context: Context,
  options: PurchaseOptions,
  kind: Kind,
  body: BodyOf<Kind>,
  asking: string,
): Promise<Shown | undefined> {
  return await withPurchase(context, options, kind, body, async ({ buyer, order, open }) => {
    const bought = await runOperation(context, options, buyAnswer(buyer, order, open), { asking });
    const { credits } = toWorstCase(kind, body, buyer.connection.settings);
    return (
      bought && {
        ...bought,
        notes: createNotes(context, options),
        close(summary) {
          close(context, options, { what: summary, costAtMost: credits, ids: bought.ids });
        },
      }
    );
  });
}

type PrintedAs = Pick<Printed, 'shape' | 'layout'>;

/** The layout of each paid kind, by its request. It is the same when the result is shown again. */
const layouts: { readonly [Kind in PaidKind]: (body: BodyOf<Kind>) => PrintedAs['layout'] } = {
  search: ({ enrich_fields }) => entityLayout(enrich_fields),
  'task create': () => memberLayout(['leads_search_id', 'idempotency_key', 'request_id']),
  'task run': ({ enrich_fields }) => entityLayout(enrich_fields),
  contact: () => contactLayout,
  research: () => researchLayout,
  enrich: ({ enrich_fields: { properties } }) => enrichLayout(Object.keys(properties as object)),
  extract: () => itemsLayout,
};

/** The layout of a list's answers when they are shown again, without the rows they were bought for. */
export async function answersAs(kind: AnswerKind, intent: ListIntent): Promise<PrintedAs['layout']> {
  const { rowRequestOf } = await import('../../operations/row-request.ts');
  const request = rowRequestOf(intent);
  const toLayout: (body: never) => PrintedAs['layout'] = layouts[kind];
  return toLayout((request ?? { enrich_fields: { properties: {} } }) as never);
}

/** Pure: how the records of a purchase are printed. */
export function printedAs<Kind extends PaidKind>(kind: Kind, body: BodyOf<Kind>): PrintedAs {
  return { shape: kinds[kind].prints, layout: layouts[kind](body) };
}
