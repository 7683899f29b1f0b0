import type { Context } from '../../context.ts';
import { JsonView } from '../../json/text.ts';
import type { Bought } from '../../operations/kinds/answer.ts';
import { type AnswerKind, type BodyOf, foundIn } from '../../operations/kinds/kinds.ts';
import { type ListOf, printedAs, type RowRequest, toListOf } from '../../operations/kinds/layouts.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { type Closing, close } from '../messages/closing-line.ts';
import { createNotes, type Notes } from '../messages/status-line.ts';
import { inputNames, readInput, readTextArgument } from '../options/inputs.ts';
import type { RowsOptions, Source } from '../options/rows-options.ts';
import { type PurchaseOptions, toBuyer, toOrder } from '../records/orders.ts';
import { runAndShow } from '../run-and-show.ts';
import { factsOf } from '../run-facts.ts';
import { checkNotForgotten } from './forgotten-input.ts';

export interface LookupOptions extends PurchaseOptions, RowsOptions {}

/** Shared by the commands that buy one answer or a list of answers. */
export const lookupDefaults = {
  takes: ['records', 'paid', 'connection'],
  outcomes: [...paidOutcomes, 'partial'],
} as const;

/**
 * Buys an answer for the argument or, with --input, for each row, and prints it. `asking` is the label while waiting; `toSummary` sums up one
 * answer. Returns the number of answers with a result; undefined after --dry-run.
 */
export async function lookUp(
  context: Context,
  options: LookupOptions,
  source: Source,
  request: RowRequest,
  asking: string,
  toSummary: (answer: JsonView, bought: Bill) => string,
): Promise<{ readonly found: number; readonly ids: Closing['ids'] } | undefined> {
  if ('input' in source) {
    const { buyList } = await import('../records/buy-list.ts');
    const list = await buyList(context, { ...options, ...source }, request);
    return list && { found: list.found, ids: { operationId: list.operationId } };
  }
  const one = toListOf(request);
  const body = one.toBody(await readArgument(context, one, source.argument), inputNames);
  const bought = await buy(context, options, one.kind, body, asking);
  if (bought === undefined) return undefined;
  bought.close(toSummary(new JsonView(bought.text), bought));
  return { found: foundIn(one.kind, bought.text), ids: bought.ids };
}

/** The text of an argument. A target is never a file: `@nasa` is a handle. Throws UsageError for what looks like a forgotten `--input`. */
async function readArgument(context: Context, { field }: ListOf, argument: string): Promise<string> {
  if (field === 'target') return argument === '-' ? await readInput(context, inputNames[field]) : argument;
  await checkNotForgotten(context, argument, inputNames[field]);
  return await readTextArgument(context, inputNames[field], argument);
}

/** A purchase, with the function that prints its closing lines. */
interface Bill extends Bought {
  readonly notes: Notes;
  /** Prints the last lines on stderr: the result, and the IDs. */
  close(summary: string): void;
}

/** Buys one answer and prints it; undefined after `--dry-run`. Throws as `run`. */
async function buy<Kind extends AnswerKind>(
  context: Context,
  options: PurchaseOptions,
  kind: Kind,
  body: BodyOf<Kind>,
  asking: string,
): Promise<Bill | undefined> {
  return await withConnection(context, options, async (connection) => {
    const buyer = toBuyer(context, options, connection);
    const order = toOrder(context, options, connection, kind, body);
    const printed = printedAs(kind, body);
    const bought = await runAndShow(context, options, buyer, order, { label: asking, printed });
    return (
      bought && {
        ...(bought as Bought),
        notes: createNotes(context, options),
        close(summary) {
          const { charged, ids, records } = bought as Bought;
          if (printed.shape === 'list') factsOf(context).leads = records;
          close(context, options, { what: summary, isPaid: true, charged, ids });
        },
      }
    );
  });
}
