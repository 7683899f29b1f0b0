import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { folder, inPairs, leadpipe, peakOf, root, serve, shell, wall } from '../measured.js';

/** 200 MB. */
const entities = 200_000;

/** Long streams: how fast, and in how much memory. */
export async function streamRows(measure, isWanted, { binary, version: node }) {
  if (isWanted('stream')) await throughput(measure, binary, node);
  if (isWanted('memory')) await memory(measure, binary, node);
}

async function throughput(measure, binary, node) {
  const service = await serve({ ENTITIES: String(entities) });
  const stream = `${service.url}/v1/entity-search`;
  const curl = 'curl -sN -X POST "$1"';
  const jq = shell(
    `${curl} | grep --line-buffered '^data: {' | cut -c7- | jq -c '.entities[]?' > /dev/null`,
    stream,
  );
  const own = (format, ...more) =>
    shell('"$@" > /dev/null', ...searchOf(binary, service.url, format), ...more);
  const faster = ([a, b]) => b / a;
  const rows = [
    ['JSONL', own('jsonl'), 'curl | grep | cut | jq -c', jq, '≥ 3'],
    ['CSV', own('csv'), 'curl | grep | cut | jq -c', jq, ''],
    ['table', own('table'), 'curl | grep | cut | jq -c', jq, ''],
    ['JSONL', own('jsonl'), 'curl | cat', shell(`${curl} | cat > /dev/null`, stream), ''],
  ];
  for (const [what, mine, peer, other, aim] of rows) {
    await measure({
      name: `stream of 200 MB: ${what}, journal kept, speed ÷ ${peer}`,
      node,
      aim,
      each: faster,
      pairs: () =>
        inPairs(
          3,
          () => wall(mine),
          () => wall(other),
        ),
    });
  }
  const unkept = own('jsonl', '--no-history');
  const peer = join(root, 'bench/peers/parse-and-stringify.js');
  const thread = shell('"$@" > /dev/null', binary, peer, stream);
  await measure({
    name: 'stream of 200 MB: JSONL, --no-history, speed ÷ a program of one thread that parses and stringifies it',
    node,
    aim: '≥ 1.3',
    each: faster,
    pairs: () =>
      inPairs(
        5,
        () => wall(unkept),
        () => wall(thread),
      ),
  });
  const saved = join(folder, 'stream.txt');
  execFileSync('curl', ['-sN', '-X', 'POST', stream, '-o', saved]);
  console.error(`the stream has ${Math.round(statSync(saved).size / 1e6)} MB`);
  const alone = join(root, 'bench/peers/parse-and-stringify-alone.js');
  const loop = () => Number(execFileSync(binary, [alone, saved], { encoding: 'utf8' }).split(' ')[0]);
  await measure({
    name: 'stream of 200 MB: JSONL, --no-history, whole run, speed ÷ parse and stringify alone, of what is in memory',
    node,
    each: faster,
    pairs: () => inPairs(5, () => wall(unkept), loop),
  });
  service.stop();
}

async function memory(measure, binary, node) {
  const small = await serve({ ENTITIES: '100000' });
  const large = await serve({ ENTITIES: '1000000' });
  const peak = (service) => peakOf(searchOf(binary, service.url, 'jsonl'));
  await measure({
    name: 'memory: peak at 1 GiB ÷ peak at 100 MiB, JSONL, journal kept',
    node,
    aim: '≤ 1.2',
    unit: 'MiB',
    pairs: () =>
      inPairs(
        1,
        () => peak(large),
        () => peak(small),
      ),
  });
  small.stop();
  large.stop();
}

function searchOf(binary, url, format) {
  return leadpipe(
    binary,
    ...['search', 'company', 'anything', '--limit', '1000', '-q', '-f', format, '--base-url', url],
  );
}
