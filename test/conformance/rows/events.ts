import { streamSentinel } from '../../../src/contract/types.ts';
import { type Check, header, type Problems, requestId, same, unless } from '../checks.ts';
import { checks, type Row } from '../row.ts';
import { notTried } from '../service.ts';
import { batches, dones, entities, flawsOf, jsonOf, listIn, quoted } from '../shapes.ts';
import { type Events, eventsOf, oddFrames } from '../stream.ts';
import { post, rare, shared } from './samples.ts';

const limit = 12;

const events =
  (check: (seen: Events) => Problems): Check =>
  (answer) =>
    check(eventsOf(answer));

/** A stream that most rows check: twelve leads are mostly more than one batch. */
const streamRows = checks('events/', shared(post('search', { limit })), {
  'media-type: a search is answered as text/event-stream': header('Content-Type', (value) =>
    /^text\/event-stream\s*(;|$)/i.test(value),
  ),
  'request-id: an accepted search has a request ID': requestId,
  'frames: each frame is a line "data: <payload>" and a blank line': (answer) =>
    oddFrames(answer).map((frame) => `there is a frame ${quoted(frame)}`),
  'known: a stream has only batch events, a done event and [DONE]': events((seen) => {
    const sentinels = seen.payloads.filter((payload) => payload === streamSentinel).length;
    const more = seen.payloads.length - seen.batches.length - seen.dones.length - sentinels;
    return unless(more === 0, `${more} events are of another kind`);
  }),
  'sentinel: data: [DONE] is the last frame and comes once': events(({ payloads }) => {
    const at = payloads.indexOf(streamSentinel);
    return same('the place of the first [DONE]', at, Math.max(0, payloads.length - 1));
  }),
  'one-done: a stream has exactly one done event': events(({ dones: { length } }) =>
    same('the number of done events', length, 1),
  ),
  'done-after-batches: no batch comes after the done event': events(({ payloads }) => {
    const objects = payloads.map((one) => /"object"\s*:\s*"(\w+)"/.exec(one)?.[1]);
    const doneAt = objects.indexOf('entity_search_done');
    const batchAt = objects.lastIndexOf('entity_search_batch');
    const problem = `event ${doneAt + 1} is done, but event ${batchAt + 1} is a batch`;
    return unless(doneAt === -1 || batchAt < doneAt, problem);
  }),
  'done-body: the done event has object, cum_count, stop_reason and finish: true': events((seen) =>
    flawsOf(dones, seen.dones),
  ),
  'done-cum-count: cum_count of the done event is the number of all entities': events(doneCounts),
  'batch-body: a batch has object, batch_index, count, cum_count and entities': events((seen) =>
    flawsOf(batches, seen.batches),
  ),
  'batch-index: batch_index starts at 1 and rises by one with each batch': events((seen) => {
    const found = seen.batches.map(({ batch_index }) => quoted(batch_index));
    return same('batch_index', found.join(), found.map((_, at) => at + 1).join());
  }),
  'batch-count: count is the number of entities in the batch': events((seen) =>
    seen.batches.flatMap(({ count, entities }) =>
      same('count', count, Array.isArray(entities) ? entities.length : Number.NaN),
    ),
  ),
  'batch-cum-count: cum_count is the number of entities so far': events((seen) => {
    let sum = 0;
    return seen.batches.flatMap((batch) => {
      sum += listIn(batch, 'entities').length;
      return same('cum_count', batch.cum_count, sum);
    });
  }),
  'leads-search-id: stream events have a leads_search_id': events((seen) => {
    const ids = seen.batches.map(({ leads_search_id }) => leads_search_id);
    const isOne = ids.every((id) => typeof id === 'string' && id !== '' && id === ids[0]);
    return unless(isOne, `leads_search_id is ${ids.map(quoted).join(', ')}`);
  }),
  'done-leads-search-id: stream events have a leads_search_id': events((seen) =>
    seen.dones.flatMap(({ leads_search_id: id }) => {
      const isSame = typeof id === 'string' && id !== '' && id === (seen.leadsSearchId ?? id);
      return unless(isSame, `leads_search_id of the done event is ${quoted(id)}, not that of the batches`);
    }),
  ),
  'at-most-limit: a search gives at most limit leads': events(({ entities: { length } }) =>
    unless(length <= limit, `${length} entities, although limit is ${limit}`),
  ),
  'unique: a search gives no lead twice': events(({ entities }) => {
    const repeated = entities.length - new Set(entities.map(jsonOf)).size;
    return unless(repeated === 0, `${repeated} entities came more than once`);
  }),
  'entity-body: if an entity has name, links, description or score, they have the form that the interface gives':
    events((seen) => {
      if (seen.entities.length === 0) throw notTried('the search found nothing');
      return flawsOf(entities, seen.entities);
    }),
});

export const eventRows: readonly Row[] = [
  ...streamRows,
  ...checks('events/', post('search', { objective: 'companies', limit: undefined }), {
    'default-limit: limit is 100 by default': events(({ dones, entities: { length } }) => {
      const isFull = dones[0]?.stop_reason === 'limit';
      return unless(length === 100 || (length < 100 && !isFull), `${length} entities`);
    }),
  }),
  ...checks('events/', post('search', rare), {
    'found-nothing: a search that finds nothing still ends with a done event and [DONE]': events((seen) => [
      ...same('the number of done events', seen.dones.length, 1),
      ...doneCounts(seen),
      ...same('the last frame', seen.payloads.at(-1), streamSentinel),
    ]),
  }),
];

function doneCounts({ dones, entities: { length } }: Events): Problems {
  return dones.flatMap(({ cum_count }) => same('cum_count', cum_count, length));
}
