import type { Context } from '../../../context.ts';
import { limits } from '../../../contract/limits.ts';
import { type CreateTaskRequest, terminalTaskStates } from '../../../contract/types.ts';
import type { OperationEvent, Running } from '../../../operations/events.ts';
import type { Listed } from '../../../operations/only-new/filter.ts';
import { type Prices, toCostAtMost, toWorstCase } from '../../../operations/money.ts';
import type { TaskReading } from '../../../operations/task/reading.ts';
import { close, toNothingFound, toNothingNew, toSaving } from '../../messages/closing-line.ts';
import { toContinuation } from '../../messages/hints.ts';
import { runOperation } from '../../records/run-operation.ts';
import type { ReadOptions } from './reading-options.ts';

/** Reads a task, and reports the result. What this run buys has a price. Throws what the operation throws. */
export async function runReading<Reading extends (TaskReading & Listed) | undefined>(
  context: Context,
  options: ReadOptions,
  operation: Running<Reading>,
  asked?: { readonly request: CreateTaskRequest; readonly prices?: Prices },
  on?: (event: OperationEvent) => void,
): Promise<Reading> {
  const most = asked && (asked.request.limit ?? limits.entityLimit.default);
  const reading = await runOperation(context, options, operation, { most, on });
  if (reading === undefined) return reading;
  const { leads, excluded, leadsSearchId, list, summary } = reading;
  const { position, readyCount, state, stopReason } = summary;
  const { append: _, ...route } = options;
  const again = toContinuation({ leadsSearchId, goOn: 'fetch', pts: 0, operationId: undefined }, route);
  const isOver = terminalTaskStates.some((one) => one === state);
  const isPast = leads + excluded === 0 && readyCount > 0 && position >= readyCount;
  close(context, options, {
    leads,
    excluded,
    also: isPast ? `${readyCount} are ready, and position ${position} is past them` : undefined,
    state,
    stopReason,
    limit: most,
    ...(asked?.prices && { costAtMost: toCost(asked.request, asked.prices, leads + excluded) }),
    ids: { ...reading, of: 'task', idempotencyKey: reading.bought },
    why: isOver && list ? toNothingNew(leads, list) : undefined,
    next: isPast
      ? `To read all of them, for free: ${again}`
      : isOver
        ? toSaving(context, options, leads, [again])
        : undefined,
  });
  return reading;
}

function toCost(request: CreateTaskRequest, prices: Prices, leads: number): number | null {
  const { credits } = toWorstCase('task run', request, prices);
  return toCostAtMost('task run', request, credits, { charged: null, complete: true, leads });
}

/** With `--exit-status`, throws where a task has brought nothing. */
export function checkFound(reading: TaskReading | undefined, options: ReadOptions): void {
  if (reading?.leads === 0 && options.exitStatus) throw toNothingFound(reading, options);
}
