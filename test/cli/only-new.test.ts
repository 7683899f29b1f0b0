import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import type { CreateTaskRequest } from '../../src/contract/types.ts';
import { prune } from '../../src/operations/journal/retention.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run, start, temporaryFolder } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';
import { startTaskServer, taskId } from '../helpers/task-server.ts';

/** What earlier runs of a list delivered is left out: by the service as far as its limits go, and else here. */

let server: FaultServer | undefined;
let ledger: LedgerService | undefined;

type Env = Record<string, string>;
const leadOf = (name: string | number): string =>
  `{"name":"Lead ${name}","links":{"website":"https://${name}.example"},"id":12345678901234567890}`;
const leadsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => leadOf(from + index));

/** A service that minds no exclusions: the nth search brings the nth of these. The ID of each is another. */
async function serve(...searches: (readonly string[])[]): Promise<Env> {
  let nth = 0;
  server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    const leads = searches[Math.min(nth++, searches.length - 1)] ?? [];
    const frames = searchFrames([leads]).join('').replaceAll('ls_test', `ls_${nth}`);
    socket.end(wholeStream(frames));
  });
  return { ...bareEnvironment(), ...pointedAt(server.url) };
}

let keys = 0;
const search = (env: Env, ...args: string[]) =>
  runInProcess(['search', 'company', 'x', '--idempotency-key', `k${++keys}`, ...args], { env });
const names = (stdout: string): string[] => stdout.match(/(?<="name":"Lead )[^"]*/g) ?? [];
const asked = (): CreateTaskRequest[] =>
  (server?.requests ?? []).filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
async function history(env: Env, ...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout } = await runInProcess(['history', ...args, '-f', 'jsonl'], { env });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

describe('a run that finds nothing new', () => {
  it('says how many leads the list has, and where they can be seen', async () => {
    const env = await serve(leadsOf(0, 3));
    await search(env, '--limit', '3');
    const { code, stderr, stdout } = await search(env, '--limit', '3', '--only-new');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('0 leads · 3 left out (delivered before)');
    expect(stderr).toContain(
      'Nothing new: the list company has 3 leads, and they were left out. To see them: leadpipe history lists company',
    );
    // Also where the service has left them out.
    await server?.close();
    const empty = { ...env, ...(await serve([])), LEADPIPE_STATE_DIR: env.LEADPIPE_STATE_DIR ?? '' };
    expect((await search(empty, '--limit', '3', '--only-new')).stderr).toContain('has 3 leads');
    // Also where another run has delivered some of them again: the number is that of the list.
    const more = {
      ...env,
      ...(await serve(leadsOf(0, 2), [])),
      LEADPIPE_STATE_DIR: env.LEADPIPE_STATE_DIR ?? '',
    };
    await search(more, '--limit', '2');
    expect((await search(more, '--limit', '2', '--only-new')).stderr).toContain(
      'the list company has 3 leads',
    );
    expect(await history(more, 'lists')).toMatchObject([{ list: 'company', leads: 3 }]);
  });

  it('leaves the file of yesterday as it is', async () => {
    const env = await serve(leadsOf(0, 3));
    const file = join(temporaryFolder(), 'leads.csv');
    await search(env, '--limit', '3', '-o', file);
    const yesterday = readFileSync(file, 'utf8');
    const { code, stderr } = await search(env, '--limit', '3', '--only-new', '-o', file);
    expect({ code, rows: readFileSync(file, 'utf8') }).toEqual({ code: 0, rows: yesterday });
    expect(stderr).toContain('leads.csv was left as it was, because this run brought nothing');
    expect(existsSync(`${file}.part`)).toBe(false);
  });

  it('says so of a task', async () => {
    const tasks = await startTaskServer({ steps: [['done', 2]], entities: leadsOf(0, 2) });
    server = tasks;
    const env = { ...bareEnvironment(), ...pointedAt(tasks.url) };
    const task = ['task', 'run', 'company', 'x', '--only-new', '--poll-interval', '0.01'];
    expect((await runInProcess(task, { env })).stderr).not.toContain('Nothing new');
    expect((await runInProcess(task, { env })).stderr).toContain('leadpipe history lists company');
  });
});

