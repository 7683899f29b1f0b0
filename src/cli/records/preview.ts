import type { Context } from '../../context.ts';
import { indented } from '../../json/indent.ts';
import { objectOf, toLine } from '../../json/text.ts';
import type { Previewed } from '../../operations/events.ts';
import { type Cost, creditsOf, missingPrice } from '../../operations/prices.ts';
import { countOf, plural } from '../../operations/wording.ts';
import { timeOf } from '../messages/earlier-runs.ts';
import { type Route, toSetCommand } from '../messages/proposed.ts';
import { createNotes } from '../messages/status-line.ts';
import type { ConnectionOptions } from '../options/shared-options.ts';

/** Prints a dry run as one JSON object: the request, and its cost. Indented on a terminal, else on one line. */
export function printPreview(
  context: Context,
  options: Partial<ConnectionOptions>,
  { request, worst, available, rows, resumes }: Previewed,
): void {
  const { stream, isTerminal } = context.stdout;
  const { body = 'null', ...head } = request ?? {};
  const cost = {
    worst_case: creditsOf(worst),
    ...(missingPrice(worst) === undefined ? {} : { needs_setting: missingPrice(worst) }),
    available_credits: available ?? null,
    ...(resumes === undefined ? {} : { resumes: resumes.operation.operationId }),
  };
  const members = Object.entries({ ...head, ...cost }).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  // The exact text of the request. Characters that a terminal would obey are escaped.
  const shown = objectOf([...members, ['body', body]]);
  const status = context.run.statusLine;
  status?.hold();
  stream.write(`${isTerminal ? [...indented(shown)].join('') : toLine(shown)}\n`);
  status?.release();
  const sentences = [
    ...(resumes === undefined ? [] : [toResumed(resumes, request !== undefined, context)]),
    ...(context.stderr.isTerminal ? [toCost(worst, available, options)] : []),
  ];
  const { say } = createNotes(context, options);
  if (sentences.length > 0) say(sentences.join(' '));
  if (rows !== undefined) say(toRows(rows));
}

/** Pure: what the command would resume. */
function toResumed(
  { operation, isAgain, isRunning }: NonNullable<Previewed['resumes']>,
  isSent: boolean,
  context: Pick<Context, 'zone'>,
): string {
  const what = isAgain
    ? 'The same request is sent again, so you are not charged twice.'
    : isSent
      ? 'Only the rest is bought.'
      : 'Nothing is left to buy.';
  const running = isRunning
    ? ' Another process is running it. Until that ends, this command stops with exit code 75.'
    : '';
  return `Without --dry-run, this command resumes ${operation.operationId}, started ${timeOf(context, operation)}. ${what}${running}`;
}

/** Pure: the cost, in words. */
function toCost(worst: Cost, available: number | undefined, route: Route): string {
  const setting = missingPrice(worst);
  const cost =
    setting !== undefined
      ? `leadpipe does not know what this can cost, because ${setting} is not set`
      : worst.credits === 0
        ? 'This costs nothing'
        : `This can cost at most ${countOf(worst.credits, 'credit')}`;
  const balance = available === undefined ? '' : `; you have ${countOf(available, 'credit')}`;
  const next = setting === undefined ? '' : ` To set your price: ${toSetCommand(setting, route)}`;
  return `${cost}${balance}. Nothing was bought.${next}`;
}

/** Pure: how many rows would be sent, skipped or refused. */
function toRows({ all, done, flawed, kept }: NonNullable<Previewed['rows']>): string {
  const sent = all - done;
  const parts = [
    sent === 0
      ? 'No row would be sent, so this costs nothing'
      : `${countOf(sent, 'row')} would be sent; the first request is above`,
    done > 0 &&
      `${done} ${plural(done, 'was', 'were')} sent before, and ${plural(done, 'is', 'are')} not sent again`,
    flawed > 0 && `${flawed} can't be sent`,
    kept > 0 && `${countOf(kept, 'row')} left as ${plural(kept, 'it is', 'they are')}`,
  ];
  return `${parts.filter(Boolean).join('; ')}. Nothing was sent.`;
}
