import type { Context } from '../../context.ts';
import { JsonView } from '../../json/text.ts';
import { type AnswerKind, foundIn } from '../../operations/kinds/kinds.ts';
import { type ListOf, printedAs, type RowRequest, toListOf } from '../../operations/kinds/layouts.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { type Closing, close } from '../messages/closing-line.ts';
import { inputNames, readInput, readTextArgument } from '../options/inputs.ts';
import type { RowsOptions, Source } from '../options/rows-options.ts';
import { type PurchaseOptions, toBuyer, toOrder } from '../records/orders.ts';
import { runAndShow } from '../run-and-show.ts';
import { note } from '../run-facts.ts';
import { checkNotForgotten } from './forgotten-input.ts';

export interface LookupOptions extends PurchaseOptions, RowsOptions {}

/** Shared by the commands that buy one answer or a list of answers. */
export const lookupDefaults = {
  takes: ['records', 'paid', 'connection'],
  outcomes: [...paidOutcomes, 'partial'],
} as const;

/**
 * Buys an answer for the argument or, with --input, for each row, and prints it. `asking` is the label while waiting; `toSummary` sums up one
 * answer with so many records. Returns the number of answers with a result; undefined after --dry-run.
 */
export async function lookUp(
  context: Context,
  options: LookupOptions,
  source: Source,
  request: RowRequest,
  asking: string,
  toSummary: (answer: JsonView, records: number) => string,
): Promise<{ readonly found: number; readonly ids: Closing['ids'] } | undefined> {
  if ('input' in source) {
    const { buyList } = await import('../records/buy-list.ts');
    const list = await buyList(context, { ...options, ...source }, request);
    return list && { found: list.found, ids: { operationId: list.operationId } };
  }
  const one = toListOf(request);
  const body = one.toBody(await readArgument(context, one, source.argument), inputNames);
  return await withConnection(context, options, async (connection) => {
    const buyer = toBuyer(context, options, connection);
    const order = toOrder(context, options, connection, one.kind, body);
    const printed = printedAs(one.kind, body);
    const bought = await runAndShow<AnswerKind>(context, options, buyer, order, { label: asking, printed });
    if (bought === undefined) return undefined;
    const { charged, ids, records, text } = bought;
    if (printed.shape === 'list') note(context, { leads: records });
    close(context, options, { what: toSummary(new JsonView(text), records), isPaid: true, charged, ids });
    return { found: foundIn(one.kind, text), ids };
  });
}

/** The text of an argument. A target is never a file: `@nasa` is a handle. Throws UsageError for what looks like a forgotten `--input`. */
async function readArgument(context: Context, { field }: ListOf, argument: string): Promise<string> {
  if (field === 'target') return argument === '-' ? await readInput(context, inputNames[field]) : argument;
  await checkNotForgotten(context, argument, inputNames[field]);
  return await readTextArgument(context, inputNames[field], argument);
}
