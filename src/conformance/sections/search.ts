import { accepted, refused } from '../expectations.ts';
import { type Answer, NotJudged, type Row, type Step } from '../row.ts';
import { companies, post } from '../samples.ts';
import { quoted } from '../shapes.ts';
import { eventsOf } from '../stream.ts';
import { someEntities } from './events.ts';
import { searchFieldRows, webTypeRows } from './search-fields.ts';

const first: Step = (bench) => bench.once('first leads', post('search', { body: companies({ limit: 3 }) }));

export const searchRows: readonly Row[] = [
  ...searchFieldRows('search'),
  ...webTypeRows('search', 'refused', '{type} is accepted by the task form alone', {}),
  refused(
    'search/enable-web-search',
    'enable_web_search belongs to the task form: unknown fields are rejected',
    post('search', { body: companies({ enable_web_search: true }) }),
  ),
  {
    id: 'search/excludes-custom-leads',
    rule: 'dedup_custom_leads are excluded by name',
    costs: true,
    before: [first],
    request: async (bench, [found]) =>
      bench.send(
        post('search', {
          body: companies({ limit: 3, dedup_custom_leads: someEntities(found as Answer).map(nameOf) }),
        }),
      ),
    expect: accepted('none of the excluded names', (answer, [found]) => {
      const excluded = new Set(someEntities(found as Answer).map(nameOf));
      return eventsOf(answer)
        .entities.filter((one) => excluded.has(nameOf(one)))
        .map((one) => `${quoted(one.name)} is there all the same`);
    }),
  },
  {
    id: 'search/excludes-earlier-searches',
    rule: 'the leads of earlier searches in dedup_service_leads are excluded',
    costs: true,
    before: [first],
    request: async (bench, [found]) => {
      const earlier = eventsOf(found as Answer).leadsSearchId;
      if (earlier === undefined) throw new NotJudged('the search has no leads_search_id');
      return bench.send(post('search', { body: companies({ limit: 3, dedup_service_leads: [earlier] }) }));
    },
    expect: accepted('no lead of the earlier search', (answer, [found]) => {
      const excluded = new Set(someEntities(found as Answer).map(identityOf));
      return eventsOf(answer)
        .entities.filter((one) => excluded.has(identityOf(one)))
        .map((one) => `${quoted(one.name)} is there all the same`);
    }),
  },
];

function nameOf({ name }: Readonly<Record<string, unknown>>): string {
  return typeof name === 'string' ? name : '';
}

/** Score and reason may differ from search to search. */
function identityOf({ name, links }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([name, links]);
}
