import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { countOf } from '../../operations/wording.ts';
import type { ReportOptions } from '../options/shared-options.ts';
import { createNotes } from './status-line.ts';

/** Prints on a terminal how much of the day's limit is used, if one is set. */
export async function printUsedToday(
  context: Context,
  options: Partial<ReportOptions>,
  settings: Settings,
): Promise<void> {
  const { max_credits_per_day: limit } = settings;
  if (limit === undefined || !context.stderr.isTerminal) return;
  // Most profiles have no such limit, and `balance` needs nothing else of past purchases.
  const [{ usedToday }, { openIndex }] = await Promise.all([
    import('../../operations/day-limit.ts'),
    import('../../operations/journal/operation-index.ts'),
  ]);
  // This line is optional, so errors are ignored.
  const index = await openIndex(context).catch(() => undefined);
  if (index === undefined) return;
  const { credits, unknown } = await usedToday(index, settings, context);
  const more =
    unknown.length === 0 ? '' : ` (without ${countOf(unknown.length, 'purchase')} of unknown cost)`;
  createNotes(context, options).say(
    `Used today: at most ${countOf(credits, 'credit')}${more}. Your limit for a day is ${limit}; purchases with --no-history count, too.`,
  );
}
