import { randomUUID } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import { type CreatedTask, entityTypes, streamEntityTypes, webSearchEntityTypes } from '../contract/types.ts';
import { admit, alreadyExists, type Received, receive } from './admission.ts';
import { checkEnabled } from './authentication.ts';
import type { Match } from './catalogue-search.ts';
import { exampleSearches } from './demonstration.ts';
import { flag, integer, invalid, oneOf, readFields, text, texts } from './fields.ts';
import { answersOf } from './lead.ts';
import type { Caller, Exchange, Service } from './service.ts';

const streamFields = {
  entity_type: oneOf(streamEntityTypes),
  objective: text(limits.entityObjective),
  limit: integer(limits.entityLimit),
  enrich_fields: texts(limits.entityEnrichFields),
  dedup_service_leads: texts(limits.dedupServiceLeads),
  dedup_custom_leads: texts(limits.dedupCustomLeads),
};
const taskFields = { ...streamFields, entity_type: oneOf(entityTypes), enable_web_search: flag };

/** The search that a request asks for, and its maximum cost. */
function toSearch(service: Service, { fields }: Received, isTask: boolean) {
  const search = { enable_web_search: false, ...readFields(fields, isTask ? taskFields : streamFields) };
  const { entity_type, enable_web_search, enrich_fields, limit } = search;
  if (webSearchEntityTypes.some((type) => type === entity_type) && !enable_web_search)
    throw invalid(`enable_web_search must be true for ${entity_type}`);
  checkEnabled(service, entity_type);
  const { price_search, price_enrich_fields, price_web_search } = service.switches;
  const price =
    price_search +
    (enrich_fields.length > 0 ? price_enrich_fields : 0) +
    (enable_web_search ? price_web_search : 0);
  return { ...search, price, units: limit };
}
type Search = ReturnType<typeof toSearch>;

/**
 * Admits a search, finds its leads and stores them all; `ready_count` is the number delivered or ready. If an earlier request had the same key, its
 * task is returned. Throws 409 for a stream, or a task that is still being created or has failed after admission.
 */
export async function beginSearch(service: Service, exchange: Exchange) {
  const { store, now, switches } = service;
  const { requestId, operation, fault, caller } = exchange;
  const isTask = operation === 'createTask';
  const received = await receive(exchange);
  const wanted = toSearch(service, received, isTask);
  const earlier = admit(service, exchange, received, wanted);
  if (isTask && earlier?.searchId) return { searchId: earlier.searchId, leads: [], stopReason: '' };
  if (earlier !== undefined) throw alreadyExists();
  const { leads, stopReason, considered } = await findLeads(service, caller, wanted);
  const searchId = `ls_${randomUUID()}`;
  const failsAfter = fault?.fault === 'task_error' ? fault.afterBatches * switches.batch_size : null;
  store.transaction((rows) => {
    // A task belongs to no process: any process continues it.
    rows.run('UPDATE requests SET search_id = ?, owner = iif(?, NULL, owner) WHERE request_id = ?', [
      ...[searchId, isTask ? 1 : 0, requestId],
    ]);
    rows.run('INSERT INTO searches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)', [
      ...[searchId, requestId, caller.key.account, caller.fingerprint, isTask ? 'task' : 'stream'],
      ...[wanted.limit, isTask ? 'created' : 'running', stopReason],
      ...[leads.length, considered, failsAfter, now()],
    ]);
    for (const [position, { identity, record }] of leads.entries())
      rows.run('INSERT INTO entities VALUES (?, ?, ?, ?)', [searchId, position, identity, record]);
  });
  return { searchId, leads, stopReason };
}

/** Unique leads without the exclusions, at most `limit`. */
async function findLeads(service: Service, caller: Caller, search: Search) {
  const { switches, catalogue, hint } = service;
  const names = new Set(search.dedup_custom_leads.map(nameKey));
  const taken = deliveredBy(service, caller, search.dedup_service_leads);
  const { matches, considered } = await catalogue.search(search.entity_type, search.objective);
  const leads: { identity: string; record: string }[] = [];
  let stopReason: string | undefined;
  let fits = false;
  for (const match of matches) {
    fits = true;
    const { identity, name, id } = match.lead;
    if (switches.web_only > 0 && id % switches.web_only === 0 && !search.enable_web_search) continue;
    if (names.has(nameKey(name)) || taken.has(identity)) continue;
    stopReason = (['rejected_streak', 'no_data_timeout'] as const).find(
      (reason) => switches[reason] > 0 && switches[reason] === leads.length,
    );
    if (stopReason !== undefined) break;
    leads.push({ identity, record: toRecord(match, search.enrich_fields) });
    taken.add(identity);
    if (leads.length === search.limit) stopReason = 'limit';
    if (stopReason !== undefined) break;
  }
  // The interface has no field for these examples, so they are printed.
  if (!fits && catalogue.fictional && hint !== undefined)
    for (const line of exampleSearches(search.entity_type, await catalogue.all(search.entity_type)))
      hint(line);
  stopReason ??= 'source_finished';
  return { leads, stopReason, considered };
}

function nameKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase();
}

/** The leads that earlier searches of the same account delivered; searches of other accounts are ignored. */
function deliveredBy({ store }: Service, { key }: Caller, searchIds: readonly string[]): Set<string> {
  const sql = `SELECT identity FROM entities JOIN searches USING (search_id)
    WHERE search_id = ? AND account = ? AND position < ready_count`;
  const delivered = store.transaction((rows) =>
    searchIds.flatMap((searchId) => rows.all<{ identity: string }>(sql, [searchId, key.account])),
  );
  return new Set(delivered.map(({ identity }) => identity));
}

/** The entity as it is sent: the catalogue's text, with the score and the enriched fields. */
function toRecord({ lead, score, reason }: Match, enrichFields: readonly string[]): string {
  const answerOf = answersOf(lead);
  const fields = enrichFields.map((field) => {
    const { text: content, reference } = answerOf(field) ?? { text: '', reference: '' };
    return [field, { content, reference }];
  });
  const added = {
    score: { score: score.toFixed(2), reason },
    ...(fields.length === 0 ? {} : { enrich_fields: Object.fromEntries(fields) }),
  };
  return `${lead.record.trimEnd().slice(0, -1)},${JSON.stringify(added).slice(1)}`;
}

/** POST /v1/entity-search/create_task */
export async function createTask(service: Service, exchange: Exchange): Promise<CreatedTask> {
  const { searchId: leads_search_id } = await beginSearch(service, exchange);
  return { leads_search_id };
}
