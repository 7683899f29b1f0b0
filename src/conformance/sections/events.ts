import { streamSentinel } from '../../contract/types.ts';
import { isObject } from '../../json/object.ts';
import { accepted, header, requestId } from '../expectations.ts';
import { batch, done, enrichedFields, entity } from '../resources.ts';
import { type Answer, type Check, type Expectation, NotJudged, type Row, type Step } from '../row.ts';
import { companies, post, rareObjective } from '../samples.ts';
import { listOf, quoted } from '../shapes.ts';
import { eventsOf, oddFrames, payloadsOf } from '../stream.ts';

const limit = 12;

/** One stream that most rows look at: twelve leads are mostly more than a batch. */
const stream: Step = (service) => service.once('stream', post('search', { body: companies({ limit }) }));
const enriched: Step = (service) =>
  service.once('enriched stream', post('search', { body: companies({ limit: 2, enrich_fields: [field] }) }));
const field = 'headcount';

function ofStream(name: string, rule: string, expect: Expectation): Row {
  return { id: `events/${name}`, rule, costs: true, request: stream, expect };
}

function row(name: string, rule: string, says: string, check: Check): Row {
  return ofStream(name, rule, accepted(says, check));
}

const eventStream = header('Content-Type', 'text/event-stream', (value) =>
  /^text\/event-stream\s*(;|$)/i.test(value),
);