describe('a daily job', () => {
  it('ten days of --append: no lead twice, the header once, and each new lead is paid for once', async () => {
    ledger = await startLedgerService({});
    const env = { ...bareEnvironment(), ...pointedAt(ledger.url, ledgerKey) };
    const file = join(temporaryFolder(), 'leads.csv');
    for (let day = 1; day <= 10; day++) {
      const args = ['search', 'company', 'fintech', '--limit', '6', '--only-new', '--append', '-o', file];
      const { code, stderr } = await run(args, { env });
      expect({ day, code, stderr: code === 0 ? '' : stderr }).toEqual({ day, code: 0, stderr: '' });
    }
    const [header, ...rows] = readFileSync(file, 'utf8').trimEnd().split('\r\n');
    expect(header).toMatch(/^name,description,/);
    // All that the service has.
    expect(rows).toHaveLength(40);
    expect(new Set(rows).size).toBe(40);
    expect(ledger.spent()).toBe(40);
  });

  it('ten days of task run: each file has that day’s leads, and no other', async () => {
    ledger = await startLedgerService({});
    const env = { ...bareEnvironment(), ...pointedAt(ledger.url, ledgerKey) };
    const folder = temporaryFolder();
    for (let day = 1; day <= 10; day++) {
      const file = join(folder, `${day}.csv`);
      const args = ['task', 'run', 'company', 'fintech', '--limit', '6', '--only-new', '-o', file];
      expect((await run([...args, '--poll-interval', '0.02'], { env })).code).toBe(0);
    }
    const days = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8').trimEnd());
    const rows = days.flatMap((text) => text.split('\r\n').slice(1));
    expect([rows.length, new Set(rows).size, ledger.spent()]).toEqual([40, 40, 40]);
    expect(new Set(days.map((text) => text.split('\r\n')[0])).size).toBe(1);
  });

  it('what the service brings all the same is dropped here, counted, and kept apart', async () => {
    const days = Array.from({ length: 10 }, (_, day) => leadsOf(3 * day, 3 * day + 5));
    const env = await serve(...days);
    const file = join(temporaryFolder(), 'leads.jsonl');
    const ends: string[] = [];
    for (const _ of days) {
      const { code, stderr } = await search(env, '--only-new', '--append', '-o', file);
      expect(code).toBe(0);
      ends.push(stderr.split(' · limit')[0] ?? '');
    }
    expect(readFileSync(file, 'utf8')).toBe(`${leadsOf(0, 32).join('\n')}\n`);
    expect(ends).toEqual([
      `5 leads added to ${file}`,
      ...Array(9).fill(`3 leads added to ${file} · 2 left out (delivered before)`),
    ]);
    const records = await history(env, 'list');
    expect(records.map(({ leads, excluded, list }) => [leads, excluded, list])).toEqual([
      [5, 0, 'company'],
      ...Array(9).fill([3, 2, 'company']),
    ]);
    const shown = await runInProcess(['history', 'show', String(records[1]?.operation_id)], { env });
    expect(names(shown.stdout)).toEqual(['5', '6', '7']);
  });

  it('keeps the limits of the service after 110 searches with 2200 leads: the newest of both are sent', async () => {
    const days = Array.from({ length: 111 }, (_, day) => leadsOf(20 * day, 20 * day + 20));
    const env = await serve(...days);
    for (const _ of days) expect((await search(env, '--only-new')).code).toBe(0);
    const bodies = asked();
    for (const { dedup_service_leads: ids = [], dedup_custom_leads: custom = [] } of bodies) {
      expect(ids.length).toBeLessThanOrEqual(limits.dedupServiceLeads.max);
      expect(custom.length).toBeLessThanOrEqual(limits.dedupCustomLeads.max);
      expect(new Set([...ids, ...custom]).size).toBe(ids.length + custom.length);
    }
    const { dedup_service_leads: ids = [], dedup_custom_leads: custom = [] } = bodies[110] ?? {};
    expect([ids[0], ids.at(-1), ids.length]).toEqual(['ls_110', 'ls_11', 100]);
    // Of the ten searches that are not excluded by their ID, and then of the newest.
    expect([custom[0], custom[199], custom[200], custom.length]).toEqual([
      'Lead 199',
      'Lead 0',
      'Lead 2199',
      1000,
    ]);
    const [list] = await history(env, 'lists');
    expect(list).toMatchObject({ list: 'company', leads: 2220, runs: 111 });
    // A few files, however many runs there were.
    const folder = join(env.LEADPIPE_STATE_DIR as string, 'lists');
    expect(readdirSync(join(folder, readdirSync(folder)[0] as string)).length).toBeLessThan(25);
  }, 120_000);
});

