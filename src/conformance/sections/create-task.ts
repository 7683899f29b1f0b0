import { webSearchEntityTypes } from '../../contract/types.ts';
import {
  accepted,
  bodyLike,
  holds,
  memberOf,
  noStore,
  requestId,
  section,
  suppliedKey,
} from '../expectations.ts';
import type { Answer, Row, Step } from '../row.ts';
import { companies, post, rareObjective } from '../samples.ts';
import { filledText, objectWith, quoted } from '../shapes.ts';
import { ofCreatedTask, searchIdOf } from '../tested-service.ts';
import { exclusionRows } from './exclusions.ts';
import { searchFieldRows, typeRow, webTypeRows } from './search-fields.ts';

const created: Step = (service) => service.once('created task', post('createTask'));
const send = (change: object) => post('createTask', { body: companies(change) });
const { row, wrong, right } = section('create_task', send, created);

const label = 'create_task/replay';
const sameTask = accepted('the same leads_search_id', (answer, [first]) => {
  const before = searchIdOf(first as Answer);
  const now = memberOf(answer, 'leads_search_id');
  return now === before ? [] : [`leads_search_id is ${quoted(now)}, but was ${quoted(before)}`];
});

export const createTaskRows: readonly Row[] = [
  row(
    'body',
    'the answer contains leads_search_id',
    bodyLike('leads_search_id', objectWith({ leads_search_id: filledText })),
  ),
  row('request-id', 'the answer has a request ID', requestId),
  row('idempotency-key', 'the answer has the Idempotency-Key of the request', suppliedKey),
  row('no-store', 'the answer must not be cached', noStore),
  ...searchFieldRows('createTask'),
  ...webTypeRows('createTask', 'without-web-search', '{type} needs enable_web_search: true', {}),
  ...webTypeRows('createTask', 'web-search-false', '{type} needs enable_web_search: true', {
    enable_web_search: false,
  }),
  ...webSearchEntityTypes.map((type) => typeRow('createTask', type, { enable_web_search: true })),
  right('web-search-true', 'enable_web_search is allowed for every type', { enable_web_search: true }),
  right('web-search-false', 'enable_web_search can be false', { enable_web_search: false }),
  wrong('web-search-a-string', 'enable_web_search is a boolean', { enable_web_search: 'true' }),
  {
    id: 'create_task/replay',
    rule: 'the original key and body return the existing task',
    costs: true,
    before: [post('createTask', { idempotencyKey: label })],
    request: post('createTask', { idempotencyKey: label }),
    expect: sameTask,
  },
  {
    id: 'create_task/replay-when-ended',
    rule: 'the original key and body return the existing task, also after it has ended',
    costs: true,
    before: [
      post('createTask', { idempotencyKey: `${label}-when-ended` }),
      (service, [task]) => service.statusWhen(searchIdOf(task as Answer), () => false),
    ],
    request: post('createTask', { idempotencyKey: `${label}-when-ended` }),
    expect: sameTask,
  },
  {
    id: 'create_task/new-key-new-task',
    rule: 'another Idempotency-Key creates another task',
    costs: true,
    before: [created],
    request: post('createTask'),
    expect: accepted('another leads_search_id', (answer, [first]) =>
      searchIdOf(answer) === searchIdOf(first as Answer) ? ['leads_search_id is the same'] : [],
    ),
  },
  ...exclusionRows('createTask'),
  {
    id: 'create_task/default-limit',
    rule: 'limit is 100 by default',
    costs: true,
    before: [
      // An objective that finds nothing: a default of 100 leads would cost 100 credits.
      post('createTask', { body: { entity_type: 'company', objective: rareObjective } }),
    ],
    request: ofCreatedTask('fetch'),
    expect: accepted('limit 100', holds({ limit: 100 })),
  },
];
