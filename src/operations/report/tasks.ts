import { leadLimitOf } from '../../contract/limits.ts';
import { type CreateTaskRequest, hasEnded, type TaskState } from '../../contract/types.ts';
import { LeadpipeError } from '../../errors.ts';
import { type Buyer, isSameBuyer } from '../buyer.ts';
import { isTask } from '../kinds/kinds.ts';
import type { Operation } from '../operation.ts';

/** A task as this machine knows it; `null` for what it does not know. */
export interface KnownTask {
  /** The newest operation on it; the position and the output are those of this operation. */
  readonly operation_id: string;
  readonly time: string;
  /** Null while the answer to its creation has not arrived. */
  readonly leads_search_id: string | null;
  readonly entity_type: string | null;
  readonly objective: string | null;
  /** The last state that was seen. The task may have continued since. */
  readonly state: TaskState | null;
  readonly position: number;
  readonly ready_count: number | null;
  readonly output: string | null;
  /** How many leads were asked for. */
  readonly limit: number | null;
}

/** Pure: turns operations (oldest first) into one record per task (newest first). */
export function toKnownTasks(operations: readonly Operation[]): KnownTask[] {
  const tasks = new Map<string, KnownTask>();
  for (const operation of operations) {
    const task = toKnownTask(operation);
    if (task === undefined) continue;
    const key = task.leads_search_id ?? task.operation_id;
    const earlier = tasks.get(key);
    // The newest comes last, so that the result only has to be reversed.
    tasks.delete(key);
    tasks.set(key, {
      ...task,
      entity_type: task.entity_type ?? earlier?.entity_type ?? null,
      objective: task.objective ?? earlier?.objective ?? null,
      limit: task.limit ?? earlier?.limit ?? null,
      state: task.state ?? earlier?.state ?? null,
      ready_count: task.ready_count ?? earlier?.ready_count ?? null,
    });
  }
  return [...tasks.values()].reverse();
}

/**
 * Asks the service about each task that was not seen to end, which is free. `others` belong to another address or key, and are not asked
 * about; the service no longer knows the `missing`. Throws what a status throws, except `not_found`.
 */
export async function refreshTasks(
  buyer: Buyer,
  tasks: readonly KnownTask[],
  operations: readonly Operation[],
) {
  const ours = new Set(operations.filter((one) => isSameBuyer(buyer, one)).map((one) => one.operationId));
  const { client } = buyer.connection;
  const refreshed: KnownTask[] = [];
  let [others, missing] = [0, 0];
  for (const task of tasks) {
    refreshed.push(task);
    const { leads_search_id: id, operation_id, state: known } = task;
    if (id === null || hasEnded(known)) continue;
    if (!ours.has(operation_id)) {
      others++;
      continue;
    }
    try {
      const { ready_count, status: state } = (await client.status(id, buyer.context.signal)).value.status;
      refreshed.splice(-1, 1, { ...task, state, ready_count });
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
      missing++;
    }
  }
  return { tasks: refreshed, others, missing };
}

/** Undefined for an operation without a task: it was refused, read nothing, or is of another kind. */
function toKnownTask({ end, intent, operationId, progress }: Operation): KnownTask | undefined {
  if (!isTask(intent.command)) return undefined;
  const body = intent.body === undefined ? undefined : (JSON.parse(intent.body) as CreateTaskRequest);
  const { isNamed, leadsSearchId, position, readyCount } = progress;
  const state = progress.state ?? (isNamed ? 'created' : undefined);
  const isRefused = end !== undefined && leadsSearchId === undefined;
  if (isRefused || (state === undefined && body === undefined)) return undefined;
  return {
    operation_id: operationId,
    time: intent.time,
    leads_search_id: leadsSearchId ?? null,
    entity_type: body?.entity_type ?? null,
    objective: body?.objective ?? null,
    state: state ?? null,
    position,
    ready_count: readyCount ?? null,
    output: intent.output,
    limit: body === undefined ? null : leadLimitOf(body),
  };
}
