import { limits } from '../../contract/limits.ts';
import { bodyLike, holds, invalid, memberOf, section } from '../expectations.ts';
import { entity, page } from '../resources.ts';
import { type Action, type Answer, NotJudged, type Row, type Step } from '../row.ts';
import { companies, getTask, post } from '../samples.ts';
import { listOf, numberOf, quoted } from '../shapes.ts';
import { entityTexts, identityOf } from '../stream.ts';
import { afterTask, ofCreatedTask, ofFinishedTask, statusOf } from '../tested-service.ts';
import { taskIdRows } from './tasks.ts';

const { max } = limits.fetchNum;
const seen = section('fetch', () => getTask('fetch', {}));

/** A page of the task that has ended. */
const ofTask = (query: Readonly<Record<string, string>>) => ofFinishedTask('fetch', query);

/** Of a task that exists: the position is wrong, not the task. */
function wrong(name: string, rule: string, query: Readonly<Record<string, string>>): Row {
  return seen.row(name, rule, invalid, ofTask(query));
}

function row(name: string, rule: string, request: Step, says: string, check: Check, before?: Step[]): Row {
  return seen.row(name, rule, { status: [200], says, check }, request, before);
}
type Check = (answer: Answer, earlier: readonly Answer[]) => readonly string[];

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

/** What is on pages, in its order. */
function leadsOf(pages: readonly Answer[]): string[] {
  return pages.flatMap(({ json, text }) => (json === undefined ? [] : entityTexts(text).map(identityOf)));
}

function entitiesOf(answer: Answer): readonly unknown[] {
  const entities = memberOf(answer, 'entities');
  return Array.isArray(entities) ? entities : [];
}

/** The status of the task, before the page is read. */
const status = ofFinishedTask('status');

export const fetchRows: readonly Row[] = [
  seen.row('body', 'a page has all its fields', bodyLike('an entity_search_items', page), whole),
  row('defaults', 'pts is 0 and num is 5 by default', ofTask({}), 'pts 0, num 5', holds({ pts: 0, num: 5 })),
  row(
    'num-1',
    'num is at least 1',
    ofTask({ pts: '0', num: '1' }),
    'pts 0, num 1',
    holds({ pts: 0, num: 1 }),
  ),
  row('num-500', 'num is at most 500', whole, 'num 500', holds({ num: max })),
  row(
    'echo',
    'a page repeats pts and num of the request',
    ofTask({ pts: '2', num: '3' }),
    'pts 2, num 3',
    holds({ pts: 2, num: 3 }),
  ),
  wrong('num-0', 'num is at least 1', { num: '0' }),
  wrong('num-501', 'num is at most 500', { num: String(max + 1) }),
  wrong('num-a-word', 'num is an integer', { num: 'many' }),
  wrong('num-a-fraction', 'num is an integer', { num: '1.5' }),
  wrong('pts-negative', 'pts is at least 0', { pts: '-1' }),
  wrong('pts-a-word', 'pts is an integer', { pts: 'first' }),
  wrong('pts-a-fraction', 'pts is an integer', { pts: '0.5' }),
  ...taskIdRows('fetch'),
  row(
    'task',
    'a page has the leads_search_id of its task',
    whole,
    'this leads_search_id',
    (answer, [task]) => holds({ leads_search_id: task?.request.query?.leads_search_id })(answer, []),
    [status],
  ),
  row(
    'agrees-with-status',
    'status and ready_count are those of the task',
    whole,
    'the same as status says',
    (answer, [task]) => {
      const counts = statusOf(task as Answer);
      return holds({ status: counts?.status, ready_count: counts?.ready })(answer, []);
    },
    [status],
  ),
  row('limit', 'limit is the limit of the task', whole, 'limit 7', holds({ limit: 7 })),
  row('count', 'count is the number of entities in the page', whole, 'count = entities', (answer) =>
    memberOf(answer, 'count') === entitiesOf(answer).length
      ? []
      : [`$.count is ${quoted(memberOf(answer, 'count'))} with ${entitiesOf(answer).length} entities`],
  ),
  row(
    'all-ready',
    'pages give everything that is ready, even if they are short',
    walk(max),
    'pages up to ready_count',
    (answer, pages) => {
      const [leads, ready] = [leadsOf([...pages, answer]).length, memberOf(answer, 'ready_count')];
      return leads === ready ? [] : [`${leads} entities on all pages, but ready_count is ${quoted(ready)}`];
    },
  ),
  row('at-most-num', 'a page has at most num entities', ofTask({ num: '2' }), 'at most 2', (answer) =>
    entitiesOf(answer).length <= 2 ? [] : [`${entitiesOf(answer).length} entities`],
  ),
  row(
    'entity-body',
    'if an entity has name, links, description or score, they have the form that the interface gives',
    whole,
    'fields of this form',
    (answer) => {
      if (entitiesOf(answer).length === 0) throw new NotJudged('the task found nothing');
      return listOf(entity)(entitiesOf(answer), '$.entities');
    },
  ),
  row(
    'beyond',
    'a page beyond ready_count is empty',
    ofTask({ pts: '100000', num: '3' }),
    'count 0',
    holds({ count: 0, pts: 100_000, num: 3 }),
  ),
  row(
    'next-position',
    'the next page begins at pts plus count',
    walk(2),
    'the same entities in pages of 2',
    (answer, earlier) => {
      const large = leadsOf(earlier.filter(({ request }) => request.query?.num === String(max)));
      const small = leadsOf([...earlier.filter(({ request }) => request.query?.num === '2'), answer]);
      if (large.length < 2) throw new NotJudged('the task found fewer than two leads');
      const odd = large.findIndex((lead, at) => lead !== small[at]);
      return odd < 0 && small.length === large.length
        ? []
        : [
            `${small.length} entities in pages of 2, ${large.length} in pages of ${max}; entity ${odd < 0 ? large.length : odd} differs`,
          ];
    },
    [walk(max)],
  ),
  row('positions', 'each position has another lead', walk(1), 'no lead at two positions', (answer, pages) => {
    const leads = leadsOf([...pages, answer]);
    return new Set(leads).size === leads.length ? [] : ['a lead stands at two positions'];
  }),
  seen.row(
    'before-anything-is-ready',
    'a task can be fetched as soon as it is created',
    bodyLike('an entity_search_items', page),
    ofCreatedTask('fetch'),
    [post('createTask', { body: companies({ limit: 3 }) })],
  ),
  row(
    'again',
    'the same position can be read again',
    afterTask(async (service, id) =>
      service.send(getTask('fetch', { leads_search_id: id, pts: '1', num: '1' })),
    ),
    'the same entity',
    (answer, [first]) =>
      leadsOf([answer]).join() === leadsOf([first as Answer]).join() ? [] : ['the entities differ'],
    [ofTask({ pts: '1', num: '1' })],
  ),
];
