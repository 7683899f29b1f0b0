import { limits } from '../../contract/limits.ts';
import { bodyLike, holds, invalid, type Row, same, table, unless } from '../row.ts';
import { ofCreatedTask, ofFinishedTask, post, shared } from '../samples.ts';
import { type Action, type Answer, NotJudged, statusOf } from '../service.ts';
import { entities, flawsOf, listIn, memberOf, numberOf, page } from '../shapes.ts';
import { entityTexts, identityOf } from '../stream.ts';
import { taskIdRows } from './tasks.ts';

const most = String(limits.fetchNum.max);
const ofTask = (query: Readonly<Record<string, string>>) => ofFinishedTask('fetch', query);
const whole = shared(ofTask({ pts: '0', num: most }));
/** The task has at most 7 leads, and a page may have only one. */
const mostPages = 7;

/** Reads the task from its first position to `ready_count`, in pages of at most so many; the last one comes last. */
function walk(num: string): Action {
  return {
    ...ofTask({}),
    async take(service) {
      const pages: Answer[] = [];
      for (let pts = 0; pages.length < mostPages; ) {
        const [answer] = await service.take(ofTask({ pts: String(pts), num }));
        pages.push(answer as Answer);
        const [count, ready] = countsOf(answer as Answer);
        if (Number.isNaN(count + ready)) throw new NotJudged('the page has no count or no ready_count');
        pts += count;
        if (pts >= ready || count === 0) break;
      }
      return pages;
    },
  };
}

function countsOf({ json }: Answer): [count: number, ready: number] {
  return [numberOf(memberOf(json, 'count')), numberOf(memberOf(json, 'ready_count'))];
}

function leadsOf(...pages: readonly Answer[]): string[] {
  return pages.flatMap(({ json, text }) => (json === undefined ? [] : entityTexts(text).map(identityOf)));
}

function entitiesOf({ json }: Answer): readonly unknown[] {
  return listIn(json, 'entities');
}

/** A page that repeats what it was asked for. */
const echoed = (pts: string, num: string) => [
  ofTask({ pts, num }),
  holds({ pts: Number(pts), num: Number(num) }),
];

export const fetchRows: readonly Row[] = [
  ...table('fetch/', invalid, {
    'num-0: num is at least 1': ofTask({ num: '0' }),
    'num-501: num is at most 500': ofTask({ num: '501' }),
    'num-a-word: num is an integer': ofTask({ num: 'many' }),
    'num-a-fraction: num is an integer': ofTask({ num: '1.5' }),
    'pts-negative: pts is at least 0': ofTask({ pts: '-1' }),
    'pts-a-word: pts is an integer': ofTask({ pts: 'first' }),
    'pts-a-fraction: pts is an integer': ofTask({ pts: '0.5' }),
  }),
  ...taskIdRows('fetch'),
  ...table('fetch/', whole, {
    'body: a page has all its fields': bodyLike(page),
    'defaults: pts is 0 and num is 5 by default': [ofTask({}), holds({ pts: 0, num: 5 })],
    'num-1: num is at least 1': echoed('0', '1'),
    'num-500: num is at most 500': holds({ num: limits.fetchNum.max }),
    'echo: a page repeats pts and num of the request': echoed('2', '3'),
    'task: a page has the leads_search_id of its task': (answer) =>
      holds({ leads_search_id: answer.request.query?.leads_search_id })(answer),
    'agrees-with-status: status and ready_count are those of the task': [
      ofFinishedTask('status'),
      whole,
      (task, answer) => holds({ status: statusOf(task).status, ready_count: statusOf(task).ready })(answer),
    ],
    'limit: limit is the limit of the task': holds({ limit: 7 }),
    'count: count is the number of entities in the page': (answer) =>
      same('$.count', memberOf(answer.json, 'count'), entitiesOf(answer).length),
    'all-ready: pages give everything that is ready, even if they are short': [
      walk(most),
      (...pages) =>
        same('the number of entities', leadsOf(...pages).length, countsOf(pages.at(-1) as Answer)[1]),
    ],
    'at-most-num: a page has at most num entities': [
      ofTask({ num: '2' }),
      (answer) => unless(entitiesOf(answer).length <= 2, `${entitiesOf(answer).length} entities`),
    ],
    'entity-body: if an entity has name, links, description or score, they have the form that the interface gives':
      (answer) => {
        if (entitiesOf(answer).length === 0) throw new NotJudged('the task found nothing');
        return flawsOf(entities, entitiesOf(answer), '$.entities');
      },
    'beyond: a page beyond ready_count is empty': [
      ofTask({ pts: '100000', num: '3' }),
      holds({ count: 0, pts: 100_000, num: 3 }),
    ],
    'next-position: the next page begins at pts plus count': [
      walk(most),
      walk('2'),
      (...pages) => {
        const ofSize = (num: string) => leadsOf(...pages.filter(({ request }) => request.query?.num === num));
        const [large, small] = [ofSize(most), ofSize('2')];
        if (large.length < 2) throw new NotJudged('the task found fewer than two leads');
        const odd = large.findIndex((lead, at) => lead !== small[at]);
        const counts = `${small.length} entities in pages of 2, ${large.length} in pages of ${most}`;
        const problem = `${counts}; entity ${odd < 0 ? large.length : odd} differs`;
        return unless(odd < 0 && small.length === large.length, problem);
      },
    ],
    'positions: each position has another lead': [
      walk('1'),
      (...pages) => {
        const leads = leadsOf(...pages);
        return unless(new Set(leads).size === leads.length, 'a lead stands at two positions');
      },
    ],
    'before-anything-is-ready: a task can be fetched as soon as it is created': [
      post('createTask', { limit: 3 }),
      ofCreatedTask('fetch'),
      bodyLike(page),
    ],
    'again: the same position can be read again': [
      ofTask({ pts: '1', num: '1' }),
      ofTask({ pts: '1', num: '1' }),
      (first, answer) => unless(leadsOf(answer).join() === leadsOf(first).join(), 'the entities differ'),
    ],
  }),
];
