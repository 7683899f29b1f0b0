import { limits } from '../../contract/limits.ts';
import {
  type EntityType,
  entityTypes,
  streamEntityTypes,
  webSearchEntityTypes,
} from '../../contract/types.ts';
import { type JsonText, objectMembers, stringOf } from '../../json/text.ts';
import { accepted, type Check, invalid, type Row, table, unless } from '../row.ts';
import { type Form, nameOf, post, rare, shared } from '../samples.ts';
import { type Action, type Answer, NotJudged, searchIdOf, statusOf, type TestedService } from '../service.ts';
import { enrichedWith, flawsOf, memberOf, quoted } from '../shapes.ts';
import { entityTexts, eventsOf, identityOf } from '../stream.ts';
import { choiceRows, integerRows, listRows, textRows } from './fields.ts';

/** The two forms of Entity Search, which have the same fields, exclusions and entities. */

const lists = [limits.entityEnrichFields, limits.dedupServiceLeads, limits.dedupCustomLeads];

export function searchRows(form: Form): Row[] {
  const prefix = `${nameOf(form)}/`;
  const isTask = form === 'createTask';
  /** What the types that only tasks have must be refused with. */
  const webSearch = (id: string, change: object) =>
    Object.fromEntries(
      webSearchEntityTypes.map((type) => [
        `entity-type-${type}-${id}: ${type} is for tasks alone, and needs enable_web_search: true`,
        post(form, { entity_type: type, ...change }),
      ]),
    );
  const types = (isTask ? entityTypes : streamEntityTypes).map((type): [string, object] => [
    type,
    changeFor(type),
  ]);
  return [
    ...choiceRows(form, 'entity_type', types),
    ...textRows(form, limits.entityObjective),
    ...integerRows(form, limits.entityLimit, rare),
    ...lists.flatMap((limit) => listRows(form, limit)),
    ...table(prefix, invalid, {
      ...webSearch('without-web-search', {}),
      ...webSearch(`web-search-${!isTask}`, { enable_web_search: !isTask }),
      'unknown-field: unknown fields are rejected': post(form, { entity_kind: 'company' }),
      ...(isTask
        ? { 'web-search-a-string: enable_web_search is a boolean': post(form, { enable_web_search: 'true' }) }
        : { 'web-search: only tasks accept enable_web_search': post(form, { enable_web_search: true }) }),
    }),
    ...table(prefix, accepted, {
      ...(isTask && {
        'web-search-true: enable_web_search is allowed for every type': post(form, {
          enable_web_search: true,
        }),
        'web-search-false: enable_web_search can be false': post(form, { enable_web_search: false }),
      }),
    }),
    ...exclusionRows(form),
    ...enrichedRows(form),
  ];
}

function changeFor(type: EntityType): object {
  if (type === 'company') return {};
  const objective = type === 'person' ? 'founders in Berlin' : type === 'shopify_store' ? 'coffee' : 'travel';
  return { objective, ...(webSearchEntityTypes.some((one) => one === type) && { enable_web_search: true }) };
}

/** What a search found, in two answers: its counts, and its leads. Of a stream both are the same one. */
export function find(form: Form, change: object): Action {
  const request = post(form, { limit: 3, ...change });
  return { sends: [request], take: (service) => findNow(service, form, change) };
}

async function findNow(service: TestedService, form: Form, change: object): Promise<readonly Answer[]> {
  const answer = await service.send(post(form, { limit: 3, ...change }));
  if (form === 'search') return [answer, answer];
  const leads_search_id = searchIdOf(answer);
  const counts = await service.statusWhen(leads_search_id);
  return [counts, await service.send({ endpoint: 'fetch', query: { leads_search_id, num: '500' } })];
}

/** How many leads a search gave, and was charged for. A page may be short: the status of a task says it. */
export function countOf(answer: Answer): number {
  return answer.request.endpoint === 'search' ? eventsOf(answer).entities.length : statusOf(answer).ready;
}

