/**
 * A server with one long search stream, for benchmarks: `node bench/stream-server.js` prints its address. Runs in a
 * process of its own, so that it doesn't share a thread with what is measured. ENTITIES is the
 * length, PAUSE the milliseconds between the first batch and the rest.
 */
import { createServer } from 'node:http';
import { pipeline, Readable } from 'node:stream';

const perBatch = 50;

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
    yield batch(index);
    if (index === 1 && pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  yield `data: {"object":"entity_search_done","cum_count":${count},"stop_reason":"limit","finish":true}\n\n`;
  yield 'data: [DONE]\n\n';
}

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_bench' });
  const { ENTITIES = 1000, PAUSE = 0 } = process.env;
  pipeline(Readable.from(stream(Number(ENTITIES), Number(PAUSE))), response, () => {});
});

server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
