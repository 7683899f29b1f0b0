import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import type { CreateTaskRequest } from '../../src/contract/types.ts';
import { prune } from '../../src/operations/journal/retention.ts';
import { ending, failing } from '../helpers/ending.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  startSearchServer,
  streamStart,
} from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run, start, temporaryFolder } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';
import { startTaskServer, type TaskServer, taskId } from '../helpers/task-server.ts';

/** What earlier runs of a list delivered is left out: by the service as far as its limits go, and else here. */

let server: FaultServer;
let env: Record<string, string>;
let file: string;
let folder: string;
beforeEach(() => {
  env = bareEnvironment();
  folder = temporaryFolder();
  file = join(folder, 'leads.jsonl');
});

const leadOf = (name: string | number): string =>
  `{"name":"Lead ${name}","links":{"website":"https://${name}.example"},"id":12345678901234567890}`;
const leadsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => leadOf(from + index));
const framesOf = (nth: number, ...batches: readonly (readonly string[])[]): string[] =>
  searchFrames(batches).map((text) => text.replaceAll('ls_test', `ls_${nth}`));

/** A service that minds no exclusions: the nth search brings the nth of these. The ID of each is another. */
async function serve(...searches: (readonly string[])[]): Promise<void> {
  let nth = 0;
  server = await startSearchServer(() => framesOf(++nth, searches[nth - 1] ?? searches.at(-1) ?? []));
  Object.assign(env, pointedAt(server.url));
}

async function serveTask(options: Parameters<typeof startTaskServer>[0]): Promise<TaskServer> {
  const tasks = await startTaskServer(options);
  Object.assign(env, pointedAt(tasks.url));
  return tasks;
}

let keys = 0;
const leadpipe = (...args: string[]) => runInProcess(args, { env });
const search = (...args: string[]) =>
  leadpipe('search', 'company', 'x', '--idempotency-key', `k${++keys}`, ...args);
const onlyNew = (...args: string[]) => search('--only-new', ...args);
const names = (stdout: string): string[] => stdout.match(/(?<="name":"Lead )[^"]*/g) ?? [];
const asked = (): CreateTaskRequest[] =>
  server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
const history = async (...args: string[]) => (await historyOf(env, ...args)).records;

describe('a run that finds nothing new', () => {
  it('says how many leads the list has, and where they can be seen', async () => {
    await serve(leadsOf(0, 3));
    await search('--limit', '3');
    expect(await onlyNew('--limit', '3')).toMatchObject(
      failing(
        0,
        '0 leads · 3 left out (delivered before)',
        'Nothing new: the list company has 3 leads, and they were left out. To see them: leadpipe history lists company',
      ),
    );
    // Also where the service has left them out.
    await serve([]);
    expect((await onlyNew('--limit', '3')).stderr).toContain('has 3 leads');
    // Also where another run has delivered some of them again: the number is that of the list.
    await serve(leadsOf(0, 2), []);
    await search('--limit', '2');
    expect((await onlyNew('--limit', '2')).stderr).toContain('the list company has 3 leads');
    expect(await history('lists')).toMatchObject([{ list: 'company', leads: 3 }]);
  });

  it('leaves the file of yesterday as it is', async () => {
    await serve(leadsOf(0, 3));
    await search('--limit', '3', '-o', file);
    const yesterday = readFileSync(file, 'utf8');
    const { code, stderr } = await onlyNew('--limit', '3', '-o', file);
    expect({ code, rows: readFileSync(file, 'utf8') }).toEqual({ code: 0, rows: yesterday });
    expect(stderr).toContain('leads.jsonl was left as it was, because this run brought nothing');
    expect(existsSync(`${file}.part`)).toBe(false);
  });

  it('says so of a task', async () => {
    await serveTask({ steps: [['done', 2]], entities: leadsOf(0, 2) });
    const task = ['task', 'run', 'company', 'x', '--only-new', '--poll-interval', '0.01'];
    expect((await leadpipe(...task)).stderr).not.toContain('Nothing new');
    expect((await leadpipe(...task)).stderr).toContain('leadpipe history lists company');
  });
});

