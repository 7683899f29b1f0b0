import { streamSentinel } from '../../contract/types.ts';
import { accepted, header, requestId, table, unless } from '../expectations.ts';
import { type Expectation, NotJudged, type Row, shared } from '../row.ts';
import { companies, post, rareObjective } from '../samples.ts';
import { batch, done, entity, listOf, quoted } from '../shapes.ts';
import { type Events, eventsOf, oddFrames } from '../stream.ts';

const limit = 12;

/** One stream that most rows look at: twelve leads are mostly more than a batch. */
const stream = shared('stream', post('search', { body: companies({ limit }) }));

function events(says: string, check: (events: Events) => readonly string[]): Expectation {
  return accepted(says, (answer) => check(eventsOf(answer)));
}

export const eventRows: readonly Row[] = table('events', stream, {
  'media-type: a search is answered as text/event-stream': header(
    'Content-Type',
    'text/event-stream',
    (value) => /^text\/event-stream\s*(;|$)/i.test(value),
  ),
  'request-id: an accepted search has a request ID': requestId,
  'frames: each frame is a line "data: <payload>" and a blank line': accepted('nothing else', (answer) =>
    oddFrames(answer).map((frame) => `there is a frame ${quoted(frame)}`),
  ),
  'known: a stream has only batch events, a done event and [DONE]': events('nothing else', (seen) => {
    const sentinels = seen.payloads.filter((payload) => payload === streamSentinel).length;
    const more = seen.payloads.length - seen.batches.length - seen.dones.length - sentinels;
    return unless(more === 0, `${more} events are of another kind`);
  }),
  'sentinel: data: [DONE] is the last frame and comes once': events('[DONE] at the end', ({ payloads }) => {
    const at = payloads.indexOf(streamSentinel);
    return unless(at >= 0 && at === payloads.length - 1, `[DONE] is frame ${at + 1} of ${payloads.length}`);
  }),
  'one-done: a stream has exactly one done event': events('one entity_search_done', ({ dones }) =>
    unless(dones.length === 1, `${dones.length} done events`),
  ),
  'done-after-batches: no batch comes after the done event': events('done after all batches', (seen) => {
    const objects = seen.payloads.map((one) => /"object"\s*:\s*"(\w+)"/.exec(one)?.[1]);
    const doneAt = objects.indexOf('entity_search_done');
    const batchAt = objects.lastIndexOf('entity_search_batch');
    const problem = `event ${doneAt + 1} is done, but event ${batchAt + 1} is a batch`;
    return unless(doneAt === -1 || batchAt < doneAt, problem);
  }),
  'done-body: the done event has object, cum_count, stop_reason and finish: true': events(
    'these fields',
    ({ dones }) => listOf(done)(dones, '$'),
  ),
  'done-cum-count: cum_count of the done event is the number of all entities': events(
    'this number',
    doneCounts,
  ),
  'batch-body: a batch has object, batch_index, count, cum_count and entities': events(
    'these fields',
    ({ batches }) => listOf(batch)(batches, '$'),
  ),
  'batch-index: batch_index starts at 1 and rises by one with each batch': events('1, 2, 3, …', (seen) => {
    const found = seen.batches.map(({ batch_index }) => batch_index);
    const isRising = found.every((index, at) => index === at + 1);
    return unless(isRising, `batch_index is ${found.map(quoted).join(', ')}`);
  }),
  'batch-count: count is the number of entities in the batch': events('count = entities', ({ batches }) =>
    batches.flatMap(({ count, entities }) =>
      unless(
        Array.isArray(entities) && count === entities.length,
        `count is ${quoted(count)} with ${lengthOf(entities)} entities`,
      ),
    ),
  ),
  'batch-cum-count: cum_count is the number of entities so far': events('the sum of all so far', (seen) => {
    let sum = 0;
    return seen.batches.flatMap(({ cum_count, entities }) => {
      sum += lengthOf(entities);
      return unless(cum_count === sum, `cum_count is ${quoted(cum_count)} after ${sum} entities`);
    });
  }),
  'leads-search-id: stream events have a leads_search_id': events('the same one in all batches', (seen) => {
    const ids = seen.batches.map(({ leads_search_id }) => leads_search_id);
    const isOne = ids.every((id) => typeof id === 'string' && id !== '' && id === ids[0]);
    return unless(isOne, `leads_search_id is ${ids.map(quoted).join(', ')}`);
  }),
  'done-leads-search-id: stream events have a leads_search_id': events(
    'that of the batches',
    ({ dones, leadsSearchId }) =>
      dones.flatMap(({ leads_search_id: id }) =>
        unless(
          typeof id === 'string' && id !== '' && id === (leadsSearchId ?? id),
          `leads_search_id of the done event is ${quoted(id)}`,
        ),
      ),
  ),
  'at-most-limit: a search gives at most limit leads': events(`at most ${limit}`, ({ entities }) =>
    unless(entities.length <= limit, `${entities.length} entities`),
  ),
  'unique: a search gives no lead twice': events('no entity twice', ({ texts }) => {
    const repeated = texts.length - new Set(texts).size;
    return unless(repeated === 0, `${repeated} entities came more than once`);
  }),
  'entity-body: if an entity has name, links, description or score, they have the form that the interface gives':
    events('fields of this form', ({ entities }) => {
      if (entities.length === 0) throw new NotJudged('the search found nothing');
      return listOf(entity)(entities, '$');
    }),
  'default-limit: limit is 100 by default': {
    request: post('search', { body: { entity_type: 'company', objective: 'companies' } }),
    expect: events('100 leads, or fewer where there are no more', ({ dones, entities: { length } }) => {
      const isFull = dones[0]?.stop_reason === 'limit';
      return unless(length === 100 || (length < 100 && !isFull), `${length} entities`);
    }),
  },
  'found-nothing: a search that finds nothing still ends with a done event and [DONE]': {
    request: post('search', { body: companies({ objective: rareObjective }) }),
    expect: events('one done event with the number of all entities, and [DONE] at the end', (seen) => [
      ...(seen.dones.length === 1 ? doneCounts(seen) : [`${seen.dones.length} done events`]),
      ...unless(seen.payloads.at(-1) === streamSentinel, '[DONE] is not the last frame'),
    ]),
  },
});

function doneCounts({ dones, entities }: Events): readonly string[] {
  return dones.flatMap(({ cum_count }) =>
    unless(
      cum_count === entities.length,
      `cum_count is ${quoted(cum_count)}, but ${entities.length} entities came`,
    ),
  );
}

function lengthOf(entities: unknown): number {
  return Array.isArray(entities) ? entities.length : 0;
}
