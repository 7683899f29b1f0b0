import type { Clock } from '../clock.ts';
import type { TaskState } from '../contract/types.ts';
import type { Rows } from './database.ts';
import { type Store, settle } from './store.ts';
import type { Switches } from './switches.ts';

/**
 * How far a task is depends on nothing but the time since it was created: it goes on without a client, without
 * this process, and after a kill. Whoever looks first (a status or fetch request, the timer here, the next start
 * of any process on the same state) writes the progress down, and settles when it sees the end.
 */
// rule: general.task-settles, states.error
export function advanceTasks(rows: Rows, switches: Switches, now: number): void {
  for (const task of rows.all<ActiveTask>(
    `SELECT searches.search_id, requests.request_id, price, status, stop_reason, found, considered, ready_count,
            verified_count, fails_after, searches.created_at
     FROM searches JOIN requests USING (request_id)
     WHERE status IN ('created', 'running') AND form = 'task'`,
  )) {
    const { status, ready, verified } = progressOf(task, switches, now);
    if (status === task.status && ready === task.ready_count && verified === task.verified_count) continue;
    rows.run(
      'UPDATE searches SET status = ?, ready_count = ?, verified_count = ?, stop_reason = ? WHERE search_id = ?',
      status,
      ready,
      verified,
      status === 'error' ? 'no_data_timeout' : task.stop_reason,
      task.search_id,
    );
    if (status === 'done' || status === 'error') settle(rows, task.request_id, task.price * ready, now);
  }
}

interface ActiveTask {
  readonly search_id: string;
  readonly request_id: string;
  readonly price: number;
  readonly status: TaskState;
  readonly stop_reason: string;
  readonly found: number;
  readonly considered: number;
  readonly ready_count: number;
  readonly verified_count: number;
  readonly fails_after: number | null;
  readonly created_at: number;
}

interface Progress {
  readonly status: TaskState;
  readonly ready: number;
  readonly verified: number;
}

/** created, then running a step at a time, then done one step after the last entity; never backwards, whatever the clock does. */
function progressOf(task: ActiveTask, switches: Switches, now: number): Progress {
  const elapsed = now - task.created_at - switches.task_start_ms;
  if (elapsed < 0) return { status: task.status, ready: task.ready_count, verified: task.verified_count };
  const found = Math.min(task.found, task.fails_after ?? task.found);
  const steps =
    switches.task_step_ms === 0 ? Number.POSITIVE_INFINITY : Math.floor(elapsed / switches.task_step_ms);
  const stepsNeeded = Math.ceil(found / Math.max(1, switches.task_step)) + 1;
  const ended = steps >= stepsNeeded;
  const ready = ended ? found : Math.min(found, steps * Math.max(1, switches.task_step));
  // Rejected candidates come up evenly between the accepted ones.
  const rejected = task.considered - task.found;
  // rule: task.verified
  const verified = ready + (ended ? rejected : Math.floor((rejected * ready) / Math.max(1, found)));
  return {
    status: ended ? (task.fails_after === null ? 'done' : 'error') : 'running',
    ready: Math.max(ready, task.ready_count),
    verified: Math.max(verified, task.verified_count),
  };
}

/** Looks at the tasks now and then while there are any under way. */
export interface TaskClock {
  /** To be called when a task was created. */
  start(): void;
  stop(): void;
}

// rule: states.background
export function createTaskClock(
  store: Store,
  switches: Switches,
  clock: Clock,
  log: ((line: string) => void) | undefined,
): TaskClock {
  let cancel: (() => void) | undefined;
  let stopped = false;
  let failing = false;
  const look = () => {
    cancel = undefined;
    if (!stopped && areActive()) schedule();
  };
  const areActive = (): boolean => {
    try {
      return store.transaction((rows) => {
        advanceTasks(rows, switches, clock.now().getTime());
        failing = false;
        const active = rows.get(
          "SELECT 1 FROM searches WHERE status IN ('created', 'running') AND form = 'task' LIMIT 1",
        );
        return active !== undefined;
      });
    } catch (error) {
      // Out of file descriptors, say. The next look may find all well again.
      if (!failing) log?.(`tasks: ${(error as Error).message}`);
      failing = true;
      return true;
    }
  };
  const schedule = () => {
    cancel ??= clock.after(Math.max(50, switches.task_step_ms), look);
  };
  return {
    start: schedule,
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}
