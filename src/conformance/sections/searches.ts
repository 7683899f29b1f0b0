import { limits } from '../../contract/limits.ts';
import {
  type EntityType,
  entityTypes,
  streamEntityTypes,
  webSearchEntityTypes,
} from '../../contract/types.ts';
import { isObject } from '../../json/object.ts';
import { type JsonText, stringOf, valueAt } from '../../json/text.ts';
import { accepted, changed, invalid, memberOf, table, unless } from '../expectations.ts';
import { type Action, type Answer, NotJudged, type Request, type Row, type TestedService } from '../row.ts';
import { companies, getTask, names, objectiveOf, post, rareObjective } from '../samples.ts';
import { enrichedFields, quoted } from '../shapes.ts';
import { entityTexts, eventsOf, identityOf } from '../stream.ts';
import { searchIdOf, statusOf } from '../tested-service.ts';
import { choiceRows, integerRows, listRows, textRows } from './fields.ts';

/** The two forms of Entity Search, which have the same fields, exclusions and entities. */
type Form = 'search' | 'createTask';

export function searchRows(form: Form): Row[] {
  const name = names[form];
  const isTask = form === 'createTask';
  const send = (change: object): Request => ({ endpoint: form, body: companies(change) });
  const sendRare = (change: object): Request => send({ objective: rareObjective, ...change });
  const webSearch = (change: object, id: string): Row[] =>
    webSearchEntityTypes.flatMap((type) =>
      changed(name, send, invalid, {
        [`entity-type-${type}-${id}: ${type} is for tasks alone, and needs enable_web_search: true`]: {
          entity_type: type,
          ...change,
        },
      }),
    );
  return [
    ...choiceRows(name, send, 'entity_type', isTask ? entityTypes : streamEntityTypes, (type) => ({
      objective: objectiveOf(type as EntityType),
      ...(webSearchEntityTypes.some((one) => one === type) ? { enable_web_search: true } : {}),
    })),
    ...webSearch({}, 'without-web-search'),
    ...textRows(name, send, limits.entityObjective, { required: true }),
    ...integerRows(name, send, limits.entityLimit, sendRare),
    ...[limits.entityEnrichFields, limits.dedupServiceLeads, limits.dedupCustomLeads].flatMap((limit) =>
      listRows(name, send, limit),
    ),
    ...changed(name, send, invalid, {
      'unknown-field: unknown fields are rejected': { entity_kind: 'company' },
    }),
    ...(isTask
      ? [
          ...webSearch({ enable_web_search: false }, 'web-search-false'),
          ...changed(name, send, accepted(), {
            'web-search-true: enable_web_search is allowed for every type': { enable_web_search: true },
            'web-search-false: enable_web_search can be false': { enable_web_search: false },
          }),
          ...changed(name, send, invalid, {
            'web-search-a-string: enable_web_search is a boolean': { enable_web_search: 'true' },
          }),
        ]
      : [
          ...webSearch({ enable_web_search: true }, 'web-search-true'),
          ...changed(name, send, invalid, {
            'web-search: only tasks accept enable_web_search': { enable_web_search: true },
          }),
        ]),
    ...exclusionRows(form),
    ...enrichedRows(form),
  ];
}

/** What a search found: its stream, or the page of the task after it has ended, with the status before it. */
function find(form: Form, change: object): Action {
  const request = post(form, { body: companies({ limit: 3, ...change }) });
  return { pays: [request], take: (service) => findNow(service, request) };
}

async function findNow(service: TestedService, request: Request): Promise<readonly Answer[]> {
  const answer = await service.send(request);
  if (request.endpoint === 'search') return [answer];
  const searchId = searchIdOf(answer);
  const status = await service.statusWhen(searchId);
  return [status, await service.send(getTask('fetch', { leads_search_id: searchId, num: '500' }))];
}

function leadsOf(answer: Answer): readonly JsonText[] {
  if (answer.request.endpoint === 'search') return eventsOf(answer).texts;
  return entityTexts(answer.json === undefined ? '' : answer.text);
}

function idOf(answer: Answer): string | undefined {
  return answer.request.query?.leads_search_id ?? eventsOf(answer).leadsSearchId;
}

/** Undefined where it has none, or none that is a text. */
function nameOf(lead: JsonText): string | undefined {
  return stringOf(valueAt(lead, 'name'));
}

function stopReasonOf(answer: Answer): unknown {
  if (answer.request.endpoint === 'search') return eventsOf(answer).dones[0]?.stop_reason;
  return memberOf(answer, 'status.stop_reason');
}

