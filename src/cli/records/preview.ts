import type { Context } from '../../context.ts';
import { indented } from '../../json/indent.ts';
import { objectOf, toLine } from '../../json/text.ts';
import type { OperationEvent } from '../../operations/events.ts';
import type { WorstCase } from '../../operations/money.ts';
import { countOf } from '../../operations/wording.ts';
import { createNotes } from '../messages/status-line.ts';
import type { ConnectionOptions } from '../options/options.ts';

/** The request and its possible cost. `available` is the balance, if the service told it. */
type Previewed = Pick<Extract<OperationEvent, { is: 'preview' }>, 'request' | 'worst' | 'available'>;

/** Prints a dry run as one JSON object: the request, and its cost. Indented on a terminal, else on one line. */
export function printPreview(
  context: Context,
  options: Partial<ConnectionOptions>,
  { request: { body, ...head }, worst, available }: Previewed,
): void {
  const { stream, isTerminal } = context.stdout;
  const cost = {
    worst_case: worst.credits,
    ...(worst.credits === null ? { needs_setting: worst.setting } : {}),
    available_credits: available ?? null,
  };
  const members = Object.entries({ ...head, ...cost }).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  // The exact text of the request. Characters that a terminal would obey are escaped.
  const shown = objectOf([...members, ['body', body ?? 'null']]);
  const status = context.run.statusLine;
  status?.hold();
  stream.write(`${isTerminal ? [...indented(shown)].join('') : toLine(shown)}\n`);
  status?.release();
  if (context.stderr.isTerminal) createNotes(context, options).say(toSentence(worst, available));
}

/** Pure: the cost, in words. */
function toSentence(worst: WorstCase, available: number | undefined): string {
  const cost =
    worst.credits === null
      ? `leadpipe does not know what this can cost, because ${worst.setting} is not set`
      : worst.credits === 0
        ? 'This costs nothing'
        : `This can cost at most ${countOf(worst.credits, 'credit')}`;
  const balance = available === undefined ? '' : `; you have ${countOf(available, 'credit')}`;
  const next =
    worst.credits === null ? ` To set your price: leadpipe config set ${worst.setting} <credits>` : '';
  return `${cost}${balance}. Nothing was bought.${next}`;
}
