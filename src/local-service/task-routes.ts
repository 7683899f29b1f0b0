import { limits } from '../contract/limits.ts';
import type { CreatedTask, EntitySearchStatusResponse } from '../contract/types.ts';
import { allMembers, objectOf } from '../json/text.ts';
import { authenticate } from './access.ts';
import { alreadyExists } from './admission.ts';
import { Refusal } from './answer.ts';
import type { Rows } from './database.ts';
import { beginSearch, isWhole } from './entity-search.ts';
import { FieldError, queryDigits } from './fields.ts';
import { endOrphans } from './ledger.ts';
import type { Caller, Exchange, Service } from './service.ts';
import { advanceTasks, type SearchRow, watchTasks } from './tasks.ts';

/** POST /v1/entity-search/create_task */
// rule: create.id
export async function createTask(service: Service, exchange: Exchange): Promise<CreatedTask> {
  const begun = await beginSearch(service, exchange);
  if (!('earlier' in begun)) {
    watchTasks(service);
    return { leads_search_id: begun.searchId };
  }
  // The existing task. It has none yet, or never will when it failed after admission.
  const { state, searchId } = begun.earlier;
  if (state === 'released' || searchId === null) throw alreadyExists();
  return { leads_search_id: searchId };
}

/** GET /v1/entity-search/status */
// rule: task.status, credits.free-reads
export function status(service: Service, exchange: Exchange): EntitySearchStatusResponse {
  const caller = authenticate(service, exchange);
  const searchId = searchIdOf(exchange.query);
  const search = service.store.transaction((rows) => readSearch(rows, service, caller, searchId));
  const { status, ready_count, verified_count } = search;
  const stop_reason = status === 'done' || status === 'error' ? search.stop_reason : '';
  return { status: { status, ready_count, verified_count, stop_reason } };
}

/** GET /v1/entity-search/fetch */
export function fetchPage(service: Service, exchange: Exchange): string {
  const caller = authenticate(service, exchange);
  const searchId = searchIdOf(exchange.query);
  // As it was asked for: a position may be beyond what a number can hold.
  // rule: fetch.pts, fetch.num
  const pts = queryDigits(exchange.query, 'pts') ?? String(limits.fetchPts.default);
  const { min, max, default: usual } = limits.fetchNum;
  const num = Number(queryDigits(exchange.query, 'num') ?? usual);
  if (num < min || num > max) throw new FieldError(`num must be from ${min} to ${max}, not ${num}`);
  return service.store.transaction((rows) => {
    const { status, ready_count, entity_limit } = readSearch(rows, service, caller, searchId);
    // rule: page.next, fetch.available, states.running-fetch
    const entities = rows.all<{ record: string }>(
      'SELECT record FROM entities WHERE search_id = ? AND position >= ? AND position < ? ORDER BY position',
      [searchId, Math.min(Number(pts), ready_count), Math.min(Number(pts) + num, ready_count)],
    );
    // rule: page.fields, page.object, page.task, page.state, page.echo, page.count, page.limit
    const head = { object: 'entity_search_items', leads_search_id: searchId, status };
    const tail = { num, count: entities.length, ready_count, limit: entity_limit };
    const records = entities.map(({ record }) => record);
    return objectOf([
      ...allMembers(JSON.stringify(head)),
      ['pts', pts],
      ...allMembers(JSON.stringify(tail)),
      ['entities', `[${records.join(',')}]`],
    ]);
  });
}

// rule: status.id, fetch.id
function searchIdOf(query: URLSearchParams): string {
  const [searchId = '', ...others] = query.getAll('leads_search_id');
  if (searchId === '' || others.length > 0) throw new FieldError('leads_search_id is required exactly once');
  return searchId;
}

/** A task of the calling key, with its progress as of now. Another key's does not exist for it. */
// rule: task.owner, fetch.not-found, states.settlement
function readSearch(rows: Rows, service: Service, { fingerprint }: Caller, searchId: string): SearchRow {
  endOrphans(service, rows);
  advanceTasks(rows, service);
  const forms = service.switches.stream_fetch === 'on' ? 'task stream' : 'task';
  const search = rows.get<SearchRow>(
    'SELECT * FROM searches WHERE search_id = ? AND key = ? AND instr(?, form) > 0',
    [searchId, fingerprint, forms],
  );
  if (search === undefined || !isWhole(searchId)) throw new Refusal(404, 'there is no such task');
  return search;
}
