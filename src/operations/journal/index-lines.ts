import type { Outcome } from '../../errors.ts';
import type { Indexed, JournalEntry, UnknownCost } from './entries.ts';

/** What is known of an operation without its journal. It is only used to find the operation: the journal decides. */
export type Begun = Readonly<{ is: 'begun'; op: string; kind: string; time: string }> & Indexed;

/** A line of the index. The order of the lines is the order of the operations, even if the clock was wrong. */
export type IndexLine =
  | Begun
  | Readonly<
      /** The service has named the task. */
      | { is: 'created'; op: string; task: string }
      /** It is resumed, into this file. */
      | { is: 'opened'; op: string; output: string }
      /** A list or the rest of a search is resumed, and can cost more than was counted. */
      | {
          is: 'reserved';
          op: string;
          time: string;
          worst: number;
          unknown?: UnknownCost | undefined;
          /** It is a further part of what the same run can cost. */
          more?: true | undefined;
        }
      /** How it ended. From then on, this counts in place of what was reserved for it. */
      | {
          is: 'ended';
          op: string;
          outcome: Outcome;
          same?: string | undefined;
          worst?: number | undefined;
          unknown?: UnknownCost | undefined;
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
      return {
        is: 'reserved',
        op,
        time: entry.time,
        worst: entry.credits,
        unknown: entry.unknown,
        more: entry.more,
      };
    case 'rest':
      return {
        is: 'reserved',
        op,
        time: entry.time,
        worst: entry.worst_case ?? 0,
        unknown: entry.unknown,
      };
    case 'spent':
      return { is: 'ended', op, outcome: 'partial', worst: entry.credits, unknown: entry.unknown };
    case 'created':
      return index.is_task ? { is: 'created', op, task: entry.leads_search_id } : undefined;
    case 'opened':
      return entry.output === undefined ? undefined : { is: 'opened', op, output: entry.output };
    case 'terminal': {
      // A run that looks for the order then also finds how it ended.
      const worst = entry.charged === 'no' ? 0 : entry.spent;
      return { is: 'ended', op, outcome: entry.outcome, same: index.same, worst, unknown: entry.unknown };
    }
    default:
      return undefined;
  }
}