describe('a list', () => {
  it('is that of the entity type, or the one that is named; a run without --only-new counts as well', async () => {
    const env = await serve(leadsOf(0, 2), leadsOf(2, 4), leadsOf(0, 6));
    await search(env);
    await search(env, '--list', ' mine ');
    expect(names((await search(env, '--only-new', '-f', 'jsonl')).stdout)).toEqual(['2', '3', '4', '5']);
    expect(asked().map((body) => body.dedup_service_leads)).toEqual([undefined, undefined, ['ls_1']]);
    expect(asked()[2]?.dedup_custom_leads).toEqual(['Lead 1', 'Lead 0']);
    expect(await history(env, 'lists')).toMatchObject([
      { list: 'company', leads: 6, runs: 2, origin: server?.url },
      { list: 'mine', leads: 2, runs: 1 },
    ]);
    expect(await history(env, 'list', '--list', 'mine')).toMatchObject([{ leads: 2, list: 'mine' }]);
    expect(await history(env, 'lists', 'mine')).toMatchObject([
      { name: 'Lead 2', leads_search_id: 'ls_2', operation_id: expect.stringContaining('op_') },
      { name: 'Lead 3' },
    ]);
    const { code, stderr } = await runInProcess(['history', 'lists', 'other'], { env });
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining('no list other') });
  });

  it('--dedup options that are given by hand come first', async () => {
    const env = await serve(leadsOf(0, 3), leadsOf(3, 4));
    await search(env);
    const ids = Array.from({ length: 100 }, (_, index) => `ls_given_${index}`);
    const byHand = ['--dedup-service-leads', ids.join(','), '--dedup-custom-leads', 'lead 1'];
    expect((await search(env, '--only-new', ...byHand)).code).toBe(0);
    expect(asked()[1]).toMatchObject({
      dedup_service_leads: ids,
      dedup_custom_leads: ['lead 1', 'Lead 2', 'Lead 0'],
    });
  });

  it('names searches to the key and the address alone that made them', async () => {
    const env = await serve(leadsOf(0, 1), leadsOf(1, 2), leadsOf(2, 3));
    await search(env);
    await search({ ...env, LEADPIPE_API_KEY: 'another-key-0123456789' }, '--only-new');
    expect(asked()[1]).toMatchObject({ dedup_custom_leads: ['Lead 0'] });
    expect(asked()[1]?.dedup_service_leads).toBeUndefined();
    await search(env, '--only-new');
    expect(asked()[2]).toMatchObject({
      dedup_service_leads: ['ls_1'],
      dedup_custom_leads: ['Lead 1', 'Lead 0'],
    });
  });

  it('of the local service is another one: its leads are fictional', async () => {
    const env = await serve(leadsOf(0, 1));
    await runInProcess(['search', 'company', 'fintech', '--limit', '2', '--local'], { env });
    await search(env, '--only-new');
    expect(asked()[0]?.dedup_custom_leads).toBeUndefined();
    expect(await history(env, 'lists')).toMatchObject([
      { list: 'company', leads: expect.any(Number) },
      { list: 'company' },
    ]);
  });

  it('stays when the history is pruned', async () => {
    const env = await serve(leadsOf(0, 2), leadsOf(0, 3));
    await search(env);
    await prune(
      keepingIn(env.LEADPIPE_STATE_DIR as string, () => new Date(Date.now() + 40 * 86_400_000)),
      () => {},
    );
    expect(await history(env, 'list')).toEqual([]);
    expect(names((await search(env, '--only-new', '-f', 'jsonl')).stdout)).toEqual(['2']);
  });

  it('of a name is refused where it is empty or too long, and with --no-history', async () => {
    const env = await serve([]);
    const cases: [string[], string][] = [
      [['--list', ' '], '--list must be a name of 1 to 100 characters'],
      [['--list', 'x'.repeat(101)], '--list must be a name of 1 to 100 characters'],
      [['--list', 'a\nb'], 'on one line'],
      [['--only-new', '--no-history'], "--only-new can't be used with --no-history"],
      [['--list', 'x', '--no-history'], "--list can't be used with --no-history"],
    ];
    for (const [args, says] of cases) {
      expect(await search(env, ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
    }
    for (const more of [['--only-new'], ['--list', 'x']]) {
      const { code, stderr } = await runInProcess(['search', '--continue', 'op_1', ...more], { env });
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining('--continue resumes the earlier search'),
      });
    }
    expect(asked()).toEqual([]);
  });

  it('--dry-run shows what would be left out, and counts nothing', async () => {
    const env = await serve(leadsOf(0, 2));
    await search(env);
    const { stdout } = await search(env, '--only-new', '--dry-run');
    expect(stdout).toContain('ls_1');
    expect(stdout).toContain('Lead 0');
    expect(asked()).toHaveLength(1);
    expect(await history(env, 'lists')).toMatchObject([{ leads: 2, runs: 1 }]);
  });

  it('--exit-status is 7 when everything that came was delivered before', async () => {
    const env = await serve(leadsOf(0, 2));
    await search(env);
    const { code, stderr, stdout } = await search(env, '--only-new', '--exit-status');
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain('no new leads were found');
    expect((await search(env, '--only-new')).code).toBe(0);
  });

  it('a search that brings only what is known is left out by its ID the next time', async () => {
    const env = await serve(leadsOf(0, 2));
    for (const more of [[], ['--only-new'], ['--only-new']]) await search(env, ...more);
    expect(asked()[2]?.dedup_service_leads).toEqual(['ls_2', 'ls_1']);
  });

  it('that can not be written is found out before anything is sent', async () => {
    const env = await serve(leadsOf(0, 2));
    mkdirSync(env.LEADPIPE_STATE_DIR as string, { recursive: true });
    writeFileSync(join(env.LEADPIPE_STATE_DIR as string, 'lists'), '');
    const { code, stderr } = await search(env);
    expect({ code, stderr }).toEqual({ code: 74, stderr: expect.stringContaining('charged: no') });
    expect(stderr).toContain("can't store the delivered leads in");
    expect(stderr).toContain('Nothing was sent.');
    expect(asked()).toEqual([]);
    expect((await search(env, '--no-history')).code).toBe(0);
  });

  it('that is damaged is said, and left as it is', async () => {
    const env = await serve(leadsOf(0, 2));
    await search(env);
    const folder = join(env.LEADPIPE_STATE_DIR as string, 'lists');
    const list = join(folder, readdirSync(folder)[0] as string);
    const path = join(list, readdirSync(list)[0] as string);
    const text = readFileSync(path, 'utf8').replace('Lead 1', 'Lead 9');
    writeFileSync(path, text);
    const { code, stderr } = await search(env, '--only-new');
    expect(code).toBe(0);
    expect(stderr).toContain(`warning: line 1 of ${path} is damaged: some leads may be delivered again`);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('a task', () => {
  it('drops by position: pages, positions and the end are the service’s', async () => {
    const before = await serve([3, 4, 25, 44].map((at) => `{"name":"lead ${at}"}`));
    await search(before);
    await server?.close();
    const tasks = await startTaskServer({
      steps: [
        ['running', 20],
        ['done', 45],
      ],
    });
    server = tasks;
    const env = { ...before, LEADPIPE_BASE_URL: tasks.url };
    const args = ['task', 'run', 'company', 'x', '--only-new', '--positions', '-f', 'jsonl', '--num', '10'];
    const { code, stdout, stderr } = await runInProcess([...args, '--poll-interval', '0.01'], { env });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    const positions = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).position);
    expect(positions).toEqual(
      Array.from({ length: 45 }, (_, at) => at).filter((at) => ![3, 4, 25, 44].includes(at)),
    );
    expect(tasks.positions()).toEqual([0, 10, 20, 30, 40]);
    expect(stderr).toMatch(
      /^41 leads · 4 left out \(delivered before\) · limit reached · cost at most 45 credits$/m,
    );
    expect((await history(env, 'list')).at(-1)).toMatchObject({
      leads: 41,
      excluded: 4,
      leads_search_id: taskId,
      charged: 'yes',
      list: 'company',
    });
  });

  it('that was left goes on by the same command, though the list is longer by now', async () => {
    const before = await serve(['{"name":"lead 3"}'], ['{"name":"lead 3"}', '{"name":"lead 30"}']);
    const searches = server as FaultServer;
    await search(before);
    let isAway = true;
    const refused =
      'HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    const tasks = await startTaskServer({
      steps: [['done', 45]],
      fault: (operation, nth) => (operation === 'fetch' && nth > 1 && isAway ? refused : undefined),
    });
    server = tasks;
    const env = { ...before, LEADPIPE_BASE_URL: tasks.url };
    const file = join(temporaryFolder(), 'leads.jsonl');
    const args = ['task', 'run', 'company', 'x', '--num', '10', '-o', file];
    const first = await runInProcess([...args, '--only-new'], { env });
    expect(first.code).toBe(4);
    expect(first.stderr).toContain('19 leads were written');
    expect(first.stderr).toContain('; 1 left out (delivered before)');
    await search(before);
    await searches.close();
    isAway = false;
    const second = await runInProcess([...args, '--only-new'], { env });
    expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining('You are not charged again') });
    // Its own leads are no reason to leave them out.
    expect(second.stderr).toContain(`43 leads in ${file} · 2 left out (delivered before)`);
    const rest = Array.from({ length: 45 }, (_, at) => String(at)).filter((at) => at !== '3' && at !== '30');
    expect(names(readFileSync(file, 'utf8'))).toEqual(rest);
    expect(tasks.count('create')).toBe(1);
  });
});

