import type { Outcome } from '../../errors.ts';
import type { Cost, Indexed, JournalEntry } from './entries.ts';

/** The facts about an operation outside its journal. They are only used to find the operation: the journal decides. */
export type Begun = Readonly<{ is: 'begun'; op: string; kind: string; time: string }> & Indexed;

/** A line of the index. The order of the lines is the order of the operations, even if the clock was wrong. */
export type IndexLine =
  | Begun
  | Readonly<
      /** The service has sent the ID of the task. */
      | { is: 'created'; op: string; task: string }
      /** Its rows were put into the file whose path has this digest. */
      | { is: 'placed'; op: string; output: string }
      /** `worst` is a possible cost in addition, from this time on. `moved` was counted for an earlier day, and is sent again. */
      | { is: 'reserved'; op: string; time: string; worst: Cost; moved?: Cost | undefined }
      /** Its cost so far over all runs, which replaces the reserved cost; and its outcome, if it has ended. */
      | {
          is: 'ended';
          op: string;
          outcome: Outcome | null;
          same?: string | undefined;
          spent?: Cost | undefined;
        }
    >;

/**
 * Pure: the index line for an entry of a journal that begins with `intent`; undefined for an entry that the index does not have. It depends
 * only on the journal, so that a rebuilt index has the same lines.
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
      // `same`: a run that looks for the order also finds its outcome.
      return { is: 'ended', op, outcome: entry.outcome, same: index.same, spent: entry.spent };
    default:
      return undefined;
  }
}
