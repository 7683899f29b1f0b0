import type { JsonText } from '../../json/text.ts';
import { stringOf, valueAt } from '../../json/text.ts';
import { accepted } from '../expectations.ts';
import { type Answer, NotJudged, type Row, type TestedService } from '../row.ts';
import { companies, getTask, names, post } from '../samples.ts';
import { quoted } from '../shapes.ts';
import { entityTexts, eventsOf, identityOf } from '../stream.ts';
import { searchIdOf } from '../tested-service.ts';

type Form = 'search' | 'createTask';

/** Three leads, or others with something excluded: a stream, or the page of a task that has ended. */
async function find(service: TestedService, form: Form, change: object): Promise<Answer> {
  const answer = await service.send(post(form, { body: companies({ limit: 3, ...change }) }));
  if (form === 'search') return answer;
  const searchId = searchIdOf(answer);
  await service.statusWhen(searchId, () => false);
  return service.send(getTask('fetch', { leads_search_id: searchId, num: '500' }));
}

function leadsOf(form: Form, answer: Answer): readonly JsonText[] {
  return form === 'search'
    ? eventsOf(answer).texts
    : entityTexts(answer.json === undefined ? '' : answer.text);
}

/** Undefined where it has none, or none that is a text. */
function nameOf(lead: JsonText): string | undefined {
  return stringOf(valueAt(lead, 'name'));
}

/** What both forms of Entity Search leave out when they are told to. */
export function exclusionRows(form: Form): Row[] {
  const section = names[form];
  const first = (service: TestedService) =>
    service.once(`first leads of ${section}`, () => find(service, form, {}));
  const namesIn = (answer: Answer) => leadsOf(form, answer).flatMap((lead) => nameOf(lead) ?? []);
  const none = (leads: readonly JsonText[]) =>
    leads.map((lead) => `${quoted(nameOf(lead))} came although it was excluded`);
  return [
    {
      id: `${section}/excludes-custom-leads`,
      rule: 'leads whose names are in dedup_custom_leads are excluded',
      costs: true,
      before: [first],
      request: async (service, [found]) => {
        const excluded = namesIn(found as Answer);
        if (excluded.length === 0) throw new NotJudged('the search found no lead with a name');
        return find(service, form, { dedup_custom_leads: excluded });
      },
      expect: accepted('none of the excluded names', (answer, [found]) => {
        const excluded = new Set(namesIn(found as Answer));
        return none(leadsOf(form, answer).filter((lead) => excluded.has(nameOf(lead) ?? '')));
      }),
    },
    {
      id: `${section}/excludes-earlier-searches`,
      rule: 'the leads of the searches in dedup_service_leads are excluded',
      costs: true,
      before: [first],
      request: async (service, [found]) => {
        const earlier =
          form === 'search'
            ? eventsOf(found as Answer).leadsSearchId
            : (found as Answer).request.query?.leads_search_id;
        if (earlier === undefined || leadsOf(form, found as Answer).length === 0)
          throw new NotJudged('the search gave no leads or no leads_search_id');
        return find(service, form, { dedup_service_leads: [earlier] });
      },
      expect: accepted('no lead of the earlier search', (answer, [found]) => {
        const excluded = new Set(leadsOf(form, found as Answer).map(identityOf));
        return none(leadsOf(form, answer).filter((lead) => excluded.has(identityOf(lead))));
      }),
    },
  ];
}