describe('search --continue', () => {
  it('is what the next run reminds of after a kill -9, and gets what was not printed', async () => {
    let isSlow = true;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
      const frames = searchFrames([leadsOf(0, 2), leadsOf(2, 3)]);
      socket.write(streamStart(frames[0] ?? ''));
      if (!isSlow) socket.end(Buffer.concat([chunk(frames.slice(1).join('')), Buffer.from(lastChunk)]));
    });
    const env = { ...bareEnvironment(), ...pointedAt(server.url) };
    const child = start(['search', 'company', 'x', '--idempotency-key', 'slow', '-f', 'jsonl'], { env });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    isSlow = false;
    const next = await search(env, '--only-new', '-f', 'jsonl');
    expect(names(next.stdout)).toEqual(['2']);
    const operation =
      /warning: (op_\w+), an earlier run of this list, was killed/.exec(next.stderr)?.[1] ?? '';
    const all = join(temporaryFolder(), 'all.jsonl');
    const going = ['search', '--continue', operation, '--idempotency-key', 'going', '-o', all];
    expect((await runInProcess(going, { env })).code).toBe(0);
    expect(names(readFileSync(all, 'utf8')).slice(0, 2)).toEqual(['0', '1']);
    expect((await search(env, '--only-new')).stderr).not.toContain('was killed');
  });

  it('of a search with --only-new goes on with its list, however long that is', async () => {
    let nth = 0;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
      const n = nth++;
      const leads = n === 101 ? leadsOf(90, 110) : n === 102 ? leadsOf(105, 120) : [leadOf(n)];
      const frames = searchFrames([leads]).map((text) => text.replaceAll('ls_test', `ls_${n}`));
      const sent = n === 101 ? frames.slice(0, 1) : frames;
      socket.write(streamStart(sent));
      if (n === 101) socket.end();
      else socket.end(lastChunk);
    });
    const env = { ...bareEnvironment(), ...pointedAt(server.url) };
    for (let day = 0; day <= 100; day++) await search(env);
    const file = join(temporaryFolder(), 'leads.jsonl');
    const cut = await search(env, '--only-new', '--limit', '50', '-o', file);
    expect(cut.code).toBe(3);
    expect(cut.stderr).toContain(`9 leads arrived, and are in ${file}.part; 11 left out (delivered before)`);
    expect(cut.stderr).toContain('charged: yes');
    const operation = /search --continue (\w+)/.exec(cut.stderr)?.[1] ?? '';
    const { code, stderr } = await runInProcess(
      ['search', '--continue', operation, '--idempotency-key', 'new'],
      { env },
    );
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stderr).toMatch(/^10 leads added to \S+, 19 in all · 5 left out \(delivered before\) · /m);
    expect(readFileSync(file, 'utf8')).toBe(`${leadsOf(101, 120).join('\n')}\n`);
    const { limit, dedup_service_leads: ids = [] } = asked().at(-1) ?? {};
    expect({ limit, first: ids[0], count: ids.length }).toEqual({ limit: 30, first: 'ls_101', count: 100 });
  }, 120_000);
});
