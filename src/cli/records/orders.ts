import { resolve } from 'node:path';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LocalIoError } from '../../errors.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { BodyOf, PaidKind } from '../../operations/kinds/kinds.ts';
import type { OutputTerms } from '../../operations/operation.ts';
import type { Order } from '../../operations/run.ts';
import { toSpending } from '../../operations/spending.ts';
import type { Format } from '../../output/writer.ts';
import { createNotes } from '../messages/status-line.ts';
import { fileOf, type RecordOptions, toFormat } from '../options/record-options.ts';
import type { ConnectionOptions, PaidOptions } from '../options/shared-options.ts';

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
): Order<Kind, BodyOf<Kind>> {
  const { dryRun, history, idempotencyKey } = options;
  if (!dryRun) checkOutputOpen(context, options);
  if (!history && !dryRun) {
    createNotes(context, options).say(
      "Only the cost is stored on this machine: the result can't be shown again or resumed.",
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
  const { append, columns, csvRaw, delimiter } = options;
  const file = fileOf(options);
  return {
    output: file === undefined ? null : resolve(file),
    // The profile or the file's name may say something else later, and standard output may be another one.
    options: {
      format: file === undefined ? options.format : format,
      append,
      columns,
      csv_raw: csvRaw,
      delimiter,
      ...more,
    },
  };
}

/** Pure: the options that an output was begun with. */
export function fromTerms({ output, options }: OutputTerms): RecordOptions {
  const { format, append, columns, csv_raw: csvRaw, delimiter } = options;
  const given = { format, append, columns, csvRaw, delimiter, output };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as RecordOptions;
}
