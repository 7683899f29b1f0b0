/**
 * The service that is measured against, in a process of its own, so that it doesn't share a thread with what is measured:
 * `node bench/service.js` prints its address. It knows a search stream, the balance and a contact lookup.
 *
 * ENTITIES is the length of the stream, PAUSE the milliseconds between its first batch and the rest, LOOKUP_MS how long a
 * lookup takes. For each stream it prints the moment (milliseconds since 1970) at which the first batch was written.
 */
import { createServer } from 'node:http';
import { pipeline, Readable } from 'node:stream';

const perBatch = 50;
const { ENTITIES = '1000', PAUSE = '0', LOOKUP_MS = '50' } = process.env;

const entity = (index) =>
  JSON.stringify({
    name: `Company ${index} GmbH`,
    links: {
      website: `https://company-${index}.example`,
      linkedin_url: `https://linkedin.example/company/${index}`,
    },
    description: `${'Makes software for small firms that ship parcels across borders, and keeps their papers in order. '.repeat(8)}${index}`,
    score: { score: '0.87', reason: 'matches software, parcels, borders' },
    follower_id: index,
  });

// One batch is made once and sent with a new index each time: making text is not what is measured.
const entities = Array.from({ length: perBatch }, (_, index) => entity(index)).join(',');
const batch = (index) =>
  `data: {"object":"entity_search_batch","leads_search_id":"ls_bench","batch_index":${index},"count":${perBatch},"cum_count":${index * perBatch},"entities":[${entities}]}\n\n`;

async function* stream(count, pause) {
  for (let index = 1; index <= count / perBatch; index++) {
    if (index === 1) console.log(performance.timeOrigin + performance.now());
    yield batch(index);
    if (index === 1 && pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  yield `data: {"object":"entity_search_done","cum_count":${count},"stop_reason":"limit","finish":true}\n\n`;
  yield 'data: [DONE]\n\n';
}

const answers = {
  '/v1/credit/balance': {
    object: 'credit_balance',
    available_credits: 1000,
    updated_at: '2026-01-01T00:00:00Z',
    next_credit_refresh_at: null,
  },
  '/v1/contact-search': {
    object: 'contact_search_result',
    request: { contact_type: 'email', objective: 'anyone' },
    result: { content: 'ada@company.example', reference: null },
    created_at: '2026-01-01T00:00:00Z',
  },
};

const server = createServer((request, response) => {
  request.resume();
  const path = request.url.split('?')[0];
  const head = { 'x-request-id': 'req_bench' };
  if (path === '/v1/entity-search') {
    response.writeHead(200, { ...head, 'content-type': 'text/event-stream' });
    pipeline(Readable.from(stream(Number(ENTITIES), Number(PAUSE))), response, () => {});
    return;
  }
  const body = JSON.stringify(answers[path] ?? {});
  const send = () =>
    response.writeHead(answers[path] ? 200 : 404, { ...head, 'content-type': 'application/json' }).end(body);
  if (path === '/v1/contact-search') setTimeout(send, Number(LOOKUP_MS));
  else send();
});

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