/** What both forms leave out when they are told to. */
function exclusionRows(form: Form): Row[] {
  const other: Form = form === 'search' ? 'createTask' : 'search';
  /** The same leads for all rows that exclude them; a few more are there, as later rows see. */
  const first = (of: Form, limit = 3): Action => ({
    ...find(of, { limit }),
    once: `first ${limit} leads of ${of}`,
  });

  function excluding(before: Action, by: 'dedup_service_leads' | 'dedup_custom_leads') {
    const [isById, isTask] = [by === 'dedup_service_leads', form === 'createTask'];
    const request: Action = {
      pays: find(form, {}).pays ?? [],
      take(service, earlier) {
        const found = earlier.at(-1) as Answer;
        const excluded = isById ? [idOf(found)] : leadsOf(found).map(nameOf);
        if (leadsOf(found).length === 0 || excluded.includes(undefined))
          throw new NotJudged('the search found no leads, or they have no name or leads_search_id');
        return findNow(service, post(form, { body: companies({ limit: 3, [by]: excluded }) }));
      },
    };
    const expect = accepted('other leads, up to the limit', (answer, earlier) => {
      const status = isTask ? earlier.at(-1) : answer;
      const found = earlier.at(isTask ? -2 : -1) as Answer;
      const same = isById ? identityOf : (lead: JsonText) => nameOf(lead) ?? '';
      const excluded = new Set(leadsOf(found).map(same));
      const leads = leadsOf(answer);
      // A page may be short: of a task, its status says how many came.
      const came = status === undefined ? leads.length : countOf(status);
      // Six were there, and three of them are not excluded.
      const isMoreThere = earlier.some((one) => leadsOf(one).length === 6);
      const isFull = status !== undefined && stopReasonOf(status) === 'limit';
      return [
        ...leads
          .filter((lead) => excluded.has(same(lead)))
          .map((lead) => `${quoted(nameOf(lead))} came although it was excluded`),
        ...unless(!isMoreThere || came > 0, 'nothing came, although more was there'),
        ...unless(!isFull || came >= 3, `the limit of 3 is reached with ${came} leads`),
      ];
    });
    return { before: [first(form, 6), before], request, expect };
  }

  return table(names[form], post(form), {
    'excludes-custom-leads: leads named in dedup_custom_leads are excluded, and others come up to limit':
      excluding(first(form), 'dedup_custom_leads'),
    'excludes-earlier-searches: leads of the searches in dedup_service_leads are excluded, and others come up to limit':
      excluding(first(form), 'dedup_service_leads'),
    'excludes-across-forms: streams exclude the leads of tasks, and tasks those of streams': excluding(
      first(other),
      'dedup_service_leads',
    ),
  });
}

const field = 'headcount';

/** Enrichment is only there where it was asked for. */
function enrichedRows(form: Form): Row[] {
  const entitiesOf = (answer: Answer): Record<string, unknown>[] => {
    const entities = leadsOf(answer).map((lead) => JSON.parse(lead) as Record<string, unknown>);
    if (entities.length === 0) throw new NotJudged('the search found nothing');
    return entities;
  };
  const usual = { ...find(form, {}), once: `first 3 leads of ${form}` };
  return table(names[form], usual, {
    'not-enriched: entities have enrich_fields only when it was requested': accepted(
      'no enrich_fields',
      (answer) => {
        const { length } = entitiesOf(answer).filter((one) => 'enrich_fields' in one);
        return unless(length === 0, `${length} entities have enrich_fields`);
      },
    ),
    'enriched: enrich_fields has an entry for each requested name, with the texts content and reference': {
      request: find(form, { enrich_fields: [field] }),
      expect: accepted(`enrich_fields with ${field}`, (answer) => {
        const fields = entitiesOf(answer).flatMap((one) =>
          'enrich_fields' in one ? [one.enrich_fields] : [],
        );
        if (fields.length === 0) return ['no entity has enrich_fields'];
        return fields.flatMap((one) => {
          const others = isObject(one) ? Object.keys(one).filter((other) => other !== field) : [];
          return [
            ...enrichedFields(one, '$.enrich_fields'),
            ...others.map((other) => `enrich_fields also has ${quoted(other)}`),
          ];
        });
      }),
    },
  });
}

/** How many leads a search gave, and was charged for. */
export function countOf(answer: Answer): number {
  const { endpoint } = answer.request;
  return endpoint === 'search' ? eventsOf(answer).entities.length : (statusOf(answer)?.ready ?? Number.NaN);
}
