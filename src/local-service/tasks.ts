import { limits } from '../contract/limits.ts';
import type { CreatedTask, EntitySearchStatusResponse } from '../contract/types.ts';
import { alreadyExists } from './admission.ts';
import type { Rows } from './database.ts';
import { beginSearch, isWhole } from './entity-search.ts';
import { invalid, queryDigits, Refusal } from './fields.ts';
import { endOrphans, settle } from './ledger.ts';
import type { Exchange, Service } from './service.ts';

/** POST /v1/entity-search/create_task */
// rule: create.id
export async function createTask(service: Service, exchange: Exchange): Promise<CreatedTask> {
  const { searchId, isNew } = await beginSearch(service, exchange);
  // The task that has this key is still being created, or failed after admission.
  if (searchId === null) throw alreadyExists();
  if (isNew) watchTasks(service);
  return { leads_search_id: searchId };
}

/** GET /v1/entity-search/status */
// rule: task.status, credits.free-reads
export function status(service: Service, exchange: Exchange): EntitySearchStatusResponse {
  return readSearch(service, exchange, ({ status, ready_count, verified_count, stop_reason }) => {
    const hasEnded = status === 'done' || status === 'error';
    return { status: { status, ready_count, verified_count, stop_reason: hasEnded ? stop_reason : '' } };
  });
}

/** GET /v1/entity-search/fetch */
// rule: fetch.pts, fetch.num
export function fetchPage(service: Service, exchange: Exchange): string {
  // As it was written: a position may be larger than a number can hold.
  const pts = queryDigits(exchange.query, 'pts') ?? String(limits.fetchPts.default);
  const { min, max, default: usual } = limits.fetchNum;
  const num = Number(queryDigits(exchange.query, 'num') ?? usual);
  if (num < min || num > max) throw invalid(`num must be from ${min} to ${max}, not ${num}`);
  return readSearch(service, exchange, ({ search_id, status, ready_count, entity_limit }, rows) => {
    // rule: page.next, fetch.available, states.running-fetch
    const entities = rows.all<{ record: string }>(
      'SELECT record FROM entities WHERE search_id = ? AND position >= ? AND position < ? ORDER BY position',
      [search_id, Math.min(Number(pts), ready_count), Math.min(Number(pts) + num, ready_count)],
    );
    // rule: page.fields, page.object, page.task, page.state, page.echo, page.count, page.limit
    const head = JSON.stringify({ object: 'entity_search_items', leads_search_id: search_id, status });
    const rest = JSON.stringify({ num, count: entities.length, ready_count, limit: entity_limit });
    const records = entities.map(({ record }) => record).join(',');
    return `${head.slice(0, -1)},"pts":${pts},${rest.slice(1, -1)},"entities":[${records}]}`;
  });
}

/** A stream or a task as the state has it. */
type SearchRow = Readonly<Record<'search_id' | 'request_id' | 'stop_reason', string>> &
  Readonly<Record<'entity_limit' | 'found' | 'considered' | 'ready_count' | 'verified_count', number>> & {
    readonly status: 'created' | 'running' | 'done' | 'error';
    readonly fails_after: number | null;
    readonly created_at: number;
  };

/** Reads a task of the calling key, with its progress now. Tasks of other keys do not exist for it. */
// rule: status.id, fetch.id, task.owner, fetch.not-found, states.settlement
function readSearch<Answer>(
  service: Service,
  { query, caller }: Exchange,
  toAnswer: (search: SearchRow, rows: Rows) => Answer,
): Answer {
  const [searchId = '', ...others] = query.getAll('leads_search_id');
  if (searchId === '' || others.length > 0) throw invalid('leads_search_id is required exactly once');
  const forms = service.switches.stream_fetch === 'on' ? 'task stream' : 'task';
  return service.store.transaction((rows) => {
    endOrphans(service, rows);
    advanceTasks(rows, service);
    const search = rows.get<SearchRow>(
      'SELECT * FROM searches WHERE search_id = ? AND key = ? AND instr(?, form) > 0',
      [searchId, caller.fingerprint, forms],
    );
    if (search === undefined || !isWhole(searchId)) throw new Refusal(404, 'there is no such task');
    return toAnswer(search, rows);
  });
}

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
    `SELECT price, searches.* FROM searches JOIN requests USING (request_id)
     WHERE status IN ('created', 'running') AND form = 'task'`,
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
  // Rejected candidates appear evenly between the accepted ones.
  const rejected = task.considered - task.found;
  // rule: task.verified
  const verified = ready + (hasEnded ? rejected : Math.floor((rejected * ready) / Math.max(1, found)));
  const end = task.fails_after === null ? 'done' : 'error';
  return {
    status: hasEnded ? end : 'running',
    ready: Math.max(ready, task.ready_count),
    verified: Math.max(verified, task.verified_count),
  };
}

/** Looks at the tasks from time to time, while any are running. */
// rule: states.background
export function watchTasks(service: Service): void {
  const { clock, switches, store } = service;
  service.cancelLook ??= clock.after(Math.max(50, switches.task_step_ms), () => {
    service.cancelLook = undefined;
    let areActive = true;
    try {
      areActive = store.transaction((rows) => advanceTasks(rows, service));
    } catch {
      // For example, there are no file descriptors. The next look may succeed.
    }
    if (areActive) watchTasks(service);
  });
}
