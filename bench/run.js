/**
 * `npm run bench`: leadpipe beside what a user would pick instead, in pairs taken in one run (A B A B …), so that a
 * ratio holds while the machine's speed drifts. The spread of each figure says how noisy the machine was.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const leadpipe = [process.execPath, join(root, 'bin/leadpipe.js')];
const entities = 100_000;
const folder = mkdtempSync(join(tmpdir(), 'leadpipe-bench-'));
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  LEADPIPE_CONFIG_DIR: join(folder, 'config'),
  LEADPIPE_STATE_DIR: join(folder, 'state'),
  LEADPIPE_API_KEY: 'bench-key-0123456789',
};
const search = (url, format) => [
  ...leadpipe,
  ...['search', 'company', 'anything', '--limit', '1000', '-q', '-f', format, '--base-url', url],
];
const curl = (url) => ['curl', '-sN', '-X', 'POST', `${url}/v1/entity-search`];
const shell = (line) => ['bash', '-c', line];

await startUp();
await firstRow();
await throughput();
await memory();

async function startUp() {
  heading('Start-up, beside `node -e 0`');
  const node = [process.execPath, '-e', '0'];
  for (const args of [['--version'], ['--help'], ['search', '--help']]) {
    const pairs = await inPairs(
      15,
      () => wall([...leadpipe, ...args]),
      () => wall(node),
    );
    print(`leadpipe ${args.join(' ')}`, pairs, 'ms');
  }
}

async function firstRow() {
  heading('Time to the first row, beside `curl -N` (first batch at once, the rest a second later)');
  const server = await serve({ ENTITIES: '100', PAUSE: '1000' });
  const pairs = await inPairs(
    9,
    () => toFirstByte(search(server.url, 'jsonl')),
    () => toFirstByte(curl(server.url)),
  );
  print('leadpipe search -f jsonl', pairs, 'ms');
  const node = await inPairs(
    9,
    () => wall([process.execPath, '-e', '0']),
    () => toFirstByte(curl(server.url)),
  );
  print('of which `node -e 0`', node, 'ms');
  server.stop();
}

async function throughput() {
  const server = await serve({ ENTITIES: String(entities) });
  const bytes = spawnSync('bash', ['-c', `${curl(server.url).join(' ')} | wc -c`], {
    encoding: 'utf8',
  }).stdout;
  const megabytes = Number(bytes) / 1e6;
  heading(
    `${entities} entities, ${megabytes.toFixed(0)} MB of stream, beside \`curl -N | grep | cut | jq -c\``,
  );
  const peer = shell(
    `${curl(server.url).join(' ')} | grep --line-buffered '^data: {' | cut -c7- | jq -c '.entities[]?' > /dev/null`,
  );
  for (const format of ['jsonl', 'csv', 'table']) {
    const mine = shell(`"$@" > /dev/null`);
    const pairs = await inPairs(
      3,
      () => wall([...mine, '-', ...search(server.url, format)]),
      () => wall(peer),
    );
    print(`leadpipe search -f ${format}`, pairs, 'ms');
    const seconds = median(pairs.map(([own]) => own)) / 1000;
    const peerSeconds = median(pairs.map(([, other]) => other)) / 1000;
    console.log(
      `  ${Math.round(entities / seconds)} entities/s, ${(megabytes / seconds).toFixed(1)} MB/s` +
        ` (peer: ${Math.round(entities / peerSeconds)} entities/s, ${(megabytes / peerSeconds).toFixed(1)} MB/s)`,
    );
  }
  server.stop();
}

async function memory() {
  heading('Peak memory into a slow reader (MiB): 10,000 entities, then 100,000');
  for (const format of ['jsonl', 'csv', 'table']) {
    const peaks = [];
    for (const count of [10_000, entities]) {
      const server = await serve({ ENTITIES: String(count) });
      peaks.push(await peakIntoSlowReader(search(server.url, format)));
      server.stop();
    }
    console.log(`  ${format.padEnd(30)} ${peaks.map((peak) => peak.toFixed(0)).join(' -> ')}`);
  }
}

/** Reads 64 KiB per millisecond at most, and watches the high-water mark of the process. */
async function peakIntoSlowReader([command, ...args]) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let peak = 0;
  let pieces = 0;
  for await (const _ of child.stdout) {
    if (pieces++ % 50 === 0) peak = Math.max(peak, highWater(child.pid));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return peak;
}

function highWater(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function serve(settings) {
  const child = spawn(process.execPath, [join(root, 'bench/stream-server.js')], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), stop: () => child.kill() };
}

/** Runs A and B in turn, after one of each that is not counted. */
async function inPairs(count, a, b) {
  const pairs = [];
  for (let run = -1; run < count; run++) {
    const pair = [await a(), await b()];
    if (run >= 0) pairs.push(pair);
  }
  return pairs;
}

async function wall([command, ...args]) {
  const start = performance.now();
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return performance.now() - start;
}

async function toFirstByte([command, ...args]) {
  const start = performance.now();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const time = performance.now() - start;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return time;
}

function print(name, pairs, unit) {
  const ratios = pairs.map(([own, other]) => own / other);
  console.log(
    `  ${name.padEnd(30)} ×${median(ratios).toFixed(2)} (×${Math.min(...ratios).toFixed(2)} to ×${Math.max(...ratios).toFixed(2)});` +
      ` ${spread(pairs.map(([own]) => own))} against ${spread(pairs.map(([, other]) => other))} ${unit}`,
  );
}

function spread(values) {
  return `${median(values).toFixed(0)} [${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)}]`;
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function heading(text) {
  console.log(`\n${text}`);
}
