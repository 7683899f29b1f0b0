import { limits } from '../contract/limits.ts';
import type { CreatedTask, EntitySearchStatusResponse, TaskState } from '../contract/types.ts';
import { alreadyExists, authenticate, type Earlier, endOrphans, takeIn } from './admission.ts';
import { answer, invalid, noStore, Refusal } from './answer.ts';
import { failWhenRehearsed } from './billed.ts';
import type { Rows } from './database.ts';
import { type EntitySearch, findLeads, recordSearch, toSearch, wholeId } from './entity-search.ts';
import { queryDigits, queryInteger } from './request.ts';
import type { Caller, Exchange, Service } from './service.ts';
import { advanceTasks } from './tasks.ts';

/** POST /v1/entity-search/create_task */
export async function createTask(service: Service, exchange: Exchange): Promise<void> {
  const { caller, wanted, earlier } = await takeIn(service, exchange, (body) =>
    toSearch(service, body, true),
  );
  const searchId =
    earlier === undefined ? await runSearch(service, exchange, caller, wanted) : taskOf(earlier);
  // rule: create.id, create.headers
  const body: CreatedTask = { leads_search_id: searchId };
  answer(exchange, 200, body, noStore);
}

/** A repetition gets the existing task. It has none yet, or never will when it failed after admission. */
function taskOf({ state, searchId }: Earlier): string {
  if (state === 'released' || searchId === null) throw alreadyExists();
  return searchId;
}

async function runSearch(
  service: Service,
  exchange: Exchange,
  caller: Caller,
  search: EntitySearch,
): Promise<string> {
  const { requestId, fault } = exchange;
  failWhenRehearsed(service, exchange);
  const found = await findLeads(service, caller, search);
  const searchId = service.store.transaction((rows) => {
    const id = recordSearch(rows, service, exchange, caller, search, found);
    // From here on the task belongs to no process: any of them takes it further.
    rows.run('UPDATE requests SET owner = NULL WHERE request_id = ?', requestId);
    if (fault?.fault === 'task_error') {
      const failsAfter = fault.afterBatches * service.switches.batch_size;
      rows.run('UPDATE searches SET fails_after = ? WHERE search_id = ?', failsAfter, id);
    }
    return id;
  });
  service.tasks.start();
  return searchId;
}

/** GET /v1/entity-search/status */
// rule: task.status, credits.free-reads
export async function status(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const searchId = searchIdOf(exchange.query);
  const search = service.store.transaction((rows) => readSearch(rows, service, caller, searchId));
  const ended = search.status === 'done' || search.status === 'error';
  const body: EntitySearchStatusResponse = {
    status: {
      status: search.status,
      ready_count: search.ready_count,
      verified_count: search.verified_count,
      stop_reason: ended ? search.stop_reason : '',
    },
  };
  answer(exchange, 200, body);
}

/** GET /v1/entity-search/fetch */
export async function fetchPage(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const searchId = searchIdOf(exchange.query);
  // As it was asked for: a position may be beyond what a number can hold.
  // rule: fetch.pts, fetch.num
  const pts = queryDigits(exchange.query, 'pts') ?? String(limits.fetchPts.default);
  const num = queryInteger(exchange.query, 'num', limits.fetchNum);
  const { search, records } = service.store.transaction((rows) => {
    const found = readSearch(rows, service, caller, searchId);
    // rule: page.next, fetch.available, states.running-fetch
    const entities = rows.all<{ record: string }>(
      'SELECT record FROM entities WHERE search_id = ? AND position >= ? AND position < ? ORDER BY position',
      searchId,
      Math.min(Number(pts), found.ready_count),
      Math.min(Number(pts) + num, found.ready_count),
    );
    return { search: found, records: entities.map(({ record }) => record) };
  });
  // rule: page.fields, page.object, page.task, page.state, page.echo, page.count, page.limit
  const head = {
    object: 'entity_search_items',
    leads_search_id: searchId,
    status: search.status,
    pts: 0,
    num,
    count: records.length,
    ready_count: search.ready_count,
    limit: search.entity_limit,
  };
  const echoed = JSON.stringify(head).replace('"pts":0,', `"pts":${pts},`);
  answer(exchange, 200, `${echoed.slice(0, -1)},"entities":[${records.join(',')}]}`);
}

// rule: status.id, fetch.id
function searchIdOf(query: URLSearchParams): string {
  const [searchId = '', ...others] = query.getAll('leads_search_id');
  if (searchId === '' || others.length > 0) throw invalid('leads_search_id is required exactly once');
  return searchId;
}

interface SearchRow {
  readonly status: TaskState;
  readonly stop_reason: string;
  readonly ready_count: number;
  readonly verified_count: number;
  readonly entity_limit: number;
}

/** A task of the calling key, with its progress as of now. Another key's does not exist for it. */
// rule: task.owner, fetch.not-found
function readSearch(rows: Rows, service: Service, { fingerprint }: Caller, searchId: string): SearchRow {
  const { switches, now } = service;
  endOrphans(service, rows);
  // rule: states.settlement
  advanceTasks(rows, switches, now());
  const search = rows.get<SearchRow>(
    `SELECT status, stop_reason, ready_count, verified_count, entity_limit FROM searches
     WHERE search_id = ? AND key = ? AND (form = 'task' OR ?)`,
    wholeId(searchId),
    fingerprint,
    switches.stream_fetch === 'on',
  );
  if (search === undefined) throw new Refusal(404, 'there is no such task');
  return search;
}