describe('a daily job', () => {
  const rowsOf = (path: string): string[] => readFileSync(path, 'utf8').trimEnd().split('\r\n');

  it.each([
    ['search with --append: no lead twice, and the header once', ['search'], () => 'leads.csv', ['--append']],
    [
      'task run: each file has that day’s leads, and no other',
      ['task', 'run'],
      (day: number) => `${day}.csv`,
      ['--poll-interval', '0.02'],
    ],
  ])('ten days of %s; each new lead is paid for once', async (_, command, toName, more) => {
    const ledger = await startLedgerService({});
    Object.assign(env, pointedAt(ledger.url, ledgerKey));
    for (let day = 1; day <= 10; day++) {
      const args = ['company', 'fintech', '--limit', '6', '--only-new', '-o', join(folder, toName(day))];
      const { code, stderr } = await run([...command, ...args, ...more], { env });
      expect({ day, code, stderr: code === 0 ? '' : stderr }).toEqual({ day, code: 0, stderr: '' });
    }
    const files = readdirSync(folder).map((name) => rowsOf(join(folder, name)));
    const rows = files.flatMap(([, ...some]) => some);
    // All that the service has.
    expect([rows.length, new Set(rows).size, ledger.spent()]).toEqual([40, 40, 40]);
    expect([...new Set(files.map(([header]) => header))]).toEqual([
      expect.stringMatching(/^name,description,/),
    ]);
  });

  it('what the service brings all the same is dropped here, counted, and kept apart', async () => {
    const days = Array.from({ length: 10 }, (_, day) => leadsOf(3 * day, 3 * day + 5));
    await serve(...days);
    const ends: string[] = [];
    for (const _ of days) {
      const { code, stderr } = await onlyNew('--append', '-o', file);
      expect(code).toBe(0);
      ends.push(stderr.split(' · limit')[0] ?? '');
    }
    expect(readFileSync(file, 'utf8')).toBe(`${leadsOf(0, 32).join('\n')}\n`);
    expect(ends).toEqual([
      `5 leads added to ${file}`,
      ...Array(9).fill(`3 leads added to ${file} · 2 left out (delivered before)`),
    ]);
    const records = await history('list');
    expect(records.map(({ leads, excluded, list }) => [leads, excluded, list])).toEqual([
      [5, 0, 'company'],
      ...Array(9).fill([3, 2, 'company']),
    ]);
    const shown = await leadpipe('history', 'show', String(records[1]?.operation_id));
    expect(names(shown.stdout)).toEqual(['5', '6', '7']);
  });

  it('keeps the limits of the service after 110 searches with 2200 leads: the newest of both are sent', async () => {
    const days = Array.from({ length: 111 }, (_, day) => leadsOf(20 * day, 20 * day + 20));
    await serve(...days);
    for (const _ of days) expect((await onlyNew()).code).toBe(0);
    const bodies = asked();
    for (const { dedup_service_leads: ids = [], dedup_custom_leads: custom = [] } of bodies) {
      expect(ids.length).toBeLessThanOrEqual(limits.dedupServiceLeads.max);
      expect(custom.length).toBeLessThanOrEqual(limits.dedupCustomLeads.max);
      expect(new Set([...ids, ...custom]).size).toBe(ids.length + custom.length);
    }
    const { dedup_service_leads: ids = [], dedup_custom_leads: custom = [] } = bodies[110] ?? {};
    expect([ids[0], ids.at(-1), ids.length]).toEqual(['ls_110', 'ls_11', 100]);
    // Of the ten searches that are not excluded by their ID, and then of the newest.
    const some = [custom[0], custom[199], custom[200], custom.length];
    expect(some).toEqual(['Lead 199', 'Lead 0', 'Lead 2199', 1000]);
    expect(await history('lists')).toMatchObject([{ list: 'company', leads: 2220, runs: 111 }]);
    // A few files, however many runs there were.
    const lists = join(env.LEADPIPE_STATE_DIR as string, 'lists');
    expect(readdirSync(join(lists, readdirSync(lists)[0] as string)).length).toBeLessThan(25);
  }, 120_000);
});

