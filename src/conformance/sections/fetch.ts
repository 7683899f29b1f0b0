import { limits } from '../../contract/limits.ts';
import { accepted, bodyLike, changed, holds, invalid, memberOf, table, unless } from '../expectations.ts';
import { type Action, type Answer, NotJudged, type Row } from '../row.ts';
import { companies, post } from '../samples.ts';
import { entity, listOf, numberOf, page, quoted } from '../shapes.ts';
import { entityTexts, identityOf } from '../stream.ts';
import { ofCreatedTask, ofFinishedTask, statusOf } from '../tested-service.ts';
import { taskIdRows } from './tasks.ts';

const { max } = limits.fetchNum;
const ofTask = (query: Readonly<Record<string, string>>) => ofFinishedTask('fetch', query);

const whole: Action = { ...ofTask({ pts: '0', num: String(max) }), once: 'whole page' };

/** The task has at most 7 leads, and a page may have only one. */
const mostPages = 7;

/** Reads the task from its first position to `ready_count`, in pages of at most so many; the last one comes last. */
function walk(num: number): Action {
  return {
    ...ofTask({}),
    async take(service) {
      const pages: Answer[] = [];
      for (let pts = 0; pages.length < mostPages; ) {
        const [answer] = (await ofTask({ pts: String(pts), num: String(num) }).take(service, [])) as [Answer];
        pages.push(answer);
        const [count, ready] = [memberOf(answer, 'count'), memberOf(answer, 'ready_count')].map(numberOf) as [
          number,
          number,
        ];
        if (Number.isNaN(count + ready)) throw new NotJudged('the page has no count or no ready_count');
        pts += count;
        if (pts >= ready || count === 0) break;
      }
      return pages;
    },
  };
}

function leadsOf(pages: readonly Answer[]): string[] {
  return pages.flatMap(({ json, text }) => (json === undefined ? [] : entityTexts(text).map(identityOf)));
}

function entitiesOf(answer: Answer): readonly unknown[] {
  const entities = memberOf(answer, 'entities');
  return Array.isArray(entities) ? entities : [];
}

/** The status of the task, before the page is read. */
const status = ofFinishedTask('status');

/** Of a task that exists: the position is wrong, not the task. */
const wrongPositions = {
  'num-0: num is at least 1': { num: '0' },
  'num-501: num is at most 500': { num: String(max + 1) },
  'num-a-word: num is an integer': { num: 'many' },
  'num-a-fraction: num is an integer': { num: '1.5' },
  'pts-negative: pts is at least 0': { pts: '-1' },
  'pts-a-word: pts is an integer': { pts: 'first' },
  'pts-a-fraction: pts is an integer': { pts: '0.5' },
};

/** A page that repeats what it was asked for. */
const echoed = (pts: number, num: number, request: Action) => ({
  request,
  expect: accepted(`pts ${pts}, num ${num}`, holds({ pts, num })),
});

export const fetchRows: readonly Row[] = [
  ...table('fetch', whole, {
    'body: a page has all its fields': bodyLike('an entity_search_items', page),
    'defaults: pts is 0 and num is 5 by default': echoed(0, 5, ofTask({})),
    'num-1: num is at least 1': echoed(0, 1, ofTask({ pts: '0', num: '1' })),
    'num-500: num is at most 500': accepted('num 500', holds({ num: max })),
    'echo: a page repeats pts and num of the request': echoed(2, 3, ofTask({ pts: '2', num: '3' })),
  }),
  ...changed('fetch', ofTask, invalid, wrongPositions),
  ...taskIdRows('fetch'),
  ...table('fetch', whole, {
    'task: a page has the leads_search_id of its task': {
      before: [status],
      expect: accepted('this leads_search_id', (answer, [task]) =>
        holds({ leads_search_id: task?.request.query?.leads_search_id })(answer, []),
      ),
    },
    'agrees-with-status: status and ready_count are those of the task': {
      before: [status],
      expect: accepted('the same as status says', (answer, [task]) => {
        const counts = statusOf(task as Answer);
        return holds({ status: counts?.status, ready_count: counts?.ready })(answer, []);
      }),
    },
    'limit: limit is the limit of the task': accepted('limit 7', holds({ limit: 7 })),
    'count: count is the number of entities in the page': accepted('count = entities', (answer) => {
      const [count, { length }] = [memberOf(answer, 'count'), entitiesOf(answer)];
      return unless(count === length, `$.count is ${quoted(count)} with ${length} entities`);
    }),
    'all-ready: pages give everything that is ready, even if they are short': {
      request: walk(max),
      expect: accepted('pages up to ready_count', (answer, pages) => {
        const [leads, ready] = [leadsOf([...pages, answer]).length, memberOf(answer, 'ready_count')];
        return unless(leads === ready, `${leads} entities on all pages, but ready_count is ${quoted(ready)}`);
      }),
    },
    'at-most-num: a page has at most num entities': {
      request: ofTask({ num: '2' }),
      expect: accepted('at most 2', (answer) => {
        const { length } = entitiesOf(answer);
        return unless(length <= 2, `${length} entities`);
      }),
    },
    'entity-body: if an entity has name, links, description or score, they have the form that the interface gives':
      accepted('fields of this form', (answer) => {
        if (entitiesOf(answer).length === 0) throw new NotJudged('the task found nothing');
        return listOf(entity)(entitiesOf(answer), '$.entities');
      }),
    'beyond: a page beyond ready_count is empty': {
      request: ofTask({ pts: '100000', num: '3' }),
      expect: accepted('count 0', holds({ count: 0, pts: 100_000, num: 3 })),
    },
    'next-position: the next page begins at pts plus count': {
      before: [walk(max)],
      request: walk(2),
      expect: accepted('the same entities in pages of 2', (answer, earlier) => {
        const large = leadsOf(earlier.filter(({ request }) => request.query?.num === String(max)));
        const small = leadsOf([...earlier.filter(({ request }) => request.query?.num === '2'), answer]);
        if (large.length < 2) throw new NotJudged('the task found fewer than two leads');
        const odd = large.findIndex((lead, at) => lead !== small[at]);
        const counts = `${small.length} entities in pages of 2, ${large.length} in pages of ${max}`;
        const problem = `${counts}; entity ${odd < 0 ? large.length : odd} differs`;
        return unless(odd < 0 && small.length === large.length, problem);
      }),
    },
    'positions: each position has another lead': {
      request: walk(1),
      expect: accepted('no lead at two positions', (answer, pages) => {
        const leads = leadsOf([...pages, answer]);
        return unless(new Set(leads).size === leads.length, 'a lead stands at two positions');
      }),
    },
    'before-anything-is-ready: a task can be fetched as soon as it is created': {
      before: [post('createTask', { body: companies({ limit: 3 }) })],
      request: ofCreatedTask('fetch'),
      expect: bodyLike('an entity_search_items', page),
    },
    'again: the same position can be read again': {
      before: [ofTask({ pts: '1', num: '1' })],
      request: ofTask({ pts: '1', num: '1' }),
      expect: accepted('the same entity', (answer, [first]) =>
        unless(leadsOf([answer]).join() === leadsOf([first as Answer]).join(), 'the entities differ'),
      ),
    },
  }),
];
