import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  chunk,
  notFound,
  searchFrames,
  startFaultServer,
  startSearchServer,
  streamHead,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import { command, type Result, resultOf } from '../helpers/run.ts';
import { type Step, startTaskServer } from '../helpers/task-server.ts';

/** Clocks that jump, disks that are full, readers that leave: what was bought is not bought again. The service counts. */

const hourMs = 3_600_000;
const preload = (name: string) => `--import ${join(import.meta.dirname, name)}`;
/** Runs it with a clock that is this number of hours ahead. */
const ahead = ({ run }: Machine, hours: number, args: string[]): Promise<Result> =>
  run(args, {
    NODE_OPTIONS: preload('../soak/clock-preload.mjs'),
    CLOCK_AHEAD_MS: String(hours * hourMs),
  });
const operations = ({ state }: Machine): string[] => readdirSync(join(state, 'operations')).sort();

describe('a list that was stopped', () => {
  const people = Array.from({ length: 10 }, (_, at) => `p${at}`);
  const args = ['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', '--concurrency', '1'];
  let service: RowService;
  let machine: Machine;
  const paid = (): string[] => [...service.charged.values()].map((body) => JSON.parse(body).objective).sort();

  beforeEach(async () => {
    service = await startRowService({ latencyMs: 30 });
    machine = createMachine(service.url);
    machine.write('list.txt', `${people.join('\n')}\n`);
    const child = machine.start(args);
    const ended = resultOf(child);
    await expect.poll(() => service.charged.size).toBeGreaterThan(3);
    child.kill('SIGINT');
    await ended;
  });

  it('goes on eight days later, also when old answers were removed meanwhile', async () => {
    await ahead(machine, 8 * 24, ['history', 'prune']);
    const { code } = await ahead(machine, 8 * 24, args);
    const rows = people.map((name) => `${name},${name}@example.com,,\r\n`).join('');
    expect(machine.read('out.csv')).toBe(`objective,email,email_reference,email_error\r\n${rows}`);
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: people });
  });

  it('goes on although a clock was 40 days ahead once', async () => {
    for (const name of ['Ada', 'Bo']) await ahead(machine, 40 * 24, ['contact', 'email', name]);
    const { code } = await machine.run(args);
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: ['Ada', 'Bo', ...people] });
  });

  it('is the latest, whatever the clock of an earlier one said', async () => {
    expect((await ahead(machine, 24, ['contact', 'email', 'Ada'])).code).toBe(0);
    expect((await machine.run(['contact', 'email', 'Bo'])).code).toBe(0);
    expect((await machine.run(['history', 'show', '-f', 'jsonl'])).stdout).toContain('bo@example.com');
  });
});

it('a named run that is complete is not bought again, eight days and a prune later', async () => {
  const service = await startRowService();
  const machine = createMachine(service.url);
  machine.write('list.txt', 'Ada\nBo\n');
  const args = ['contact', 'email', '--input', 'list.txt', '--run', 'october'];
  expect((await machine.run([...args, '-o', 'out.csv'])).code).toBe(0);
  await ahead(machine, 8 * 24, ['history', 'prune']);
  // Also where what is old is removed at the end of another run.
  await ahead(machine, 8 * 24, ['contact', 'email', 'Cy']);
  expect((await ahead(machine, 8 * 24, [...args, '-o', 'again.csv'])).code).toBe(0);
  expect(machine.read('again.csv')).toBe(machine.read('out.csv'));
  expect({ sent: service.requests(), paid: service.charged.size }).toEqual({ sent: 3, paid: 3 });
});

it('a search whose reader has left is not completed without being asked', async () => {
  let searches = 0;
  const server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') return void socket.write(notFound);
    const frames = searchFrames(Array.from({ length: 900 }, (_, at) => [`{"name":"${at}"}`]));
    // The first one continues until its reader has left, and only new leads are printed.
    if (searches++ > 0) return void socket.end(wholeStream(frames));
    socket.write(streamHead);
    const more = setInterval(() => socket.write(chunk(frames.shift() ?? '')), 20);
    socket.on('close', () => clearInterval(more));
  });
  const { cwd, env, run } = createMachine(server.url);
  const search = 'search company x --limit 900 -f jsonl';
  const words = `"$0" "$1" ${search} | head -1`;
  const shell = spawn('bash', ['-c', words, process.execPath, command], { env, cwd, stdio: 'pipe' });
  expect((await resultOf(shell)).stdout).toBe('{"name":"0"}\n');
  await run(['resume']);
  expect(searches).toBe(1);
  // It is nothing that was left unfinished, either.
  expect(await run(search)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('did not finish') });
});

it('a task whose record has a bad byte is not created again', async () => {
  const steps: Step[] = [['running', 20]];
  const tasks = await startTaskServer({ steps });
  const machine = createMachine(tasks.url);
  const args = ['task', 'run', 'company', 'x', '-o', 'leads.jsonl', '--poll-interval', '0.01'];
  expect((await machine.run([...args, '--wait-timeout', '0.5'])).code).toBe(75);
  steps.push(['done', 45]);
  const journal = join(machine.state, 'operations', operations(machine)[0] ?? '', 'journal.jsonl');
  writeFileSync(journal, readFileSync(journal, 'utf8').replace('"type":"created"', '"type":"crested"'));
  const codes = [(await machine.run(['resume'])).code, (await machine.run(args)).code];
  expect({ created: tasks.count('create'), codes }).toEqual({ created: 1, codes: [78, 78] });
});

it('a search whose file has no room buys only the rest when there is room again', async () => {
  const all = Array.from({ length: 34 }, (_, at) => `{"name":"lead ${at}"}`);
  const asked: number[] = [];
  const found = await startSearchServer(({ body }) => {
    const { limit } = JSON.parse(body);
    asked.push(limit);
    const leads = all.slice(all.length - limit);
    const batches = [leads.slice(0, 10), leads.slice(10)].filter((batch) => batch.length > 0);
    return searchFrames(batches);
  }, 70);
  const args = ['search', 'company', 'x', '--limit', '34', '-q', '-o', 'leads.jsonl'];
  for (let at = 16; at < 60; at++) {
    const machine = createMachine(found.url);
    const full = JSON.stringify({ mode: 'ENOSPC', at });
    await machine.run(args, { NODE_OPTIONS: preload('fault-preload.mjs'), FAULT: full });
    const kept = storedLeads(machine);
    if (kept === 0) continue;
    expect((await machine.run(args)).code).toBe(0);
    expect({ kept, asked: asked.at(-1) }).toEqual({ kept, asked: 34 - kept });
    expect(machine.read('leads.jsonl')).toBe(all.map((lead) => `${lead}\n`).join(''));
    return;
  }
  expect.fail('no lead was stored before the disk was full');
}, 120_000);

/** Of the one operation there is. */
function storedLeads(machine: Machine): number {
  try {
    const file = join(machine.state, 'operations', operations(machine)[0] ?? '', 'received.jsonl');
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"name":"lead ')).length;
  } catch {
    return 0;
  }
}
