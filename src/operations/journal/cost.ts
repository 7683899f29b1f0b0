import { isPaid, rowsOf } from '../kinds.ts';
import { exact, toCostAtMost, toWorstCase } from '../spending.ts';
import type { HistoryRecord } from './history.ts';
import type { Intent } from './journal.ts';

/** Pure: the credits that a purchase has cost at most; null where no price was known. */
export function costOf(
  { charged, excluded, leads, state }: Pick<HistoryRecord, 'charged' | 'excluded' | 'leads' | 'state'>,
  { command, body = '{}', worst_case }: Intent,
  sentRows = 0,
): number | null {
  // Each row that was sent may have cost what one costs at most.
  if (rowsOf(command) !== undefined) return worst_case == null ? null : exact(worst_case * sentRows);
  if (!isPaid(command)) return null;
  const request = JSON.parse(body);
  // Journals of earlier versions have no worst case; that of a plain search needs no price.
  const worst = worst_case === undefined ? toWorstCase(command, request, {}).credits : worst_case;
  // What was dropped here arrived, and is paid for.
  const arrived = leads === null ? null : leads + (excluded ?? 0);
  return toCostAtMost(command, request, worst, { charged, leads: arrived, complete: state === 'complete' });
}
