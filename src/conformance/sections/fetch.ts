import { limits } from '../../contract/limits.ts';
import { accepted, bodyLike, holds, invalid, memberOf, refused } from '../expectations.ts';
import { entity, page } from '../resources.ts';
import { type Answer, type Check, NotJudged, type Row, type Step } from '../row.ts';
import { companies, getTask, post } from '../samples.ts';
import { listOf, numberOf, quoted } from '../shapes.ts';
import { entityTexts, identityOf } from '../stream.ts';
import { ofCreatedTask, ofFinishedTask, searchIdOf, statusOf } from '../tested-service.ts';
import { taskIdRows } from './task-ids.ts';

const { fetchNum } = limits;

/** A page of the task that has ended. */
const ofTask = (query: Readonly<Record<string, string>>) => ofFinishedTask('fetch', query);

function wrong(name: string, rule: string, query: Readonly<Record<string, string>>): Row {
  // Of a task that exists: the position is wrong, not the task.
  return { id: `fetch/${name}`, rule, costs: true, request: ofTask(query), expect: invalid };
}

function row(
  name: string,
  rule: string,
  request: Step,
  says: string,
  check: Check,
  before: readonly Step[] = [],
): Row {
  return { id: `fetch/${name}`, rule, costs: true, before, request, expect: accepted(says, check) };
}

const plain: Step = (service) => service.once('plain page', ofTask({}));
const whole: Step = (service) => service.once('whole page', ofTask({ pts: '0', num: String(fetchNum.max) }));

/** The task has at most 7 leads, and a page may have only one. */
const mostPages = 7;

/** The page after the last one; that one again, where everything was read. */
function next(num: number): Step {
  return (service, earlier) => {
    const last = earlier.at(-1) as Answer;
    const [end, ready] = [endOf(last), numberOf(memberOf(last, 'ready_count'))];
    if (Number.isNaN(end + ready)) throw new NotJudged('the page has no count or no ready_count');
    return end >= ready ? Promise.resolve(last) : ofTask({ pts: String(end), num: String(num) })(service);
  };
}

/** All pages of a task, from the first. */
function walk(num: number): Step[] {
  return [ofTask({ pts: '0', num: String(num) }), ...Array.from({ length: mostPages - 1 }, () => next(num))];
}

/** What is on pages that were walked, in its order. */
function leadsOf(pages: readonly Answer[]): string[] {
  return [...new Set(pages)].flatMap(({ json, text }) =>
    json === undefined ? [] : entityTexts(text).map(identityOf),
  );
}

function endOf(page: Answer): number {
  return Number(page.request.query?.pts ?? 0) + numberOf(memberOf(page, 'count'));
}

export const fetchRows: readonly Row[] = [
  {
    id: 'fetch/body',
    rule: 'a page has all its fields',
    costs: true,
    request: whole,
    expect: bodyLike('an entity_search_items', page),
  },
  row('defaults', 'pts is 0 and num is 5 by default', plain, 'pts 0, num 5', holds({ pts: 0, num: 5 })),
  row('pts-0', 'pts is at least 0', ofTask({ pts: '0', num: '1' }), 'pts 0', holds({ pts: 0 })),
  row('num-1', 'num is at least 1', ofTask({ num: '1' }), 'num 1', holds({ num: 1 })),
  row('num-500', 'num is at most 500', whole, 'num 500', holds({ num: fetchNum.max })),
  row(
    'echo',
    'a page repeats pts and num of the request',
    ofTask({ pts: '2', num: '3' }),
    'pts 2, num 3',
    holds({ pts: 2, num: 3 }),
  ),
  wrong('num-0', 'num is at least 1', { num: '0' }),
  wrong('num-501', 'num is at most 500', { num: String(fetchNum.max + 1) }),
  wrong('num-a-word', 'num is an integer', { num: 'many' }),
  wrong('num-a-fraction', 'num is an integer', { num: '1.5' }),
  wrong('pts-negative', 'pts is at least 0', { pts: '-1' }),
  wrong('pts-a-word', 'pts is an integer', { pts: 'first' }),
  ...taskIdRows('fetch'),
  refused(
    'fetch/id-empty',
    'leads_search_id has at least one character',
    getTask('fetch', { leads_search_id: '' }),
  ),
  row(
    'task',
    'a page has the leads_search_id of its task',
    whole,
    'this leads_search_id',
    (answer, [status]) => holds({ leads_search_id: status?.request.query?.leads_search_id })(answer, []),
    [ofFinishedTask('status')],
  ),
  row(
    'agrees-with-status',
    'status and ready_count are those of the task',
    whole,
    'the same as status says',
    (answer, [now]) => {
      const status = statusOf(now as Answer);
      return holds({ status: status?.status, ready_count: status?.ready })(answer, []);
    },
    [ofFinishedTask('status')],
  ),
  row('limit', 'limit is the limit of the task', whole, 'limit 7', holds({ limit: 7 })),
  row('count', 'count is the number of entities in the page', whole, 'count = entities', (answer) =>
    memberOf(answer, 'count') === entitiesOf(answer).length
      ? []
      : [`$.count is ${quoted(memberOf(answer, 'count'))} with ${entitiesOf(answer).length} entities`],
  ),
  {
    id: 'fetch/all-ready',
    rule: 'pages give everything that is ready, even if they are short',
    costs: true,
    before: walk(fetchNum.max).slice(0, -1),
    request: next(fetchNum.max),
    expect: accepted('pages up to ready_count', (answer) => {
      const [end, ready] = [endOf(answer), numberOf(memberOf(answer, 'ready_count'))];
      return end >= ready ? [] : [`the position after ${mostPages} pages is ${end} of ${ready}`];
    }),
  },
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
  {
    id: 'fetch/next-position',
    rule: 'the next page begins at pts plus count',
    costs: true,
    before: [...walk(fetchNum.max), ...walk(2).slice(0, -1)],
    request: next(2),
    expect: accepted('the same entities in pages of 2', (answer, earlier) => {
      const [large, small] = [earlier.slice(0, mostPages), [...earlier.slice(mostPages), answer]].map(
        leadsOf,
      );
      if (large === undefined || small === undefined || large.length < 2)
        throw new NotJudged('the task found fewer than two leads');
      const odd = large.findIndex((lead, at) => lead !== small[at]);
      return odd < 0 && small.length === large.length
        ? []
        : [
            `${small.length} entities in pages of 2, ${large.length} in pages of ${fetchNum.max}; entity ${odd < 0 ? large.length : odd} differs`,
          ];
    }),
  },
  {
    id: 'fetch/while-running',
    rule: 'results can be fetched as soon as they are ready',
    costs: true,
    before: [
      post('createTask', { body: companies({ limit: 3 }) }),
      (service, [task]) => service.statusWhen(searchIdOf(task as Answer), (ready) => ready > 0),
    ],
    request: ofCreatedTask('fetch'),
    expect: accepted('an entity, if one is ready', (answer, [, status]) => {
      const ready = statusOf(status as Answer)?.ready ?? 0;
      return entitiesOf(answer).length > 0 || !(ready > 0)
        ? []
        : [`no entities, although ${ready} are ready`];
    }),
  },
  {
    id: 'fetch/before-anything-is-ready',
    rule: 'a task can be fetched as soon as it is created',
    costs: true,
    before: [post('createTask', { body: companies({ limit: 3 }) })],
    request: ofCreatedTask('fetch'),
    expect: bodyLike('an entity_search_items', page),
  },
];

function entitiesOf(answer: Answer): readonly unknown[] {
  const entities = memberOf(answer, 'entities');
  return Array.isArray(entities) ? entities : [];
}
