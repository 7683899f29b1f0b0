import type { Rows } from './database.ts';
import { settle } from './ledger.ts';
import type { Service } from './service.ts';

/** A stream or a task as the state has it. */
export interface SearchRow {
  readonly search_id: string;
  readonly request_id: string;
  readonly entity_limit: number;
  readonly status: 'created' | 'running' | 'done' | 'error';
  readonly stop_reason: string;
  readonly found: number;
  readonly considered: number;
  readonly ready_count: number;
  readonly verified_count: number;
  readonly fails_after: number | null;
  readonly created_at: number;
}

const active = "status IN ('created', 'running') AND form = 'task'";

/**
 * How far a task is depends on nothing but the time since it was created: it goes on without a client, without
 * this process, and after a kill. Whoever looks first (a status or fetch request, the timer here, the next start
 * of any process on the same state) writes the progress down, and settles when it sees the end. Returns whether any
 * are under way still.
 */
// rule: general.task-settles, states.error
export function advanceTasks(rows: Rows, { switches, now }: Service): boolean {
  let areActive = false;
  for (const task of rows.all<SearchRow & { readonly price: number }>(
    `SELECT price, searches.* FROM searches JOIN requests USING (request_id) WHERE ${active}`,
  )) {
    const { status, ready, verified } = progressOf(task, switches, now());
    const hasEnded = status === 'done' || status === 'error';
    areActive ||= !hasEnded;
    if (status === task.status && ready === task.ready_count && verified === task.verified_count) continue;
    const stopReason = status === 'error' ? 'no_data_timeout' : task.stop_reason;
    rows.run(
      'UPDATE searches SET status = ?, ready_count = ?, verified_count = ?, stop_reason = ? WHERE search_id = ?',
      [status, ready, verified, stopReason, task.search_id],
    );
    if (hasEnded) settle(rows, task.request_id, task.price * ready, now());
  }
  return areActive;
}

/** created, then running a step at a time, then done one step after the last entity; never backwards, whatever the clock does. */
function progressOf(
  task: SearchRow,
  { task_start_ms, task_step_ms, task_step }: Service['switches'],
  now: number,
) {
  const elapsed = now - task.created_at - task_start_ms;
  if (elapsed < 0) return { status: task.status, ready: task.ready_count, verified: task.verified_count };
  const found = Math.min(task.found, task.fails_after ?? task.found);
  const size = Math.max(1, task_step);
  const steps = task_step_ms === 0 ? Number.POSITIVE_INFINITY : Math.floor(elapsed / task_step_ms);
  const hasEnded = steps > Math.ceil(found / size);
  const ready = hasEnded ? found : Math.min(found, steps * size);
  // Rejected candidates come up evenly between the accepted ones.
  const rejected = task.considered - task.found;
  // rule: task.verified
  const verified = ready + (hasEnded ? rejected : Math.floor((rejected * ready) / Math.max(1, found)));
  const end: SearchRow['status'] = task.fails_after === null ? 'done' : 'error';
  return {
    status: hasEnded ? end : 'running',
    ready: Math.max(ready, task.ready_count),
    verified: Math.max(verified, task.verified_count),
  } as const;
}

/** Looks at the tasks now and then for as long as any are under way. */
// rule: states.background
export function watchTasks(service: Service): void {
  const { clock, switches, store } = service;
  service.cancelLook ??= clock.after(Math.max(50, switches.task_step_ms), () => {
    service.cancelLook = undefined;
    let areActive = true;
    try {
      areActive = store.transaction((rows) => advanceTasks(rows, service));
    } catch {
      // Out of file descriptors, say. The next look may find all well again.
    }
    if (areActive) watchTasks(service);
  });
}
