import { bodyLike, holds, noStore, type Problems, requestId, suppliedKey, unless } from '../checks.ts';
import { checks, type Row, type Sample, scenarios } from '../row.ts';
import { type Answer, searchIdOf } from '../service.ts';
import { createdTask } from '../shapes.ts';
import { ofNewTask, once, post, rare, shared } from './samples.ts';
import { searchRows } from './searches.ts';

const created = shared(post('createTask'));
const original = post('createTask', {}, { idempotencyKey: 'create_task/replay' });
const replayed = once(
  async (service) => [await service.send(original), await service.send(original)] as const,
);
const replay: Sample = { pays: [original], take: async (service) => (await replayed(service))[1] };
const ended = post('createTask', {}, { idempotencyKey: 'create_task/replay-when-ended' });
const another = post('createTask');

function sameTask(first: Answer, second: Answer): Problems {
  return holds({ leads_search_id: searchIdOf(first) })(second);
}

export const createTaskRows: readonly Row[] = [
  ...checks('create_task/', created, {
    'body: the answer contains leads_search_id': bodyLike(createdTask),
    'request-id: the answer has a request ID': requestId,
    'idempotency-key: the answer has the Idempotency-Key of the request': suppliedKey,
    'no-store: the answer must not be cached': noStore,
  }),
  ...searchRows('createTask'),
  ...scenarios('create_task/', [original], {
    'replay: the original key and body return the existing task': async (service) =>
      sameTask(...(await replayed(service))),
  }),
  ...checks('create_task/replay-', replay, {
    'request-id: a replay has a request ID': requestId,
    'idempotency-key: a replay has the Idempotency-Key of the request': suppliedKey,
    'no-store: a replay must not be cached': noStore,
  }),
  ...scenarios('create_task/', [ended], {
    'replay-when-ended: the original key and body return the existing task, also after it has ended': async (
      service,
    ) => {
      const first = await service.accepted(ended);
      await service.statusWhen(searchIdOf(first));
      return sameTask(first, await service.accepted(ended));
    },
  }),
  ...scenarios('create_task/', [...created.pays, another], {
    'new-key-new-task: another Idempotency-Key creates another task': async (service) => {
      const [one, two] = [await created.take(service), await service.accepted(another)];
      return unless(searchIdOf(one) !== searchIdOf(two), 'leads_search_id is the same');
    },
  }),
  // An objective that finds nothing: by default, 100 leads would cost 100 credits.
  ...checks('create_task/', ofNewTask('fetch', { ...rare, limit: undefined }), {
    'default-limit: limit is 100 by default': holds({ limit: 100 }),
  }),
];
