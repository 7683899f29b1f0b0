import { join } from 'node:path';
import { build } from 'esbuild';
import { folder, inPairs, leadpipe, root, serve, shell, timesOf, wall } from '../measured.js';

/** One short run: a request beside the floor of each way to send one, and its end. */
export async function requestRows(measure, isWanted, { binary, version: node }) {
  if (!isWanted('request') && !isWanted('first row')) return;
  const service = await serve();
  const balance = `${service.url}/v1/credit/balance`;
  const search = `${service.url}/v1/entity-search`;
  const own = leadpipe(binary, 'balance', '--base-url', service.url);
  const undici = await bundledPeer();
  const peers = [
    ['undici request, bundled', [binary, undici, balance], '≤ 1.25'],
    [
      "node -e 'fetch(…)'",
      [binary, '-e', `fetch('${balance}').then((a)=>a.text()).then(console.log)`],
      '< 1',
    ],
    ['node:http', [binary, join(root, 'bench/peers/node-http.js'), balance], ''],
  ];
  for (const [peer, command, aim] of peers) {
    await measure({
      name: `request: leadpipe balance ÷ ${peer}`,
      node,
      aim,
      pairs: (count) =>
        inPairs(
          count,
          () => wall(own),
          () => wall(command),
        ),
    });
  }
  const leads = searchOf(binary, service.url);
  await measure({
    name: 'request: 1,000 leads to JSONL, journal kept ÷ undici request, bundled',
    node,
    aim: '≤ 1.6',
    pairs: (count) =>
      inPairs(
        count,
        () => wall(leads),
        () => wall([binary, undici, search, 'POST']),
      ),
  });
  await measure({
    name: 'request: last byte to end of process, 1,000 leads (own) and node -e (other)',
    node,
    aim: 'own ≤ 5 ms',
    pairs: (count) =>
      inPairs(
        count,
        () => toEnd(leads),
        () => toEnd([binary, '-e', 'process.stdout.write("x")']),
      ),
  });
  service.stop();
  await firstRow(measure, binary, node);
}

/** From the moment at which the service writes the first batch, so without the start of either process. */
async function firstRow(measure, binary, node) {
  const service = await serve({ ENTITIES: '100', PAUSE: '400' });
  const after = async (command) => {
    const { firstAt } = await timesOf(command, { stopAtFirst: true });
    return firstAt - service.firstBatches.at(-1);
  };
  await measure({
    name: 'first row: from the first batch of the service, less that of curl -N',
    node,
    aim: '≤ 5 ms',
    each: ([own, other]) => own - other,
    pairs: (count) =>
      inPairs(
        count,
        () => after(searchOf(binary, service.url)),
        () => after(shell('curl -sN -X POST "$1"', `${service.url}/v1/entity-search`)),
      ),
  });
  service.stop();
}

function searchOf(binary, url) {
  return leadpipe(
    binary,
    'search',
    'company',
    'anything',
    '--limit',
    '1000',
    '-f',
    'jsonl',
    '-q',
    '--base-url',
    url,
  );
}

async function toEnd(command) {
  const { last, end } = await timesOf(command);
  return end - last;
}

/** As leadpipe itself is bundled, so that loading files is not what is compared. */
async function bundledPeer() {
  const outfile = join(folder, 'bare-request.mjs');
  await build({
    entryPoints: [join(root, 'bench/peers/bare-request.js')],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  return outfile;
}
