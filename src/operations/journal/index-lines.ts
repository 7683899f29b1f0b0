import type { Outcome } from '../../errors.ts';
import type { Cost, Indexed, JournalEntry } from './entries.ts';

/** What is known of an operation without its journal. It is only used to find the operation: the journal decides. */
export type Begun = Readonly<{ is: 'begun'; op: string; kind: string; time: string }> & Indexed;

/** A line of the index. The order of the lines is the order of the operations, even if the clock was wrong. */
export type IndexLine =
  | Begun
  | Readonly<
      /** The service has named the task. */
      | { is: 'created'; op: string; task: string }
      /** Its rows were put into the file whose path has this digest. */
      | { is: 'placed'; op: string; output: string }
      /** It can cost this in addition, from this time on. `moved` was counted before, and is sent again. */
      | { is: 'reserved'; op: string; time: string; worst: Cost; moved?: Cost | undefined }
      /** What it has cost so far, over all its runs, in place of what was reserved for them; and how it ended, if it has. */
      | {
          is: 'ended';
          op: string;
          outcome: Outcome | null;
          same?: string | undefined;
          spent?: Cost | undefined;
        }
    >;

/**
 * Pure: the line of the index for an entry of a journal that begins with `intent`; undefined where the index does not hold it. It is made of
 * what the journal says alone, so that an index that is made again has the same lines.
 */
export function toIndexLine(
  op: string,
  entry: JournalEntry,
  intent: JournalEntry | undefined,
): IndexLine | undefined {
  if (intent?.type !== 'intent') return undefined;
  const { index } = intent;
  switch (entry.type) {
    case 'intent': {
      const { command: kind, time } = entry;
      return { is: 'begun', op, kind, time, ...index };
    }
    case 'reserved':
      return { is: 'reserved', op, time: entry.time, worst: entry.cost, moved: entry.moved };
    case 'rest':
      return { is: 'reserved', op, time: entry.time, worst: entry.worst_case };
    case 'spent':
      return { is: 'ended', op, outcome: null, spent: entry.spent };
    case 'created':
      return index.is_task ? { is: 'created', op, task: entry.leads_search_id } : undefined;
    case 'placed':
      return { is: 'placed', op, output: entry.output };
    case 'terminal':
      // A run that looks for the order then also finds how it ended.
      return { is: 'ended', op, outcome: entry.outcome, same: index.same, spent: entry.spent };
    default:
      return undefined;
  }
}
