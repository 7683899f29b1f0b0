import { limits } from '../contract/limits.ts';
import type { CreditBalance, EntitySearchStatusResponse } from '../contract/types.ts';
import type { Rows } from '../sqlite/database.ts';
import { invalid, queryDigits, Refusal } from './fields.ts';
import { fundsOf, type SearchRow, transactionNow } from './ledger.ts';
import type { Exchange, Service } from './service.ts';

/* The free endpoints: the balance, and tasks. */

/** GET /v1/credit/balance */
export function balance(service: Service, { caller }: Exchange): CreditBalance {
  const { switches, now } = service;
  const funds = transactionNow(service, (rows) => fundsOf(rows, caller, service));
  const refresh = switches.next_refresh_s;
  return {
    object: 'credit_balance',
    available_credits: funds.available,
    updated_at: toDateTime(funds.updatedAt),
    ...(refresh === 0 ? {} : { next_credit_refresh_at: toDateTime(now() + refresh * 1000) }),
  };
}

function toDateTime(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** GET /v1/entity-search/status */
export function status(service: Service, exchange: Exchange): EntitySearchStatusResponse {
  return readSearch(service, exchange, ({ status, ready_count, verified_count, stop_reason }) => {
    const hasEnded = status === 'done' || status === 'error';
    return { status: { status, ready_count, verified_count, stop_reason: hasEnded ? stop_reason : '' } };
  });
}

/** GET /v1/entity-search/fetch */
export function fetchPage(service: Service, exchange: Exchange): string {
  // Kept as text: a position may be larger than a number can hold.
  const pts = queryDigits(exchange.query, 'pts') ?? String(limits.fetchPts.default);
  const { min, max, default: defaultNum } = limits.fetchNum;
  const num = Number(queryDigits(exchange.query, 'num') ?? defaultNum);
  if (num < min || num > max) throw invalid(`num must be from ${min} to ${max}, not ${num}`);
  return readSearch(service, exchange, ({ search_id, status, ready_count, entity_limit }, rows) => {
    const entities = rows.all<{ record: string }>(
      'SELECT record FROM entities WHERE search_id = ? AND position >= ? AND position < ? ORDER BY position',
      [search_id, Math.min(Number(pts), ready_count), Math.min(Number(pts) + num, ready_count)],
    );
    const head = JSON.stringify({ object: 'entity_search_items', leads_search_id: search_id, status });
    const rest = JSON.stringify({ num, count: entities.length, ready_count, limit: entity_limit });
    const records = entities.map(({ record }) => record).join(',');
    return `${head.slice(0, -1)},"pts":${pts},${rest.slice(1, -1)},"entities":[${records}]}`;
  });
}

/** Reads a task of the calling key, with its progress now. Tasks of other keys do not exist for it. */
function readSearch<Answer>(
  service: Service,
  { query, caller }: Exchange,
  toAnswer: (search: SearchRow, rows: Rows) => Answer,
): Answer {
  const [searchId = '', ...others] = query.getAll('leads_search_id');
  if (searchId === '' || others.length > 0) throw invalid('leads_search_id is required exactly once');
  const forms = service.switches.stream_fetch === 'on' ? 'task stream' : 'task';
  return transactionNow(service, (rows) => {
    const search = rows.get<SearchRow>(
      'SELECT * FROM searches WHERE search_id = ? AND key = ? AND instr(?, form) > 0',
      [searchId, caller.fingerprint, forms],
    );
    if (search === undefined) throw new Refusal(404, 'there is no such task');
    return toAnswer(search, rows);
  });
}