export const eventRows: readonly Row[] = [
  ofStream('media-type', 'a search is answered as text/event-stream', eventStream),
  ofStream('request-id', 'an accepted search has a request ID', requestId),
  row('frames', 'each frame is a line "data: <payload>" and a blank line', 'nothing else', (answer) =>
    oddFrames(answer).map((frame) => `there is a frame ${quoted(frame)}`),
  ),
  row('known', 'a stream has only batch events, a done event and [DONE]', 'nothing else', (answer) => {
    const { batches, dones } = eventsOf(answer);
    const sentinels = payloadsOf(answer).filter((payload) => payload === streamSentinel).length;
    const more = payloadsOf(answer).length - batches.length - dones.length - sentinels;
    return more === 0 ? [] : [`${more} events are of another kind`];
  }),
  row('sentinel', 'data: [DONE] is the last frame and comes once', '[DONE] at the end', (answer) => {
    const at = payloadsOf(answer).indexOf(streamSentinel);
    const last = payloadsOf(answer).length - 1;
    return at === last && last >= 0 ? [] : [`[DONE] is frame ${at + 1} of ${last + 1}`];
  }),
  row('one-done', 'a stream has exactly one done event', 'one entity_search_done', (answer) => {
    const { dones } = eventsOf(answer);
    return dones.length === 1 ? [] : [`${dones.length} done events`];
  }),
  row('done-after-batches', 'no batch comes after the done event', 'done after all batches', (answer) => {
    const objects = payloadsOf(answer).map((payload) => /"object"\s*:\s*"(\w+)"/.exec(payload)?.[1]);
    const doneAt = objects.indexOf('entity_search_done');
    const batchAt = objects.lastIndexOf('entity_search_batch');
    return doneAt === -1 || batchAt < doneAt
      ? []
      : [`event ${doneAt + 1} is done, but event ${batchAt + 1} is a batch`];
  }),
  row(
    'done-body',
    'the done event has object, cum_count, stop_reason and finish: true',
    'these fields',
    (answer) => listOf(done)(eventsOf(answer).dones, '$'),
  ),
  row(
    'done-cum-count',
    'cum_count of the done event is the number of all entities',
    'the number of all entities',
    (answer) => {
      const { dones, entities } = eventsOf(answer);
      return dones
        .filter(({ cum_count }) => cum_count !== entities.length)
        .map(({ cum_count }) => `cum_count is ${quoted(cum_count)}, but ${entities.length} entities came`);
    },
  ),
  row(
    'batch-body',
    'a batch has object, batch_index, count, cum_count and entities',
    'these fields',
    (answer) => listOf(batch)(eventsOf(answer).batches, '$'),
  ),
  row('batch-index', 'batch_index starts at 1 and rises by one with each batch', '1, 2, 3, …', (answer) => {
    const found = eventsOf(answer).batches.map(({ batch_index }) => batch_index);
    return found.every((index, at) => index === at + 1)
      ? []
      : [`batch_index is ${found.map(quoted).join(', ')}`];
  }),
  row('batch-count', 'count is the number of entities in the batch', 'count = entities', (answer) =>
    eventsOf(answer).batches.flatMap(({ count, entities }) =>
      Array.isArray(entities) && count === entities.length
        ? []
        : [`count is ${quoted(count)} with ${lengthOf(entities)} entities`],
    ),
  ),
  row('batch-cum-count', 'cum_count is the number of entities so far', 'the sum of all so far', (answer) => {
    let sum = 0;
    return eventsOf(answer).batches.flatMap(({ cum_count, entities }) => {
      sum += lengthOf(entities);
      return cum_count === sum ? [] : [`cum_count is ${quoted(cum_count)} after ${sum} entities`];
    });
  }),
  row('leads-search-id', 'batch events have a leads_search_id', 'the same one in all batches', (answer) => {
    const ids = eventsOf(answer).batches.map(({ leads_search_id }) => leads_search_id);
    return ids.every((id) => typeof id === 'string' && id !== '' && id === ids[0])
      ? []
      : [`leads_search_id is ${ids.map(quoted).join(', ')}`];
  }),
  row('at-most-limit', 'a search gives at most limit leads', `at most ${limit}`, (answer) => {
    const { entities } = eventsOf(answer);
    return entities.length <= limit ? [] : [`${entities.length} entities`];
  }),
  row('unique', 'a search gives no lead twice', 'no entity twice', (answer) => {
    const { texts } = eventsOf(answer);
    const unique = new Set(texts).size;
    return unique === texts.length ? [] : [`${texts.length - unique} entities came more than once`];
  }),
  row(
    'entity-body',
    'if an entity has name, links, description or score, they have the form that the interface gives',
    'fields of this form',
    (answer) => listOf(entity)(someEntities(answer), '$'),
  ),
  row(
    'not-enriched',
    'entities have enrich_fields only when it was requested',
    'no enrich_fields',
    (answer) => {
      const { length } = someEntities(answer).filter((one) => 'enrich_fields' in one);
      return length === 0 ? [] : [`${length} entities have enrich_fields`];
    },
  ),
  {
    id: 'events/enriched',
    rule: 'enrich_fields has an entry for each requested name, with the texts content and reference',
    costs: true,
    request: enriched,
    expect: accepted(`enrich_fields with ${field}`, (answer) => {
      const fields = someEntities(answer).flatMap((one) =>
        'enrich_fields' in one ? [one.enrich_fields] : [],
      );
      if (fields.length === 0) throw new NotJudged('no entity has enrich_fields');
      return fields.flatMap((one) => {
        const others = isObject(one) ? Object.keys(one).filter((name) => name !== field) : [];
        return [
          ...enrichedFields(one, '$.enrich_fields'),
          ...others.map((name) => `enrich_fields also has ${quoted(name)}`),
        ];
      });
    }),
  },
  {
    id: 'events/found-nothing',
    rule: 'a search that finds nothing still ends with a done event and [DONE]',
    costs: true,
    request: post('search', { body: companies({ objective: rareObjective }) }),
    expect: accepted('one done event with the number of all entities, and [DONE] at the end', (answer) => {
      const { dones, entities } = eventsOf(answer);
      const wrong = dones.length === 1 ? [] : [`${dones.length} done events`];
      if (dones.some(({ cum_count }) => cum_count !== entities.length))
        wrong.push(`cum_count is ${quoted(dones[0]?.cum_count)}, but ${entities.length} entities came`);
      if (payloadsOf(answer).at(-1) !== streamSentinel) wrong.push('[DONE] is not the last frame');
      return wrong;
    }),
  },
];

function lengthOf(entities: unknown): number {
  return Array.isArray(entities) ? entities.length : 0;
}

function someEntities(answer: Answer): readonly Record<string, unknown>[] {
  const { entities } = eventsOf(answer);
  if (entities.length === 0) throw new NotJudged('the search found nothing');
  return entities;
}
