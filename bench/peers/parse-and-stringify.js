/**
 * What one thread can do that reads a stream, decodes and parses each of its events, and writes each entity as text again: as
 * short as it can be, with one write for all that a piece of the network brings, and no other work.
 */
import { once } from 'node:events';
import { request } from 'node:http';

const start = Buffer.from('data: {');
const frameEnd = '\n\n';

const sent = request(process.argv[2], { method: 'POST' }).end();
const [answer] = await once(sent, 'response');
let rest = Buffer.alloc(0);
for await (const piece of answer) {
  const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
  // What was held had no end of a frame in it, but perhaps the first half of one.
  let from = Math.max(0, rest.length - 1);
  let at = 0;
  let lines = '';
  for (let end = bytes.indexOf(frameEnd, from); end !== -1; end = bytes.indexOf(frameEnd, from)) {
    if (bytes.compare(start, 0, start.length, at, at + start.length) === 0) {
      const { entities = [] } = JSON.parse(bytes.toString('utf8', at + 'data: '.length, end));
      for (const entity of entities) lines += `${JSON.stringify(entity)}\n`;
    }
    at = end + frameEnd.length;
    from = at;
  }
  rest = bytes.subarray(at);
  if (lines !== '' && !process.stdout.write(lines)) await once(process.stdout, 'drain');
}
