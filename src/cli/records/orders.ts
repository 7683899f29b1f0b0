import { resolve } from 'node:path';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LocalIoError } from '../../errors.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { BodyOf, PaidKind } from '../../operations/kinds/kinds.ts';
import type { OutputTerms } from '../../operations/operation.ts';
import type { Order } from '../../operations/order.ts';
import { toSpending } from '../../operations/spending.ts';
import type { Format } from '../../output/writer.ts';
import { createNotes } from '../messages/status-line.ts';
import { fileOf, type RecordOptions, toFormat } from '../options/record-options.ts';
import type { ConnectionOptions, PaidOptions } from '../options/shared-options.ts';

export interface PurchaseOptions extends ConnectionOptions, PaidOptions, RecordOptions {}

/** The connection with which a command buys, and the limit for all of its purchases. */
export function toBuyer(context: Context, { maxCredits }: PaidOptions, connection: Connection): Buyer {
  return {
    connection,
    context,
    spending: toSpending(maxCredits, connection),
  };
}

/** The order for the options of a command. `more`: further options that shape the output. */
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
 * Warns if standard output is closed: the results can be read from the history. With --no-history, throws LocalIoError before anything is
 * sent. Programs that discard the output may close it.
 */
export function checkOutputOpen(
  context: Context,
  options: RecordOptions & ConnectionOptions & Pick<PaidOptions, 'history'>,
): void {
  if (fileOf(options) !== undefined || !context.stdout.isClosed) return;
  if (options.history) {
    createNotes(context, options).warn(
      'standard output is closed, so nothing is printed. The results are stored. To read them, for free: leadpipe history',
    );
    return;
  }
  throw new LocalIoError('standard output is closed, and nothing was sent', {
    charged: 'no',
    hint: 'Name a file with -o, or leave out --no-history. To discard the output: > /dev/null',
  });
}

/** Pure: the options that shape the output, so that a later run can use the same format. */
export function toTerms(options: RecordOptions, format: Format, more: OutputTerms['options']): OutputTerms {
  const { append, columns, csvRaw, delimiter } = options;
  const file = fileOf(options);
  return {
    output: file === undefined ? null : resolve(file),
    // For a file, the format in use, since the profile may change. Standard output may be another one in a later run.
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

/** Pure: the options that an output was started with. */
export function fromTerms({ output, options }: OutputTerms): RecordOptions {
  const { format, append, columns, csv_raw: csvRaw, delimiter } = options;
  const given = { format, append, columns, csvRaw, delimiter, output };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as RecordOptions;
}
