import type { StoredOperation } from '../journal/journal.ts';
import type { OutputTerms } from '../purchase.ts';

/** Pure: where an operation writes now, and in which form: a run of a name may go on elsewhere. */
export function termsOf({ entries: [intent, ...rest] }: StoredOperation): OutputTerms {
  const last = rest.findLast((entry) => entry.type === 'restarted');
  return { output: last?.output ?? intent.output, options: last?.options ?? intent.options };
}

/** Pure: whether two outputs are the same, from the same input. */
export function isSameForm(one: OutputTerms, other: OutputTerms): boolean {
  const toText = ({ output, options }: OutputTerms): string =>
    JSON.stringify([
      output,
      Object.entries(options)
        .filter(([, value]) => value != null)
        .sort(),
    ]);
  return toText(one) === toText(other);
}

/** Pure: whether a .part beside this output is what the operation was writing: what is in place has left none. */
export function isPartOf(operation: StoredOperation, { output }: OutputTerms): boolean {
  const types = operation.entries.map(({ type }) => type);
  const begun = Math.max(types.lastIndexOf('opened'), types.lastIndexOf('sent'));
  return output !== null && termsOf(operation).output === output && begun > types.lastIndexOf('placed');
}

/**
 * How many bytes of the stored rows stand in the file that rows are added to, with whatever was known of them: these rows are
 * not added again.
 */
export function placedIn(
  { entries: [intent, ...rest] }: StoredOperation,
  output: string | null,
  warn: (line: string) => void,
): number {
  let at = intent.output;
  let length: number | undefined;
  let placed = 0;
  for (const entry of rest) {
    if (entry.type === 'restarted') at = entry.output ?? intent.output;
    if (entry.type === 'opened') length = undefined;
    if (entry.type === 'adding') length = entry.rows_length;
    if (entry.type === 'placed' && at === output && length !== undefined) placed = length;
  }
  const opened = rest.findLast((entry) => entry.type === 'opened');
  // The last release added each row when it came.
  if (intent.row_request !== undefined || opened === undefined || placed > 0) return placed;
  if (rest.findLastIndex(({ type }) => type === 'terminal') > rest.indexOf(opened)) {
    return Number.POSITIVE_INFINITY;
  }
  warn(`an earlier release had begun to add rows to ${output}: a few of them may be there twice now`);
  return opened.rows_length ?? 0;
}
