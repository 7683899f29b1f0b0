import { limits } from '../../../src/contract/limits.ts';
import {
  type EntityType,
  entityTypes,
  streamEntityTypes,
  webSearchEntityTypes,
} from '../../../src/contract/types.ts';
import { unless } from '../checks.ts';
import { type Row, scenarios, table } from '../row.ts';
import { notTried, type Request, searchIdOf, statusOf, type TestedService } from '../service.ts';
import { enrichedWith, flawsOf, memberOf, quoted, textIn } from '../shapes.ts';
import { eventsOf, identityOf, leadsIn } from '../stream.ts';
import { choiceRows, integerRows, listRows, textRows } from './fields.ts';
import { type Form, nameOf, once, post, rare } from './samples.ts';

/** The two forms of Entity Search, which have the same fields, exclusions and entities. */

export function searchRows(form: Form): Row[] {
  const prefix = `${nameOf(form)}/`;
  const isTask = form === 'createTask';
  /** How types that only tasks have must be refused. */
  const webSearch = (id: string, change: object) =>
    Object.fromEntries(
      webSearchEntityTypes.map((type) => [
        `entity-type-${type}-${id}: ${type} is for tasks alone, and needs enable_web_search: true`,
        post(form, { entity_type: type, ...change }),
      ]),
    );
  const types = isTask ? entityTypes : streamEntityTypes;
  const lists = [limits.entityEnrichFields, limits.dedupServiceLeads, limits.dedupCustomLeads];
  return [
    ...choiceRows(form, 'entity_type', types, changeFor),
    ...textRows(form, limits.entityObjective),
    ...integerRows(form, limits.entityLimit, rare),
    ...lists.flatMap((limit) => listRows(form, limit)),
    ...table(prefix, 422, {
      ...webSearch('without-web-search', {}),
      ...webSearch(`web-search-${!isTask}`, { enable_web_search: !isTask }),
      'unknown-field: unknown fields are rejected': post(form, { entity_kind: 'company' }),
      ...(isTask
        ? { 'web-search-a-string: enable_web_search is a boolean': post(form, { enable_web_search: 'true' }) }
        : { 'web-search: only tasks accept enable_web_search': post(form, { enable_web_search: true }) }),
    }),
    ...(isTask
      ? table(`${prefix}web-search-`, 200, {
          'true: enable_web_search is allowed for every type': post(form, { enable_web_search: true }),
          'false: enable_web_search can be false': post(form, { enable_web_search: false }),
        })
      : []),
    ...exclusionRows(form),
    ...enrichedRows(form),
  ];
}

function changeFor(type: EntityType): object {
  if (type === 'company') return {};
  const objective = type === 'person' ? 'founders in Berlin' : type === 'shopify_store' ? 'coffee' : 'travel';
  return { objective, ...(webSearchEntityTypes.some((one) => one === type) && { enable_web_search: true }) };
}

/** The result of a search. */
export interface Found {
  readonly leads: readonly object[];
  /** How many leads it returned, and was charged for. A page may be short, so the status of a task says it. */
  readonly count: number;
  readonly id: string | undefined;
  readonly stopReason: unknown;
}

/** Runs a search in either form, to its end. */
export async function find(service: TestedService, request: Request): Promise<Found> {
  const answer = await service.accepted(request);
  if (request.endpoint === 'search') {
    const { entities, leadsSearchId, dones } = eventsOf(answer);
    return { leads: entities, count: entities.length, id: leadsSearchId, stopReason: dones[0]?.stop_reason };
  }
  const id = searchIdOf(answer);
  const ended = await service.statusWhen(id);
  const query = { leads_search_id: id, num: String(limits.fetchNum.max) };
  const page = await service.accepted({ endpoint: 'fetch', query });
  const stopReason = memberOf(ended.json, 'status.stop_reason');
  return { leads: leadsIn(page), count: statusOf(ended).ready, id, stopReason };
}

function foundOnce(form: Form, limit: number) {
  const request = post(form, { limit });
  return { request, take: once((service) => find(service, request)) };
}

/** The same leads for all rows that check or exclude them, and a few more, so that some are left. */
const three = { search: foundOnce('search', 3), createTask: foundOnce('createTask', 3) };
const six = { search: foundOnce('search', 6), createTask: foundOnce('createTask', 6) };

/** What both forms must exclude. */
function exclusionRows(form: Form): Row[] {
  function excluding(rule: string, other: Form, by: 'dedup_service_leads' | 'dedup_custom_leads'): Row[] {
    const isById = by === 'dedup_service_leads';
    const pays = [six[form].request, three[other].request, post(form, { limit: 3 })];
    const run = async (service: TestedService) => {
      const more = await six[form].take(service);
      const { leads, id } = await three[other].take(service);
      const named = isById ? [id] : leads.map((lead) => textIn(lead, 'name'));
      if (leads.length === 0 || named.includes(undefined))
        throw notTried('the search found no leads, or they have no name or leads_search_id');
      const found = await find(service, post(form, { limit: 3, [by]: named }));
      const sameness = isById ? identityOf : (lead: object) => textIn(lead, 'name') ?? '';
      const excluded = new Set(leads.map(sameness));
      const { count, stopReason } = found;
      return [
        ...found.leads
          .filter((lead) => excluded.has(sameness(lead)))
          .map((lead) => `${quoted(textIn(lead, 'name'))} came although it was excluded`),
        // There were six, and three of them are not excluded.
        ...unless(more.leads.length !== 6 || count > 0, 'nothing came, although more was there'),
        ...unless(stopReason !== 'limit' || count >= 3, `the limit of 3 is reached with ${count} leads`),
      ];
    };
    return scenarios(`${nameOf(form)}/excludes-`, pays, { [rule]: run });
  }

  const others = 'and others come up to limit';
  return [
    ...excluding(
      `custom-leads: leads named in dedup_custom_leads are excluded, ${others}`,
      form,
      'dedup_custom_leads',
    ),
    ...excluding(
      `earlier-searches: leads of the searches in dedup_service_leads are excluded, ${others}`,
      form,
      'dedup_service_leads',
    ),
    ...excluding(
      'across-forms: streams exclude the leads of tasks, and tasks those of streams',
      form === 'search' ? 'createTask' : 'search',
      'dedup_service_leads',
    ),
  ];
}

const field = 'headcount';

/** Enrichment must only be there where it was requested. */
function enrichedRows(form: Form): Row[] {
  const prefix = `${nameOf(form)}/`;
  const enriched = post(form, { limit: 3, enrich_fields: [field] });
  const fieldsOf = ({ leads }: Found): unknown[] => {
    if (leads.length === 0) throw notTried('the search found nothing');
    return leads.flatMap((one) => ('enrich_fields' in one ? [one.enrich_fields] : []));
  };
  return [
    ...scenarios(prefix, [three[form].request], {
      'not-enriched: entities have enrich_fields only when it was requested': async (service) => {
        const { length } = fieldsOf(await three[form].take(service));
        return unless(length === 0, `${length} entities have enrich_fields`);
      },
    }),
    ...scenarios(prefix, [enriched], {
      'enriched: enrich_fields has an entry for each requested name, with the texts content and reference':
        async (service) => {
          const all = fieldsOf(await find(service, enriched));
          if (all.length === 0) return ['no entity has enrich_fields'];
          return all.flatMap((one) => flawsOf(enrichedWith(field), one, '$.enrich_fields'));
        },
    }),
  ];
}
