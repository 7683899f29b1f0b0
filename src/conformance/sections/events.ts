import { streamSentinel } from '../../contract/types.ts';
import { accepted, header, requestId, section } from '../expectations.ts';
import { batch, done, entity } from '../resources.ts';
import { type Answer, NotJudged, type Row, shared } from '../row.ts';
import { companies, post, rareObjective } from '../samples.ts';
import { listOf, quoted } from '../shapes.ts';
import { eventsOf, oddFrames } from '../stream.ts';

const limit = 12;

/** One stream that most rows look at: twelve leads are mostly more than a batch. */
const stream = shared('stream', post('search', { body: companies({ limit }) }));
const { row, holdsThat } = section('events', () => post('search'), stream);

export const eventRows: readonly Row[] = [
  row(
    'media-type',
    'a search is answered as text/event-stream',
    header('Content-Type', 'text/event-stream', (value) => /^text\/event-stream\s*(;|$)/i.test(value)),
  ),
  row('request-id', 'an accepted search has a request ID', requestId),
  holdsThat('frames', 'each frame is a line "data: <payload>" and a blank line', 'nothing else', (answer) =>
    oddFrames(answer).map((frame) => `there is a frame ${quoted(frame)}`),
  ),
  holdsThat('known', 'a stream has only batch events, a done event and [DONE]', 'nothing else', (answer) => {
    const { batches, dones, payloads } = eventsOf(answer);
    const sentinels = payloads.filter((payload) => payload === streamSentinel).length;
    const more = payloads.length - batches.length - dones.length - sentinels;
    return more === 0 ? [] : [`${more} events are of another kind`];
  }),
  holdsThat('sentinel', 'data: [DONE] is the last frame and comes once', '[DONE] at the end', (answer) => {
    const { payloads } = eventsOf(answer);
    const at = payloads.indexOf(streamSentinel);
    return at >= 0 && at === payloads.length - 1 ? [] : [`[DONE] is frame ${at + 1} of ${payloads.length}`];
  }),
  holdsThat('one-done', 'a stream has exactly one done event', 'one entity_search_done', (answer) => {
    const { dones } = eventsOf(answer);
    return dones.length === 1 ? [] : [`${dones.length} done events`];
  }),
  holdsThat(
    'done-after-batches',
    'no batch comes after the done event',
    'done after all batches',
    (answer) => {
      const objects = eventsOf(answer).payloads.map((one) => /"object"\s*:\s*"(\w+)"/.exec(one)?.[1]);
      const doneAt = objects.indexOf('entity_search_done');
      const batchAt = objects.lastIndexOf('entity_search_batch');
      return doneAt === -1 || batchAt < doneAt
        ? []
        : [`event ${doneAt + 1} is done, but event ${batchAt + 1} is a batch`];
    },
  ),
  holdsThat(
    'done-body',
    'the done event has object, cum_count, stop_reason and finish: true',
    'these fields',
    (answer) => listOf(done)(eventsOf(answer).dones, '$'),
  ),
  holdsThat(
    'done-cum-count',
    'cum_count of the done event is the number of all entities',
    'this number',
    doneCounts,
  ),
  holdsThat(
    'batch-body',
    'a batch has object, batch_index, count, cum_count and entities',
    'these fields',
    (answer) => listOf(batch)(eventsOf(answer).batches, '$'),
  ),
  holdsThat(
    'batch-index',
    'batch_index starts at 1 and rises by one with each batch',
    '1, 2, 3, …',
    (answer) => {
      const found = eventsOf(answer).batches.map(({ batch_index }) => batch_index);
      return found.every((index, at) => index === at + 1)
        ? []
        : [`batch_index is ${found.map(quoted).join(', ')}`];
    },
  ),
  holdsThat('batch-count', 'count is the number of entities in the batch', 'count = entities', (answer) =>
    eventsOf(answer).batches.flatMap(({ count, entities }) =>
      Array.isArray(entities) && count === entities.length
        ? []
        : [`count is ${quoted(count)} with ${lengthOf(entities)} entities`],
    ),
  ),
  holdsThat(
    'batch-cum-count',
    'cum_count is the number of entities so far',
    'the sum of all so far',
    (answer) => {
      let sum = 0;
      return eventsOf(answer).batches.flatMap(({ cum_count, entities }) => {
        sum += lengthOf(entities);
        return cum_count === sum ? [] : [`cum_count is ${quoted(cum_count)} after ${sum} entities`];
      });
    },
  ),
  holdsThat(
    'leads-search-id',
    'stream events have a leads_search_id',
    'the same one in all batches',
    (answer) => {
      const ids = eventsOf(answer).batches.map(({ leads_search_id }) => leads_search_id);
      return ids.every((id) => typeof id === 'string' && id !== '' && id === ids[0])
        ? []
        : [`leads_search_id is ${ids.map(quoted).join(', ')}`];
    },
  ),
  holdsThat(
    'done-leads-search-id',
    'stream events have a leads_search_id',
    'that of the batches',
    (answer) => {
      const { dones, leadsSearchId } = eventsOf(answer);
      return dones
        .filter(
          ({ leads_search_id: id }) => typeof id !== 'string' || id === '' || id !== (leadsSearchId ?? id),
        )
        .map(({ leads_search_id: id }) => `leads_search_id of the done event is ${quoted(id)}`);
    },
  ),
  holdsThat('at-most-limit', 'a search gives at most limit leads', `at most ${limit}`, (answer) => {
    const { entities } = eventsOf(answer);
    return entities.length <= limit ? [] : [`${entities.length} entities`];
  }),
  holdsThat('unique', 'a search gives no lead twice', 'no entity twice', (answer) => {
    const { texts } = eventsOf(answer);
    const unique = new Set(texts).size;
    return unique === texts.length ? [] : [`${texts.length - unique} entities came more than once`];
  }),
  holdsThat(
    'entity-body',
    'if an entity has name, links, description or score, they have the form that the interface gives',
    'fields of this form',
    (answer) => {
      const { entities } = eventsOf(answer);
      if (entities.length === 0) throw new NotJudged('the search found nothing');
      return listOf(entity)(entities, '$');
    },
  ),
  row(
    'default-limit',
    'limit is 100 by default',
    accepted('100 leads, or fewer where there are no more', (answer) => {
      const { dones, entities } = eventsOf(answer);
      const isFull = dones[0]?.stop_reason === 'limit';
      return entities.length === 100 || (entities.length < 100 && !isFull)
        ? []
        : [`${entities.length} entities`];
    }),
    post('search', { body: { entity_type: 'company', objective: 'companies' } }),
  ),
  row(
    'found-nothing',
    'a search that finds nothing still ends with a done event and [DONE]',
    accepted('one done event with the number of all entities, and [DONE] at the end', (answer) => {
      const { dones, payloads } = eventsOf(answer);
      const wrong = dones.length === 1 ? [...doneCounts(answer)] : [`${dones.length} done events`];
      if (payloads.at(-1) !== streamSentinel) wrong.push('[DONE] is not the last frame');
      return wrong;
    }),
    post('search', { body: companies({ objective: rareObjective }) }),
  ),
];

function doneCounts(answer: Answer): readonly string[] {
  const { dones, entities } = eventsOf(answer);
  return dones
    .filter(({ cum_count }) => cum_count !== entities.length)
    .map(({ cum_count }) => `cum_count is ${quoted(cum_count)}, but ${entities.length} entities came`);
}

function lengthOf(entities: unknown): number {
  return Array.isArray(entities) ? entities.length : 0;
}
