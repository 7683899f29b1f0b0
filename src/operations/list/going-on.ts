import type { StoredOperation } from '../journal/stored.ts';
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
