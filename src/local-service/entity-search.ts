import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../contract/limits.ts';
import { type EntityType, entityTypes, streamEntityTypes, webSearchEntityTypes } from '../contract/types.ts';
import { checkEnabled } from './admission.ts';
import { invalid } from './answer.ts';
import type { Match } from './catalogue.ts';
import type { Rows } from './database.ts';
import { whatIsKnown } from './demonstration.ts';
import { answersOf } from './lead.ts';
import { type Body, flag, integer, oneOf, onlyFields, text, texts } from './request.ts';
import type { Caller, Exchange, Service } from './service.ts';

export type EntitySearch = ReturnType<typeof toSearch>;

const fields = [
  'entity_type',
  'objective',
  'limit',
  'enrich_fields',
  'dedup_service_leads',
  'dedup_custom_leads',
];

/** What a request asks for, and what it can cost. */
// rule: search.objective, search.limit, search.enrich-fields, search.dedup-service, search.dedup-custom
export function toSearch(service: Service, { fields: given }: Body, isTask: boolean) {
  onlyFields(given, isTask ? [...fields, 'enable_web_search'] : fields);
  const { switches } = service;
  const search = {
    entityType: oneOf<EntityType>(given, 'entity_type', isTask ? entityTypes : streamEntityTypes),
    objective: text(given, 'objective', limits.entityObjective),
    limit: integer(given, 'limit', limits.entityLimit),
    enrichFields: texts(given, 'enrich_fields', limits.entityEnrichFields),
    dedupServiceLeads: texts(given, 'dedup_service_leads', limits.dedupServiceLeads),
    dedupCustomLeads: texts(given, 'dedup_custom_leads', limits.dedupCustomLeads),
    enableWebSearch: isTask && flag(given, 'enable_web_search'),
  };
  // rule: create.web-search
  if (webSearchEntityTypes.some((type) => type === search.entityType) && !search.enableWebSearch)
    throw invalid(`enable_web_search must be true for ${search.entityType}`);
  checkEnabled(service, search.entityType);
  const price =
    switches.price_search +
    (search.enrichFields.length > 0 ? switches.price_enrich_fields : 0) +
    (search.enableWebSearch ? switches.price_web_search : 0);
  return { ...search, cost: { price, units: search.limit } };
}

/** What a search found: unique leads, exclusions left out, at most `limit`. */
export interface Found {
  readonly leads: readonly { readonly identity: string; readonly record: string }[];
  readonly stopReason: 'limit' | 'source_finished' | 'rejected_streak' | 'no_data_timeout';
  /** Leads looked at, rejected ones included. */
  readonly considered: number;
}

// rule: search.up-to-limit, search.dedup-service, search.dedup-custom, events.unique
export async function findLeads(service: Service, caller: Caller, search: EntitySearch): Promise<Found> {
  const names = new Set(search.dedupCustomLeads.map(nameKey));
  const taken = await deliveredBy(service, caller, search.dedupServiceLeads);
  const { matches, considered } = await service.catalogue.search(search.entityType, search.objective);
  const leads: { identity: string; record: string }[] = [];
  const { rejected_streak, no_data_timeout, web_only } = service.switches;
  let stopReason: Found['stopReason'] = 'source_finished';
  let fits = false;
  for await (const match of matches) {
    fits = true;
    const { identity, name, id } = match.lead;
    if (web_only > 0 && id % web_only === 0 && !search.enableWebSearch) continue;
    if (names.has(nameKey(name)) || taken.has(identity)) continue;
    if (rejected_streak > 0 && leads.length === rejected_streak) stopReason = 'rejected_streak';
    else if (no_data_timeout > 0 && leads.length === no_data_timeout) stopReason = 'no_data_timeout';
    if (stopReason !== 'source_finished') break;
    taken.add(identity);
    leads.push({ identity, record: toRecord(match, search.enrichFields) });
    if (leads.length === search.limit) stopReason = 'limit';
    if (leads.length === search.limit) break;
  }
  if (!fits) sayWhatIsKnown(service, search.entityType);
  return { leads, stopReason, considered: Math.max(considered, leads.length) };
}

/** The interface has no place for it: it is said beside the answer, where somebody listens. */
function sayWhatIsKnown({ catalogue, hint }: Service, type: EntityType): void {
  if (!catalogue.fictional || hint === undefined) return;
  for (const line of whatIsKnown(type, catalogue.all(type))) hint(line);
}

function nameKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase();
}

/** The leads that earlier searches of the same account delivered; other searches are none of its business. */
async function deliveredBy(
  { store }: Service,
  { key }: Caller,
  searchIds: readonly string[],
): Promise<Set<string>> {
  const taken = new Set<string>();
  for (const searchId of new Set(searchIds)) {
    const delivered = store.transaction((rows) =>
      rows.all<{ identity: string }>(
        `SELECT identity FROM entities JOIN searches USING (search_id)
         WHERE search_id = ? AND account = ? AND position < ready_count`,
        wholeId(searchId),
        key.account,
      ),
    );
    for (const { identity } of delivered) taken.add(identity);
    await nextTurn();
  }
  return taken;
}

/** SQLite reads a text up to its first NUL, and what goes on after it is another ID. */
export function wholeId(searchId: string): string {
  return searchId.includes('\0') ? '' : searchId;
}

/** The entity as it is sent: the catalogue's own text, to which the search adds what it says about it. */
// rule: entity.fields, entity.enrich-fields, entity.not-enriched
function toRecord({ lead, score, reason }: Match, enrichFields: readonly string[]): string {
  const added: Record<string, unknown> = { score: { score: score.toFixed(2), reason } };
  if (enrichFields.length > 0) {
    const answerOf = answersOf(lead);
    added.enrich_fields = Object.fromEntries(
      enrichFields.map((field) => {
        const answer = answerOf(field);
        return [field, { content: answer?.text ?? '', reference: answer?.reference ?? '' }];
      }),
    );
  }
  return `${lead.record.trimEnd().slice(0, -1)},${JSON.stringify(added).slice(1)}`;
}

/** Records a search with everything it found; what of it is delivered or ready is `ready_count`. */
export function recordSearch(
  rows: Rows,
  { now }: Service,
  { requestId, operation }: Exchange,
  { key, fingerprint }: Caller,
  { limit }: EntitySearch,
  { stopReason, leads, considered }: Found,
): string {
  const searchId = `ls_${randomUUID()}`;
  const [form, status] = operation === 'createTask' ? ['task', 'created'] : ['stream', 'running'];
  rows.run('UPDATE requests SET search_id = ? WHERE request_id = ?', searchId, requestId);
  rows.run(
    `INSERT INTO searches (search_id, request_id, account, key, form, entity_limit, status, stop_reason, found, considered, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    searchId,
    requestId,
    key.account,
    fingerprint,
    form,
    limit,
    status,
    stopReason,
    leads.length,
    considered,
    now(),
  );
  leads.forEach(({ identity, record }, position) => {
    rows.run('INSERT INTO entities VALUES (?, ?, ?, ?)', searchId, position, identity, record);
  });
  return searchId;
}