describe('a list', () => {
  it('is that of the entity type, or the one that is named; a run without --only-new counts as well', async () => {
    await serve(leadsOf(0, 2), leadsOf(2, 4), leadsOf(0, 6));
    await search();
    await search('--list', ' mine ');
    expect(names((await onlyNew('-f', 'jsonl')).stdout)).toEqual(['2', '3', '4', '5']);
    expect(asked().map((body) => body.dedup_service_leads)).toEqual([undefined, undefined, ['ls_1']]);
    expect(asked()[2]?.dedup_custom_leads).toEqual(['Lead 1', 'Lead 0']);
    expect(await history('lists')).toMatchObject([
      { list: 'company', leads: 6, runs: 2, origin: server.url },
      { list: 'mine', leads: 2, runs: 1 },
    ]);
    expect(await history('list', '--list', 'mine')).toMatchObject([{ leads: 2, list: 'mine' }]);
    expect(await history('lists', 'mine')).toMatchObject([
      { name: 'Lead 2', leads_search_id: 'ls_2', operation_id: expect.stringContaining('op_') },
      { name: 'Lead 3' },
    ]);
    const missing = { code: 6, stderr: expect.stringContaining('no list other') };
    expect(await historyOf(env, 'lists', 'other')).toMatchObject(missing);
  });

  it('--dedup options that are given by hand come first', async () => {
    await serve(leadsOf(0, 3), leadsOf(3, 4));
    await search();
    const ids = Array.from({ length: 100 }, (_, index) => `ls_given_${index}`);
    const byHand = ['--dedup-service-leads', ids.join(','), '--dedup-custom-leads', 'lead 1'];
    expect((await onlyNew(...byHand)).code).toBe(0);
    expect(asked()[1]).toMatchObject({
      dedup_service_leads: ids,
      dedup_custom_leads: ['lead 1', 'Lead 2', 'Lead 0'],
    });
  });

  it('names searches to the key and the address alone that made them', async () => {
    await serve(leadsOf(0, 1), leadsOf(1, 2), leadsOf(2, 3));
    const { LEADPIPE_API_KEY: key = '' } = env;
    await search();
    env.LEADPIPE_API_KEY = 'another-key-0123456789';
    await onlyNew();
    expect(asked()[1]).toMatchObject({ dedup_custom_leads: ['Lead 0'] });
    expect(asked()[1]?.dedup_service_leads).toBeUndefined();
    env.LEADPIPE_API_KEY = key;
    await onlyNew();
    expect(asked()[2]).toMatchObject({
      dedup_service_leads: ['ls_1'],
      dedup_custom_leads: ['Lead 1', 'Lead 0'],
    });
  });

  it('of the local service is another one: its leads are fictional', async () => {
    await serve(leadsOf(0, 1));
    await leadpipe('search', 'company', 'fintech', '--limit', '2', '--local');
    await onlyNew();
    expect(asked()[0]?.dedup_custom_leads).toBeUndefined();
    const leads = expect.any(Number);
    expect(await history('lists')).toMatchObject([{ list: 'company', leads }, { list: 'company' }]);
  });

  it('stays when the history is pruned', async () => {
    await serve(leadsOf(0, 2), leadsOf(0, 3));
    await search();
    const later = () => new Date(Date.now() + 40 * 86_400_000);
    await prune(keepingIn(env.LEADPIPE_STATE_DIR as string, later), () => {});
    expect(await history('list')).toEqual([]);
    expect(names((await onlyNew('-f', 'jsonl')).stdout)).toEqual(['2']);
  });

  const byName = '--list must be a name of 1 to 100 characters';
  const going = ['search', '--continue', 'op_1'];
  it.each([
    [['search', 'company', 'x', '--list', ' '], byName],
    [['search', 'company', 'x', '--list', 'x'.repeat(101)], byName],
    [['search', 'company', 'x', '--list', 'a\nb'], 'on one line'],
    [['search', 'company', 'x', '--only-new', '--no-history'], "--only-new can't be used with --no-history"],
    [['search', 'company', 'x', '--list', 'x', '--no-history'], "--list can't be used with --no-history"],
    [[...going, '--only-new'], '--continue resumes the earlier search'],
    [[...going, '--list', 'x'], '--continue resumes the earlier search'],
  ])('is refused: %j', async (args, says) => {
    await serve([]);
    expect(await leadpipe(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
    expect(asked()).toEqual([]);
  });

  it('--dry-run shows what would be left out, and counts nothing', async () => {
    await serve(leadsOf(0, 2));
    await search();
    const { stdout } = await onlyNew('--dry-run');
    expect(stdout).toContain('ls_1');
    expect(stdout).toContain('Lead 0');
    expect(asked()).toHaveLength(1);
    expect(await history('lists')).toMatchObject([{ leads: 2, runs: 1 }]);
  });

  it('--exit-status is 7 when everything that came was delivered before', async () => {
    await serve(leadsOf(0, 2));
    await search();
    const says = expect.stringContaining('no new leads were found');
    expect(await onlyNew('--exit-status')).toEqual({ code: 7, stdout: '', stderr: says });
    expect((await onlyNew()).code).toBe(0);
  });

  it('a search that brings only what is known is left out by its ID the next time', async () => {
    await serve(leadsOf(0, 2));
    for (const more of [[], ['--only-new'], ['--only-new']]) await search(...more);
    expect(asked()[2]?.dedup_service_leads).toEqual(['ls_2', 'ls_1']);
  });

  it('that can not be written is found out before anything is sent', async () => {
    await serve(leadsOf(0, 2));
    mkdirSync(env.LEADPIPE_STATE_DIR as string, { recursive: true });
    writeFileSync(join(env.LEADPIPE_STATE_DIR as string, 'lists'), '');
    expect(await search()).toMatchObject(
      ending(74, 'charged: no', "can't store the delivered leads in", 'Nothing was sent.'),
    );
    expect(asked()).toEqual([]);
    expect((await search('--no-history')).code).toBe(0);
  });

  it('that is damaged is said, and left as it is', async () => {
    await serve(leadsOf(0, 2));
    await search();
    const lists = join(env.LEADPIPE_STATE_DIR as string, 'lists');
    const list = join(lists, readdirSync(lists)[0] as string);
    const path = join(list, readdirSync(list)[0] as string);
    const text = readFileSync(path, 'utf8').replace('Lead 1', 'Lead 9');
    writeFileSync(path, text);
    expect(await onlyNew()).toMatchObject(
      ending(0, `warning: line 1 of ${path} is damaged: some leads may be delivered again`),
    );
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('a task', () => {
  const task = ['task', 'run', 'company', 'x', '--num', '10'];
  const without = (...known: number[]): number[] =>
    Array.from({ length: 45 }, (_, at) => at).filter((at) => !known.includes(at));

  it('drops by position: pages, positions and the end are the service’s', async () => {
    await serve([3, 4, 25, 44].map((at) => `{"name":"lead ${at}"}`));
    await search();
    const tasks = await serveTask({
      steps: [
        ['running', 20],
        ['done', 45],
      ],
    });
    const args = ['--only-new', '--positions', '-f', 'jsonl', '--poll-interval', '0.01'];
    const { code, stdout, stderr } = await leadpipe(...task, ...args);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    const rows = stdout.trim().split('\n');
    expect(rows.map((line) => JSON.parse(line).position)).toEqual(without(3, 4, 25, 44));
    expect(tasks.positions()).toEqual([0, 10, 20, 30, 40]);
    expect(stderr).toMatch(
      /^41 leads · 4 left out \(delivered before\) · limit reached · cost at most 45 credits$/m,
    );
    const record = { leads: 41, excluded: 4, leads_search_id: taskId, charged: 'yes', list: 'company' };
    expect((await history('list')).at(-1)).toMatchObject(record);
  });

  it('that was left goes on by the same command, though the list is longer by now', async () => {
    await serve(['{"name":"lead 3"}'], ['{"name":"lead 3"}', '{"name":"lead 30"}']);
    await search();
    let isAway = true;
    const refused = errorAnswer('401 Unauthorized', 'authentication_error', 'no');
    const tasks = await serveTask({
      steps: [['done', 45]],
      fault: (operation, nth) => (operation === 'fetch' && nth > 1 && isAway ? refused : undefined),
    });
    expect(await leadpipe(...task, '-o', file, '--only-new')).toMatchObject(
      ending(4, '19 leads were written', '; 1 left out (delivered before)'),
    );
    Object.assign(env, pointedAt(server.url));
    await search();
    Object.assign(env, pointedAt(tasks.url));
    isAway = false;
    const second = await leadpipe(...task, '-o', file, '--only-new');
    expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining('You are not charged again') });
    // Its own leads are no reason to leave them out.
    expect(second.stderr).toContain(`43 leads in ${file} · 2 left out (delivered before)`);
    expect(names(readFileSync(file, 'utf8'))).toEqual(without(3, 30).map(String));
    expect(tasks.count('create')).toBe(1);
  });
});

describe('search --continue', () => {
  it('is what the next run reminds of after a kill -9, and gets what was not printed', async () => {
    let isSlow = true;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') return void socket.end(errorAnswer('404 X', 'not_found', 'no'));
      const [first = '', ...others] = searchFrames([leadsOf(0, 2), leadsOf(2, 3)]);
      socket.write(streamStart(first));
      if (!isSlow) socket.end(Buffer.concat([chunk(others.join('')), Buffer.from(lastChunk)]));
    });
    Object.assign(env, pointedAt(server.url));
    const child = start('search company x --idempotency-key slow -f jsonl', { env });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    isSlow = false;
    const next = await onlyNew('-f', 'jsonl');
    expect(names(next.stdout)).toEqual(['2']);
    const operation =
      /warning: (op_\w+), an earlier run of this list, was killed/.exec(next.stderr)?.[1] ?? '';
    const going = ['search', '--continue', operation, '--idempotency-key', 'going', '-o', file];
    expect((await leadpipe(...going)).code).toBe(0);
    expect(names(readFileSync(file, 'utf8')).slice(0, 2)).toEqual(['0', '1']);
    expect((await onlyNew()).stderr).not.toContain('was killed');
  });

  it('of a search with --only-new goes on with its list, however long that is', async () => {
    let nth = -1;
    server = await startSearchServer(() => {
      const n = ++nth;
      const leads = n === 101 ? leadsOf(90, 110) : n === 102 ? leadsOf(105, 120) : [leadOf(n)];
      return framesOf(n, leads).slice(0, n === 101 ? 1 : undefined);
    });
    Object.assign(env, pointedAt(server.url));
    for (let day = 0; day <= 100; day++) await search();
    const cut = await onlyNew('--limit', '50', '-o', file);
    expect(cut).toMatchObject(
      ending(3, `9 leads arrived, and are in ${file}.part; 11 left out (delivered before)`, 'charged: yes'),
    );
    const operation = /search --continue (\w+)/.exec(cut.stderr)?.[1] ?? '';
    const { code, stderr } = await leadpipe('search', '--continue', operation, '--idempotency-key', 'new');
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stderr).toMatch(/^10 leads added to \S+, 19 in all · 5 left out \(delivered before\) · /m);
    expect(readFileSync(file, 'utf8')).toBe(`${leadsOf(101, 120).join('\n')}\n`);
    const { limit, dedup_service_leads: ids = [] } = asked().at(-1) ?? {};
    expect({ limit, first: ids[0], count: ids.length }).toEqual({ limit: 30, first: 'ls_101', count: 100 });
  }, 120_000);
});
