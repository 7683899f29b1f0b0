import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  searchFrames,
  startFaultServer,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { pointedAt, resultOf, run, start, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer | undefined;

/** Points at a server that always gives this answer; state is kept from one command to the next. */
async function serve(answer: string): Promise<Record<string, string>> {
  const whole = wholeAnswer('200 OK', 'application/json', answer);
  server = await startFaultServer((socket) => void socket.end(whole));
  return { ...pointedAt(server.url), LEADPIPE_STATE_DIR: temporaryFolder() };
}

/** The one purchase that there is. */
const operationIn = (env: Record<string, string>): string =>
  readdirSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations'))[0] ?? '';

const prose = 'Some ordinary words of prose, and some more of them. '.repeat(4000);
const enriched = JSON.stringify({ success: true, answer: { notes: prose } });
const enrich = ['enrich', 'x', '--field', 'notes'];
/** A list of which each item has ten columns of its own. */
const ownColumns = Array.from(
  { length: 3000 },
  (_, item) => `{${Array.from({ length: 10 }, (_each, at) => `"c${item}_${at}":"v"`).join(',')}}`,
);
const extracted = `{"success":true,"data":[${ownColumns.join(',')}],"metadata":{}}`;
const extract = ['extract', 'x_followers', 'ada'];

describe('200 kB of prose in the sheet of a single answer', () => {
  it.each<[string, string[], object]>([
    ['enrich', enrich, { success: true, answer: { notes: prose } }],
    ['contact', ['contact', 'email', 'x'], { result: { content: prose, reference: null } }],
    ['balance', ['balance'], { object: 'credit_balance', available_credits: 1, updated_at: prose }],
  ])('is shown at once, as far as anyone reads it: %s', async (_name, args, answer) => {
    const env = await serve(JSON.stringify(answer));
    const { code, stdout } = await run([...args, '-f', 'table'], { env });
    expect(code).toBe(0);
    expect(stdout.match(/Some ordinary words/g)?.length).toBeGreaterThan(500);
    expect(stdout.split('\n').length).toBeLessThan(510);
    expect(stdout.match(/^ +…$/m)).not.toBeNull();
  });

  it('and again by history show', async () => {
    const env = await serve(enriched);
    expect(await run([...enrich, '-f', 'jsonl'], { env })).toMatchObject({ code: 0 });
    expect(await run(['history', 'show', operationIn(env), '-f', 'table'], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('notes  Some ordinary'),
    });
  });
});

// Each of these computes for far longer than a test may take.
describe('a signal ends a run that computes', () => {
  it.each([
    ['csv', 'SIGINT', 130],
    ['table', 'SIGTERM', 143],
  ] as const)('90,000,000 cells as %s, %s: %i', async (format, signal, code) => {
    const env = await serve(extracted);
    const child = start([...extract, '-f', format], { env });
    const ended = resultOf(child);
    await once(child.stdout, 'data');
    const memory = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    child.kill(signal);
    const { stderr, code: exit } = await ended;
    expect(exit).toBe(code);
    // It ended in order, and not because its time was up.
    expect(stderr).toContain(`leadpipe history show ${operationIn(env)}`);
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(memory)?.[1])).toBeLessThan(700_000);
  });

  it('into a file: the rows that are in it stay, each of them whole', async () => {
    const env = await serve(extracted);
    const cwd = temporaryFolder();
    const child = start([...extract, '-o', 'items.csv'], { env, cwd });
    const ended = resultOf(child);
    const part = join(cwd, 'items.csv.part');
    await waitFor(() => existsSync(part) && readFileSync(part).length > 0);
    child.kill('SIGINT');
    expect(await ended).toMatchObject(ending(130, `leadpipe history show ${operationIn(env)}`));
    const rows = readFileSync(part, 'utf8').split('\r\n');
    expect(rows.pop()).toBe('');
    for (const row of rows) expect(row.split(',')).toHaveLength(30_000);
  });

  it('half-way through a batch: the search that is continued has each lead once', async () => {
    const leads = Array.from({ length: 901 }, (_, at) => `{"name":"N${at}"}`);
    const [first = '', second = '', ...end] = searchFrames([leads.slice(0, 1), leads.slice(1)]);
    let searches = 0;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') socket.end(errorAnswer('404 Not Found', 'not_found', 'no'));
      else if (searches++ === 0) socket.write(streamStart(first));
      else socket.end(wholeStream(searchFrames([])));
      if (searches === 1) goOn = () => socket.write(chunk(second + end.join('')));
    });
    let goOn = (): unknown => undefined;
    const env = { ...pointedAt(server.url), LEADPIPE_STATE_DIR: temporaryFolder() };
    const cwd = temporaryFolder();
    const columns = Array.from({ length: 3000 }, (_, at) => `c${at}`).join(',');
    const args = [
      'search',
      'company',
      'x',
      '--limit',
      '1000',
      '-o',
      'leads.csv',
      '--columns',
      `name,${columns}`,
    ];
    const child = start(args, { env, cwd });
    const ended = resultOf(child);
    const part = join(cwd, 'leads.csv.part');
    const lines = (): number => readFileSync(part, 'utf8').split('\r\n').length;
    await waitFor(() => existsSync(part) && lines() === 3);
    goOn();
    await waitFor(() => lines() > 3);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('901 leads arrived, but not all of them could be written'),
    });
    expect(lines()).toBeLessThan(900);
    // What is stored is paid for, printed or not.
    const listed = await run('history -f jsonl --columns leads,charged', { env });
    expect(listed.stdout).toBe('{"leads":901,"charged":"yes"}\n');
    expect(await run(['search', '--continue', operationIn(env)], { env, cwd })).toMatchObject({ code: 0 });
    const names = readFileSync(join(cwd, 'leads.csv'), 'utf8')
      .split('\r\n')
      .map((row) => row.split(',', 1)[0]);
    expect(names).toEqual(['name', ...leads.map((lead) => JSON.parse(lead).name), '']);
  });

  it('an answer that is printed again', async () => {
    const nested = `${'['.repeat(40)}${'0,'.repeat(900_000)}0${']'.repeat(40)}`;
    const env = await serve(`{"success":true,"answer":${nested}}`);
    expect(await run('research x -o answer.json', { env })).toMatchObject({ code: 0 });
    const child = start(['history', 'show', operationIn(env), '-f', 'table'], { env });
    let bytes = 0;
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const [code] = await once(child, 'close');
    expect(code).toBe(130);
    expect(bytes).toBeLessThan(60_000_000);
  });
});

/** Looks again with every turn of the event loop until something outside has happened; the test's time-out bounds it. */
async function waitFor(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setImmediate(resolve));
}
