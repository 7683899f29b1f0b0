import type { StoredOperation } from '../journal/journal.ts';
import type { OutputTerms } from '../purchase.ts';

/** Pure: an operation's output, and its options now: its rows may have come from another input since. */
export function termsOf({ entries: [intent, ...rest] }: StoredOperation): OutputTerms {
  const last = rest.findLast((entry) => entry.type === 'restarted');
  return { output: intent.output, options: last?.options ?? intent.options };
}

/** Pure: whether two options say the same. */
export function isSame(one: OutputTerms['options'], other: OutputTerms['options']): boolean {
  const toText = (options: OutputTerms['options']): string =>
    JSON.stringify(
      Object.entries(options)
        .filter(([, value]) => value != null)
        .sort(),
    );
  return toText(one) === toText(other);
}

/** Pure: whether a .part can be what the operation was writing: what is in place has left none. */
export function mayHavePart({ entries }: StoredOperation): boolean {
  const types = entries.map(({ type }) => type);
  return Math.max(types.lastIndexOf('opened'), types.lastIndexOf('sent')) > types.lastIndexOf('placed');
}

/**
 * How many bytes of the stored rows stand in this file that rows are added to, with whatever was known of them: these rows are
 * not added again.
 */
export function placedIn(
  { entries: [intent, ...rest] }: StoredOperation,
  { output, options }: OutputTerms,
  warn: (line: string) => void,
): number {
  if (options.append !== true || intent.options.append !== true || intent.output !== output) return 0;
  let length: number | undefined;
  let placed = 0;
  for (const entry of rest) {
    if (entry.type === 'opened') length = undefined;
    if (entry.type === 'adding') length = entry.rows_length;
    if (entry.type === 'placed') placed = length ?? placed;
  }
  const opened = rest.findLast((entry) => entry.type === 'opened');
  // The last release added each row when it came.
  if (intent.row_request !== undefined || opened === undefined || placed > 0) return placed;
  const isOver = rest.findLastIndex(({ type }) => type === 'terminal') > rest.indexOf(opened);
  if (!isOver) warn(`an earlier release had begun to add rows to ${output}: a few may be there twice now`);
  return isOver ? Number.POSITIVE_INFINITY : (opened.rows_length ?? 0);
}
