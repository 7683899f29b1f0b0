/** How things are measured: processes in a bare environment, in pairs taken in turn, with medians and spread. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** @typedef {[command: string, ...args: string[]]} Command */
/** @typedef {{ median: number, least: number, most: number }} Spread */

export const root = join(import.meta.dirname, '..');
export const folder = mkdtempSync(join(tmpdir(), 'leadpipe-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const state = join(folder, 'state');
// As after a first purchase: newer Nodes keep there what they compile.
mkdirSync(state);

/** Nothing else: NODE_EXTRA_CA_CERTS alone makes Node start three times as slowly. */
export const bare = {
  PATH: process.env.PATH,
  HOME: folder,
  LEADPIPE_CONFIG_DIR: join(folder, 'config'),
  LEADPIPE_STATE_DIR: state,
  LEADPIPE_API_KEY: 'bench-key-0123456789',
};

/** leadpipe as it is built here, on a Node. */
export const leadpipe = (node, ...args) => [node, join(root, 'bin/leadpipe.js'), ...args];

/** A line of bash; the words behind it are its `"$@"`. */
export const shell = (line, ...words) => ['bash', '-c', line, '-', ...words];

/** Runs A and B in turn, after one of each that is not counted. Gives what each measured. */
export async function inPairs(count, a, b) {
  const pairs = [];
  for (let run = -1; run < count; run++) {
    const pair = [await a(), await b()];
    if (run >= 0) pairs.push(pair);
  }
  return pairs;
}

/** @returns {Spread} */
export function spreadOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], least: sorted[0], most: sorted.at(-1) };
}

/** Milliseconds from the start of a process to its end. Throws where it fails. */
export async function wall(command) {
  return (await timesOf(command)).end;
}

/** Milliseconds from the start of a process to its first byte, its last byte, and its end. */
export async function timesOf([command, ...args], { env = bare, stopAtFirst = false } = {}) {
  const start = performance.now();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let first;
  let last = 0;
  child.stdout.on('data', () => {
    last = performance.now() - start;
    first ??= last;
    if (stopAtFirst) child.kill('SIGKILL');
  });
  const [code] = await once(child, 'exit');
  const end = performance.now() - start;
  if (code !== 0 && !stopAtFirst) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return {
    first,
    last,
    end,
    firstAt: first === undefined ? undefined : performance.timeOrigin + start + first,
  };
}

/** The most memory (MiB) that a process had, as Linux counts it. */
export async function peakOf([command, ...args]) {
  const child = spawn(command, args, { env: bare, stdio: ['ignore', 'ignore', 'inherit'] });
  let peak = 0;
  const look = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended.
    }
  }, 10);
  const [code] = await once(child, 'exit');
  clearInterval(look);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return peak;
}

/** The service that is measured against. `firstBatches` are the moments at which streams began. */
export async function serve(settings = {}) {
  const child = spawn(process.execPath, [join(root, 'bench/service.js')], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [url] = await once(lines, 'line');
  const firstBatches = [];
  lines.on('line', (line) => firstBatches.push(Number(line)));
  return { url, firstBatches, stop: () => child.kill() };
}
