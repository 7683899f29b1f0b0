import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  chunk,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import {
  bareEnvironment,
  command,
  pointedAt,
  type Result,
  resultOf,
  run,
  start,
  temporaryFolder,
} from '../helpers/run.ts';
import { type Step, startTaskServer, type TaskServer } from '../helpers/task-server.ts';

/** Clocks that jump, disks that are full, readers that leave: what was bought is not bought again. The service counts. */

let cwd: string;
let env: Record<string, string>;
let server: FaultServer | RowService | TaskServer | undefined;
beforeEach(() => {
  const home = temporaryFolder();
  cwd = join(home, 'work');
  mkdirSync(cwd);
  env = bareEnvironment(home);
});

const hourMs = 3_600_000;
const preload = (name: string) => `--import ${join(import.meta.dirname, name)}`;
const leadpipe = (args: string[], more: Record<string, string> = {}): Promise<Result> =>
  run(args, { env: { ...env, ...more }, cwd });
/** Runs it with a clock that is so many hours ahead. */
const ahead = (hours: number, args: string[]): Promise<Result> =>
  leadpipe(args, {
    NODE_OPTIONS: preload('../soak/clock-preload.mjs'),
    CLOCK_AHEAD_MS: String(hours * hourMs),
  });
const read = (name: string): string => readFileSync(join(cwd, name), 'utf8');
const operations = (): string[] => readdirSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations')).sort();

describe('a list that was stopped', () => {
  const people = Array.from({ length: 10 }, (_, at) => `p${at}`);
  const args = ['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', '--concurrency', '1'];
  let service: RowService;
  const paid = (): string[] => [...service.charged.values()].map((body) => JSON.parse(body).objective).sort();

  beforeEach(async () => {
    service = await startRowService({ latencyMs: 30 });
    server = service;
    env = { ...env, ...pointedAt(service.url) };
    writeFileSync(join(cwd, 'list.txt'), `${people.join('\n')}\n`);
    const child = start(args, { env, cwd });
    const ended = resultOf(child);
    await expect.poll(() => service.charged.size, { timeout: 10_000 }).toBeGreaterThan(3);
    child.kill('SIGINT');
    await ended;
  });

  it('goes on eight days later, also when old answers were removed meanwhile', async () => {
    await ahead(8 * 24, ['history', 'prune']);
    const { code } = await ahead(8 * 24, args);
    const rows = people.map((name) => `${name},${name}@example.com,,\r\n`).join('');
    expect(read('out.csv')).toBe(`objective,email,email_reference,email_error\r\n${rows}`);
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: people });
  });

  it('goes on although a clock was 40 days ahead once', async () => {
    for (const name of ['Ada', 'Bo']) await ahead(40 * 24, ['contact', 'email', name]);
    const { code } = await leadpipe(args);
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: ['Ada', 'Bo', ...people] });
  });

  it('is the latest, whatever the clock of an earlier one said', async () => {
    expect((await ahead(24, ['contact', 'email', 'Ada'])).code).toBe(0);
    expect((await leadpipe(['contact', 'email', 'Bo'])).code).toBe(0);
    expect((await leadpipe(['history', 'show', '-f', 'jsonl'])).stdout).toContain('bo@example.com');
  });
});

it('a search whose reader has left is not bought to its end unasked', async () => {
  let searches = 0;
  server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') return void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    const frames = searchFrames(Array.from({ length: 900 }, (_, at) => [`{"name":"${at}"}`]));
    // The first one goes on until nobody listens, with leads that are new: nothing is printed of others.
    if (searches++ > 0) return void socket.end(streamHead + chunk(frames.join('')) + lastChunk);
    socket.write(streamHead);
    const more = setInterval(() => socket.write(chunk(frames.shift() ?? '')), 20);
    socket.on('close', () => clearInterval(more));
  });
  env = { ...env, ...pointedAt(server.url) };
  const words = '"$0" "$1" search company x --limit 900 -f jsonl | head -1';
  const shell = spawn('bash', ['-c', words, process.execPath, command], { env, cwd, stdio: 'pipe' });
  expect((await resultOf(shell)).stdout).toBe('{"name":"0"}\n');
  for (const group of ['history', 'task']) await leadpipe([group, 'resume']);
  expect(searches).toBe(1);
});

it('a task whose record has a bad byte is not created again', async () => {
  const steps: Step[] = [['running', 20]];
  const tasks = await startTaskServer({ steps });
  server = tasks;
  env = { ...env, ...pointedAt(tasks.url) };
  const args = ['task', 'run', 'company', 'x', '-o', 'leads.jsonl', '--poll-interval', '0.01'];
  expect((await leadpipe([...args, '--wait-timeout', '0.5'])).code).toBe(75);
  steps.push(['done', 45]);
  const journal = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operations()[0] ?? '', 'journal.jsonl');
  writeFileSync(journal, readFileSync(journal, 'utf8').replace('"type":"created"', '"type":"crested"'));
  const codes = [(await leadpipe(['task', 'resume'])).code, (await leadpipe(args)).code];
  expect({ created: tasks.count('create'), codes }).toEqual({ created: 1, codes: [78, 78] });
});

it('a search whose file has no room buys only the rest when there is room again', async () => {
  const all = Array.from({ length: 34 }, (_, at) => `{"name":"lead ${at}"}`);
  const asked: number[] = [];
  const found = await startFaultServer((socket, { method, body }) => {
    if (method === 'GET') return void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    const { limit } = JSON.parse(body);
    asked.push(limit);
    const leads = all.slice(all.length - limit);
    const batches = [leads.slice(0, 10), leads.slice(10)].filter((batch) => batch.length > 0);
    const [first = '', ...rest] = searchFrames(batches);
    socket.write(streamHead + chunk(first));
    setTimeout(() => socket.end(chunk(rest.join('')) + lastChunk), 200);
  });
  server = found;
  env = { ...env, ...pointedAt(found.url) };
  const args = ['search', 'company', 'x', '--limit', '34', '-q', '-o', 'leads.jsonl'];
  for (let at = 4; at < 60; at++) {
    const home = temporaryFolder();
    env = { ...bareEnvironment(home), ...pointedAt(found.url) };
    const full = JSON.stringify({ mode: 'ENOSPC', at });
    await leadpipe(args, { NODE_OPTIONS: preload('fault-preload.mjs'), FAULT: full });
    const kept = storedLeads();
    if (kept === 0) continue;
    expect((await leadpipe(args)).code).toBe(0);
    expect({ kept, asked: asked.at(-1) }).toEqual({ kept, asked: 34 - kept });
    expect(read('leads.jsonl')).toBe(all.map((lead) => `${lead}\n`).join(''));
    return;
  }
  expect.fail('no lead was stored before the disk was full');
}, 120_000);

/** Of the one operation there is. */
function storedLeads(): number {
  try {
    const file = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operations()[0] ?? '', 'leads.jsonl');
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"name":"lead ')).length;
  } catch {
    return 0;
  }
}