function leadsOf(answer: Answer): readonly JsonText[] {
  if (answer.request.endpoint === 'search') return eventsOf(answer).texts;
  return entityTexts(answer.json === undefined ? '' : answer.text);
}

/** Undefined where it has none, or none that is a text. */
function leadName(lead: JsonText): string | undefined {
  return stringOf(objectMembers(lead).get('name'));
}

/** The same leads for all rows that look at them or exclude them, and a few more, so that some are left. */
const three = { search: shared(find('search', {})), createTask: shared(find('createTask', {})) };
const six = {
  search: shared(find('search', { limit: 6 })),
  createTask: shared(find('createTask', { limit: 6 })),
};

/** What both forms leave out when they are told to. */
function exclusionRows(form: Form): Row[] {
  function excluding(other: Form, by: 'dedup_service_leads' | 'dedup_custom_leads') {
    const isById = by === 'dedup_service_leads';
    const excluded: Action = {
      sends: [post(form, { limit: 3 })],
      take(service, _, __, ___, found) {
        const leads = leadsOf(found as Answer);
        const id = found?.request.query?.leads_search_id ?? eventsOf(found as Answer).leadsSearchId;
        const excluded = isById ? [id] : leads.map(leadName);
        if (leads.length === 0 || excluded.includes(undefined))
          throw new NotJudged('the search found no leads, or they have no name or leads_search_id');
        return findNow(service, form, { [by]: excluded });
      },
    };
    const check: Check = (_, more, __, found, counts, answer) => {
      const same = isById ? identityOf : (lead: JsonText) => leadName(lead) ?? '';
      const excluded = new Set(leadsOf(found).map(same));
      const came = countOf(counts);
      // Six were there, and three of them are not excluded.
      const isMoreThere = leadsOf(more).length === 6;
      const stopReason =
        form === 'search'
          ? eventsOf(counts).dones[0]?.stop_reason
          : memberOf(counts.json, 'status.stop_reason');
      return [
        ...leadsOf(answer)
          .filter((lead) => excluded.has(same(lead)))
          .map((lead) => `${quoted(leadName(lead))} came although it was excluded`),
        ...unless(!isMoreThere || came > 0, 'nothing came, although more was there'),
        ...unless(stopReason !== 'limit' || came >= 3, `the limit of 3 is reached with ${came} leads`),
      ];
    };
    return [six[form], three[other], excluded, check];
  }

  return table(`${nameOf(form)}/`, accepted, {
    'excludes-custom-leads: leads named in dedup_custom_leads are excluded, and others come up to limit':
      excluding(form, 'dedup_custom_leads'),
    'excludes-earlier-searches: leads of the searches in dedup_service_leads are excluded, and others come up to limit':
      excluding(form, 'dedup_service_leads'),
    'excludes-across-forms: streams exclude the leads of tasks, and tasks those of streams': excluding(
      form === 'search' ? 'createTask' : 'search',
      'dedup_service_leads',
    ),
  });
}

const field = 'headcount';

/** Enrichment is only there where it was asked for. */
function enrichedRows(form: Form): Row[] {
  const fieldsOf = (answer: Answer): unknown[] => {
    const leads = leadsOf(answer).map((lead) => JSON.parse(lead) as Record<string, unknown>);
    if (leads.length === 0) throw new NotJudged('the search found nothing');
    return leads.flatMap((lead) => ('enrich_fields' in lead ? [lead.enrich_fields] : []));
  };
  return table(`${nameOf(form)}/`, three[form], {
    'not-enriched: entities have enrich_fields only when it was requested': (_, answer) => {
      const { length } = fieldsOf(answer);
      return unless(length === 0, `${length} entities have enrich_fields`);
    },
    'enriched: enrich_fields has an entry for each requested name, with the texts content and reference': [
      find(form, { enrich_fields: [field] }),
      (_, answer) => {
        const all = fieldsOf(answer);
        if (all.length === 0) return ['no entity has enrich_fields'];
        return all.flatMap((one) => flawsOf(enrichedWith(field), one, '$.enrich_fields'));
      },
    ],
  });
}
