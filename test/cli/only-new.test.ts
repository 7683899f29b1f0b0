import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import type { CreateTaskRequest } from '../../src/contract/types.ts';
import { prune } from '../../src/operations/journal/retention.ts';
import { type Identity, identityOf } from '../../src/operations/only-new/identity.ts';
import { toDelivered, toDeliveredLine } from '../../src/operations/only-new/lists.ts';
import { ending, failing } from '../helpers/ending.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  startSearchServer,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { pointedAt, until } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';
import { startTaskServer, type TaskServer, taskId } from '../helpers/task-server.ts';

/** Leads of earlier runs of a list are left out: by the service within its limits, otherwise here. */

let server: FaultServer;
let at: Machine;
beforeEach(() => {
  at = createMachine();
});

const leadOf = (name: string | number): string =>
  `{"name":"Lead ${name}","links":{"website":"https://${name}.example"},"id":12345678901234567890}`;
const leadsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => leadOf(from + index));
const linesOf = (from: number, to: number): string => `${leadsOf(from, to).join('\n')}\n`;
const framesOf = (nth: number, leads: readonly string[]): string[] =>
  searchFrames([leads], 'limit', `ls_${nth}`);
const pointAt = ({ url }: { url: string }, key?: string) => Object.assign(at.env, pointedAt(url, key));

/** A service that ignores exclusions: the nth search returns the nth of these, each with a new ID. */
async function serve(...searches: (readonly string[])[]): Promise<void> {
  let nth = 0;
  server = await startSearchServer(() => framesOf(++nth, searches[nth - 1] ?? searches.at(-1) ?? []));
  pointAt(server);
}

async function serveTask(options: Parameters<typeof startTaskServer>[0]): Promise<TaskServer> {
  const tasks = await startTaskServer(options);
  pointAt(tasks);
  return tasks;
}

const search = (more = '') => at.leadpipe(`search company x ${more}`);
const listed = (more = '') => search(`--list company ${more}`);
const onlyNew = (more = '') => search(`--only-new ${more}`);
const names = (text: string): string[] => text.match(/(?<="name":"Lead )[^"]*/g) ?? [];
const asked = (): CreateTaskRequest[] =>
  server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
const lists = (): string => join(at.state, 'lists');
/** The first file of the first list. */
const listFile = (): string => {
  const [list = ''] = readdirSync(lists());
  return join(lists(), list, readdirSync(join(lists(), list))[0] ?? '');
};

describe('a run that finds nothing new', () => {
  it('says how many leads the list has, and where they can be seen', async () => {
    await serve(leadsOf(0, 3));
    await listed('--limit 3');
    const says =
      'No new leads: the service found none, or only leads that are already in your list "company" (3 leads). To see them: leadpipe history lists company';
    const left = '0 leads · 3 left out (delivered before)';
    expect(await onlyNew('--limit 3')).toEqual({ ...ending(0, left, says), stdout: '' });
    // Also where the service has left them out.
    await serve([]);
    expect((await onlyNew('--limit 3')).stderr).toContain('(3 leads)');
    // Also where another run has delivered some of them again: the number is that of the list.
    await serve(leadsOf(0, 2), []);
    await listed('--limit 2');
    expect((await onlyNew('--limit 2')).stderr).toContain('your list "company" (3 leads)');
    expect(await at.history('lists')).toMatchObject([{ list: 'company', leads: 3 }]);
  });

  // A daily import of the file must not import yesterday's leads again.
  const header = 'name,description,score,score_reason,website,linkedin_url,links,city,city_reference';
  it.each([
    ['leads.jsonl', ''],
    ['leads.json', '[]\n'],
    ['leads.csv', `${header}\r\n`],
    ['leads.md', expect.stringMatching(/^\| name \| [^\n]*\n(?:\| --- )+\|\n$/)],
  ])('puts the header alone in the place of yesterday’s %s', async (file, text) => {
    await serve(leadsOf(0, 3));
    const into = (name: string) => `--limit 3 --enrich-fields city -o ${name}`;
    await listed(into(file));
    expect(at.read(file)).toContain('Lead 2');
    expect(await onlyNew(into(file))).toMatchObject(ending(0, `0 leads in ${file} (replaced) · 3 left out`));
    expect(at.read(file)).toEqual(text);
    // A file that was not there, too.
    await onlyNew(into(`new-${file}`));
    expect(at.read(`new-${file}`)).toEqual(text);
    expect(at.files()).toEqual([file, `new-${file}`]);
  });

  it('in a task too, unless it has ended in error: then the file stays', async () => {
    for (const [state, text, says] of [
      ['error', 'yesterday', 'leads.csv was not changed, because this run received no records'],
      ['done', 'name,description,score,score_reason,website,linkedin_url,links\r\n', '0 leads in leads.csv'],
    ] as const) {
      await serveTask({ steps: [[state, 0]], entities: [] });
      at.write('leads.csv', 'yesterday');
      const { code, stderr } = await at.leadpipe('task run company x --poll-interval 0.01 -o leads.csv');
      expect({ code, stderr }).toEqual({
        code: state === 'done' ? 0 : 3,
        stderr: expect.stringContaining(says),
      });
      expect(at.read('leads.csv')).toBe(text);
    }
  });

  it('does not say so of a search whose rest brings nothing more', async () => {
    let isCut = false;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') return void socket.end(errorAnswer('404 X', 'not_found', 'no'));
      socket.end(isCut ? wholeStream(framesOf(2, [])) : streamStart(framesOf(1, leadsOf(0, 3))[0] ?? ''));
      isCut = true;
    });
    pointAt(server);
    await onlyNew('--limit 9 -o a.jsonl');
    const { code, stderr } = await onlyNew('--limit 9 -o a.jsonl');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('3 leads in a.jsonl') });
    expect(stderr).not.toContain('No new leads');
  });

  it('says so of a task', async () => {
    await serveTask({ steps: [['done', 2]], entities: leadsOf(0, 2) });
    const task = 'task run company x --only-new --poll-interval 0.01';
    expect((await at.leadpipe(task)).stderr).not.toContain('No new leads');
    expect((await at.leadpipe(task)).stderr).toContain('leadpipe history lists company');
  });
});

describe('a namesake with another link', () => {
  it.each<[(link: string) => string]>([
    [(link) => `{"website":["${link}"]}`],
    [(link) => `["${link}"]`],
    [(link) => `{"social":{"x":"${link}"}}`],
    [(link) => `[{"type":"website","url":"${link}"}]`],
  ])('is another lead, in the form %s too', async (linksOf) => {
    const john = (link: string) => `{"name":"John Smith","links":${linksOf(link)}}`;
    const [one, other] = ['https://a.example', 'https://totally-other.example'].map(john);
    await serve([one as string], [other as string], [other as string]);
    await listed('--limit 1');
    expect(await onlyNew('--limit 1 -f jsonl')).toMatchObject({ code: 0, stdout: `${other}\n` });
    expect(await onlyNew('--limit 1 -f jsonl')).toMatchObject({
      ...ending(0, '0 leads · 1 left out (delivered before)'),
      stdout: '',
    });
    const { stdout } = await at.leadpipe('history lists company -f csv --columns name,link');
    expect(stdout.split('\r\n').sort()).toEqual([
      '',
      'John Smith,https://a.example',
      'John Smith,https://totally-other.example',
      'name,link',
    ]);
  });
});

describe('a daily job', () => {
  it.each([
    ['search with --append: no lead twice, and the header once', 'search', () => 'leads.csv --append'],
    [
      'task run: each file has that day’s leads, and no other',
      'task run',
      (day: number) => `${day}.csv --poll-interval 0.02`,
    ],
  ])('ten days of %s; each new lead is paid for once', async (_, command, into) => {
    const ledger = await startLedgerService({});
    pointAt(ledger, ledgerKey);
    for (let day = 1; day <= 10; day++) {
      const { code, stderr } = await at.run(
        `${command} company fintech --limit 6 --only-new -o ${into(day)}`,
      );
      expect({ day, code, stderr: code === 0 ? '' : stderr }).toEqual({ day, code: 0, stderr: '' });
    }
    const files = at.files().map((name) => at.read(name).trimEnd().split('\r\n'));
    const rows = files.flatMap(([, ...some]) => some);
    // All that the service has.
    expect([rows.length, new Set(rows).size, ledger.spent()]).toEqual([40, 40, 40]);
    const headers = [...new Set(files.map(([header]) => header))];
    expect(headers).toEqual([expect.stringMatching(/^name,description,/)]);
  });

  it('known leads that the service sends anyway are dropped here, counted, and stored separately', async () => {
    const days = Array.from({ length: 10 }, (_, day) => leadsOf(3 * day, 3 * day + 5));
    await serve(...days);
    const ends: string[] = [];
    for (const _ of days) {
      const { code, stderr } = await onlyNew('--append -o leads.jsonl');
      expect(code).toBe(0);
      ends.push(stderr.split(' · limit')[0] ?? '');
    }
    expect(at.read('leads.jsonl')).toBe(linesOf(0, 32));
    expect(ends).toEqual([
      '5 leads added to leads.jsonl',
      ...Array(9).fill('3 leads added to leads.jsonl · 2 left out (delivered before)'),
    ]);
    const records = await at.history('list');
    expect(records.map(({ leads, excluded, list }) => [leads, excluded, list])).toEqual([
      [5, 0, 'company'],
      ...Array(9).fill([3, 2, 'company']),
    ]);
    const shown = await at.leadpipe(`history show ${records[1]?.operation_id}`);
    expect(names(shown.stdout)).toEqual(['5', '6', '7']);
  });

  it('known leads are counted in every batch that brings some', async () => {
    let isFirst = true;
    server = await startFaultServer(async (socket, { method }) => {
      if (method === 'GET') return void socket.end(errorAnswer('404 X', 'not_found', 'no'));
      if (isFirst) return void socket.end(wholeStream(searchFrames([leadsOf(0, 2)])));
      const [first = '', ...others] = searchFrames([leadsOf(0, 2), leadsOf(1, 3)]);
      socket.write(streamStart(first));
      // The next batch comes when this one is stored.
      const stored = (id: string): string => join(at.state, 'operations', id, 'received.jsonl');
      const isStored = (id: string): boolean => existsSync(stored(id)) && statSync(stored(id)).size > 0;
      await until(() => readdirSync(join(at.state, 'operations')).filter(isStored).length === 2);
      socket.end(Buffer.concat([chunk(others.join('')), Buffer.from(lastChunk)]));
    });
    pointAt(server);
    await onlyNew();
    isFirst = false;
    expect((await onlyNew('-f jsonl')).stderr).toContain('3 left out (delivered before)');
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
    expect(await at.history('lists')).toMatchObject([{ list: 'company', leads: 2220, runs: 111 }]);
    // A few files, however many runs there were.
    expect(readdirSync(join(listFile(), '..')).length).toBeLessThan(25);
  }, 120_000);
});

describe('a list', () => {
  it('has no leads of a plain search: a later file does not leave them out', async () => {
    await serve(leadsOf(0, 3), leadsOf(0, 5), leadsOf(0, 6));
    await search();
    await at.leadpipe('search company x -o looked.jsonl');
    expect(await at.history('lists')).toEqual([]);
    expect((await at.history('list')).map(({ list }) => list)).toEqual([null, null]);
    expect((await onlyNew('-o law.jsonl --append')).code).toBe(0);
    expect(at.read('law.jsonl')).toBe(linesOf(0, 6));
    expect(asked()[2]?.dedup_service_leads).toBeUndefined();
    expect(await at.history('lists')).toMatchObject([{ list: 'company', leads: 6, runs: 1 }]);
  });

  it('has the name of the entity type or of --list; --list without --only-new counts as well', async () => {
    await serve(leadsOf(0, 2), leadsOf(2, 4), leadsOf(0, 6));
    await listed();
    await search('--list " mine "');
    expect(names((await onlyNew('-f jsonl')).stdout)).toEqual(['2', '3', '4', '5']);
    expect(asked().map((body) => body.dedup_service_leads)).toEqual([undefined, undefined, ['ls_1']]);
    expect(asked()[2]?.dedup_custom_leads).toEqual(['Lead 1', 'Lead 0']);
    expect(await at.history('lists')).toMatchObject([
      { list: 'company', leads: 6, runs: 2, origin: server.url },
      { list: 'mine', leads: 2, runs: 1 },
    ]);
    expect(await at.history('list', '--list', 'mine')).toMatchObject([{ leads: 2, list: 'mine' }]);
    expect(await at.history('lists', 'mine')).toMatchObject([
      {
        name: 'Lead 2',
        leads_search_id: 'ls_2',
        operation_id: expect.stringContaining('op_'),
        link: 'https://2.example',
      },
      { name: 'Lead 3' },
    ]);
    expect(await at.leadpipe('history lists other')).toMatchObject(failing(6, 'no list other'));
  });

  it('--dedup options that are given by hand come first', async () => {
    await serve(leadsOf(0, 3), leadsOf(3, 4));
    await listed();
    const ids = Array.from({ length: 100 }, (_, index) => `ls_given_${index}`);
    const byHand = `--dedup-service-leads ${ids} --dedup-custom-leads "lead 1"`;
    expect((await onlyNew(byHand)).code).toBe(0);
    expect(asked()[1]).toMatchObject({
      dedup_service_leads: ids,
      dedup_custom_leads: ['lead 1', 'Lead 2', 'Lead 0'],
    });
  });

  it('names searches to the key and the address alone that made them', async () => {
    await serve(leadsOf(0, 1), leadsOf(1, 2), leadsOf(2, 3));
    await listed();
    pointAt(server, 'another-key-0123456789');
    await onlyNew();
    expect(asked()[1]).toMatchObject({ dedup_custom_leads: ['Lead 0'] });
    expect(asked()[1]?.dedup_service_leads).toBeUndefined();
    pointAt(server);
    await onlyNew();
    expect(asked()[2]).toMatchObject({
      dedup_service_leads: ['ls_1'],
      dedup_custom_leads: ['Lead 1', 'Lead 0'],
    });
  });

  it('of the local service is another one: its leads are fictional', async () => {
    await serve(leadsOf(0, 1));
    await at.leadpipe('search company fintech --limit 2 --list company --local');
    await onlyNew();
    expect(asked()[0]?.dedup_custom_leads).toBeUndefined();
    expect(await at.history('lists')).toMatchObject([{ list: 'company' }, { list: 'company' }]);
  });

  // Nothing else has what was dropped together with its file. What was printed has been read.
  const paid = 'If you drop it, the same command buys these leads again.';
  it.each([
    { into: '-o a.jsonl', merged: false, says: paid, brings: ['0', '1', '2'] },
    { into: '-o a.jsonl', merged: true, says: paid, brings: ['0', '1'] },
    { into: '-f jsonl', merged: false, says: 'they stay in your list "company"', brings: ['2'] },
  ])('has no leads that were dropped with their file ($into, merged: $merged)', async (row) => {
    const { brings, into, merged, says } = row;
    const [begin = ''] = framesOf(1, leadsOf(0, 2));
    const answers = [streamStart(begin), wholeStream(framesOf(2, leadsOf(0, 3)))];
    server = await startFaultServer((socket, { method }) => {
      socket.end(method === 'GET' ? errorAnswer('404 X', 'not_found', 'no') : (answers.shift() ?? ''));
    });
    pointAt(server);
    const run = `--limit 3 ${into}`;
    expect((await onlyNew(run)).code).toBe(3);
    if (merged) {
      // As later runs do it when there are many. An older run has delivered the third lead.
      const [own] = toDelivered(readFileSync(listFile(), 'utf8'), () => expect.fail());
      if (own === undefined) expect.fail();
      const older = { ...own, operation_id: 'op_1', leads: [identityOf(leadOf(2)) as Identity] };
      const path = listFile();
      writeFileSync(join(path, '..', 'folded.jsonl'), [older, own].map(toDeliveredLine).join(''));
      rmSync(path);
    }
    const [cut] = await at.history();
    expect(await at.leadpipe(`history drop ${cut?.operation_id}`)).toMatchObject(ending(0, says));
    const again = await onlyNew(run);
    expect(again.code).toBe(0);
    expect(names(into === '-f jsonl' ? again.stdout : at.read('a.jsonl'))).toEqual(brings);
  });

  it('stays when the history is pruned', async () => {
    await serve(leadsOf(0, 2), leadsOf(0, 3));
    await listed();
    const later = () => new Date(Date.now() + 40 * 86_400_000);
    await prune(
      keepingIn(at.state, later),
      new Set(),
      () => {},
      async () => {},
    );
    expect(await at.history('list')).toEqual([]);
    expect(names((await onlyNew('-f jsonl')).stdout)).toEqual(['2']);
  });

  const byName = '--list must be a name of 1 to 100 characters';
  it.each([
    ['company x --list " "', byName],
    [`company x --list ${'x'.repeat(101)}`, byName],
    ['company x --list "a\\nb"', 'on one line'],
    ['company x --only-new --no-history', "--only-new can't be used with --no-history"],
    ['company x --list x --no-history', "--list can't be used with --no-history"],
  ])('is refused: search %s', async (words, says) => {
    await serve([]);
    expect(await at.leadpipe(`search ${words}`)).toMatchObject(ending(2, says));
    expect(asked()).toEqual([]);
  });

  it('costs the same however many other operations there are: their journals are not read', async () => {
    const refusal = errorAnswer('402 Payment Required', 'insufficient_credits', 'none');
    pointAt(await startFaultServer((socket) => void socket.end(refusal)));
    expect(await at.leadpipe('search person y')).toMatchObject({ code: 5 });
    const operations = join(at.state, 'operations');
    const journal = join(operations, readdirSync(operations)[0] ?? '', 'journal.jsonl');
    rmSync(journal);
    execFileSync('mkfifo', [journal]);
    // Ends as soon as anybody reads it.
    const writer = spawn('sh', ['-c', ': > "$0"', journal]);
    await serve(leadsOf(0, 2), leadsOf(2, 3));
    expect(await listed()).toMatchObject({ code: 0 });
    expect(await onlyNew()).toMatchObject({ code: 0, stdout: linesOf(2, 3) });
    expect(writer.exitCode).toBeNull();
    writer.kill();
  });

  it('--dry-run shows what would be left out, and counts nothing', async () => {
    await serve(leadsOf(0, 2));
    await listed();
    const { stdout } = await onlyNew('--dry-run');
    expect(stdout).toContain('ls_1');
    expect(stdout).toContain('Lead 0');
    expect(asked()).toHaveLength(1);
    expect(await at.history('lists')).toMatchObject([{ leads: 2, runs: 1 }]);
  });

  it('--exit-status is 7 when everything that came was delivered before', async () => {
    await serve(leadsOf(0, 2));
    await listed();
    expect(await onlyNew('--exit-status')).toEqual(failing(7, 'no new leads were found'));
    expect((await onlyNew()).code).toBe(0);
  });

  it('a search that brings only what is known is left out by its ID the next time', async () => {
    await serve(leadsOf(0, 2));
    for (const run of [listed, onlyNew, onlyNew]) await run();
    expect(asked()[2]?.dedup_service_leads).toEqual(['ls_2', 'ls_1']);
  });

  it('that can not be written is found out before anything is sent', async () => {
    await serve(leadsOf(0, 2));
    mkdirSync(at.state, { recursive: true });
    writeFileSync(lists(), '');
    expect(await listed()).toMatchObject(
      ending(74, "can't store the delivered leads in", 'Nothing was sent.', 'charged: no'),
    );
    expect(asked()).toEqual([]);
    expect((await search('--no-history')).code).toBe(0);
  });

  it('that is damaged is said, and left as it is', async () => {
    await serve(leadsOf(0, 2));
    await listed();
    const path = listFile();
    const text = readFileSync(path, 'utf8').replace('Lead 1', 'Lead 9');
    writeFileSync(path, text);
    const says = `warning: line 1 of ${path} is damaged: some leads may be delivered again`;
    expect(await onlyNew()).toMatchObject(ending(0, says));
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('a task', () => {
  const task = 'task run company x --num 10 --only-new';
  const without = (...known: number[]): number[] =>
    Array.from({ length: 45 }, (_, nth) => nth).filter((nth) => !known.includes(nth));

  it('drops by position: pages, positions and the end are the service’s', async () => {
    await serve([3, 4, 25, 44].map((nth) => `{"name":"lead ${nth}"}`));
    await listed();
    const tasks = await serveTask({
      steps: [
        ['running', 20],
        ['done', 45],
      ],
    });
    const { stdout, ...end } = await at.leadpipe(`${task} --positions -f jsonl --poll-interval 0.01`);
    const line = /^41 leads · 4 left out \(delivered before\) · limit reached · cost at most 45 credits$/m;
    expect(end).toEqual(ending(0, line));
    const rows = stdout.trim().split('\n');
    expect(rows.map((row) => JSON.parse(row).position)).toEqual(without(3, 4, 25, 44));
    expect(tasks.positions()).toEqual([0, 10, 20, 30, 40]);
    const ids = { leads_search_id: taskId, list: 'company' };
    // Those that were left out arrived, and are paid for.
    const record = { ...ids, leads: 41, excluded: 4, charged: 'yes', credits_at_most: 45 };
    expect((await at.history('list')).at(-1)).toMatchObject(record);
  });

  it('that was interrupted is resumed by the same command, although the list has grown', async () => {
    // One of the last page before it is interrupted, and one of the rest.
    await serve(['{"name":"lead 13"}'], ['{"name":"lead 13"}', '{"name":"lead 30"}']);
    await listed();
    let isAway = true;
    const refused = errorAnswer('401 Unauthorized', 'authentication_error', 'no');
    const tasks = await serveTask({
      steps: [['done', 45]],
      fault: (operation, nth) => (operation === 'fetch' && nth > 1 && isAway ? refused : undefined),
    });
    expect(await at.leadpipe(`${task} -o leads.jsonl`)).toMatchObject(
      ending(4, '19 leads were written', '; 1 left out (delivered before)'),
    );
    pointAt(server);
    await listed();
    pointAt(tasks);
    isAway = false;
    // Its own leads are no reason to leave them out.
    const whole = '43 leads in leads.jsonl · 2 left out (delivered before)';
    expect(await at.leadpipe(`${task} -o leads.jsonl`)).toMatchObject(
      ending(0, 'You are not charged again', whole),
    );
    expect(names(at.read('leads.jsonl'))).toEqual(without(13, 30).map(String));
    expect(tasks.count('create')).toBe(1);
  });
});

it('a task that is resumed has the positions of the service, far behind what was left out too', async () => {
  await serve(['{"name":"lead 3"}']);
  await listed();
  let isAway = true;
  const refused = errorAnswer('401 Unauthorized', 'authentication_error', 'no');
  const tasks = await serveTask({
    steps: [['done', 130]],
    entities: Array.from({ length: 130 }, (_, nth) => `{"name":"lead ${nth}"}`),
    fault: (operation, nth) => (operation === 'fetch' && nth > 1 && isAway ? refused : undefined),
  });
  const line = 'task run company x --only-new --num 60 --positions -o leads.jsonl';
  expect((await at.leadpipe(line)).code).toBe(4);
  isAway = false;
  expect((await at.leadpipe(line)).code).toBe(0);
  const rows = at.read('leads.jsonl').trim().split('\n');
  for (const { name, position } of rows.map((row) => JSON.parse(row))) expect(name).toBe(`lead ${position}`);
  expect([rows.length, tasks.count('create')]).toEqual([129, 1]);
});

describe('a search that is resumed', () => {
  it('is what the next run reminds of after a kill -9, and gets what was not printed', async () => {
    let isSlow = true;
    server = await startFaultServer((socket, { method }) => {
      if (method === 'GET') return void socket.end(errorAnswer('404 X', 'not_found', 'no'));
      const [first = '', ...others] = searchFrames([leadsOf(0, 2), leadsOf(2, 3)]);
      socket.write(streamStart(first));
      if (!isSlow) socket.end(Buffer.concat([chunk(others.join('')), Buffer.from(lastChunk)]));
    });
    pointAt(server);
    const child = at.start('search company x --list company -f jsonl');
    await once(child.stdout, 'data');
    isSlow = false;
    expect((await onlyNew('--list other -f jsonl')).stderr).not.toContain('was killed');
    expect((await onlyNew('--dry-run')).stderr).not.toContain('was killed');
    child.kill('SIGKILL');
    await once(child, 'close');
    const next = await onlyNew('-f jsonl');
    expect(names(next.stdout)).toEqual(['2']);
    const [, operation = ''] =
      /warning: (op_\w+), an earlier run of this list, was killed/.exec(next.stderr) ?? [];
    // Without its leads it could not be resumed.
    const received = join(at.state, 'operations', operation, 'received.jsonl');
    renameSync(received, `${received}.aside`);
    expect((await onlyNew('--dry-run')).stderr).not.toContain('was killed');
    renameSync(`${received}.aside`, received);
    expect((await at.leadpipe(`resume ${operation} -o leads.jsonl`)).code).toBe(0);
    expect(names(at.read('leads.jsonl')).slice(0, 2)).toEqual(['0', '1']);
    expect((await onlyNew()).stderr).not.toContain('was killed');
  });

  it('of a search with --only-new continues its list, however long that is', async () => {
    let nth = -1;
    server = await startSearchServer(() => {
      const n = ++nth;
      const leads = n === 101 ? leadsOf(90, 110) : n === 102 ? leadsOf(105, 120) : [leadOf(n)];
      return framesOf(n, leads).slice(0, n === 101 ? 1 : undefined);
    });
    pointAt(server);
    for (let day = 0; day <= 100; day++) await listed();
    const cut = await onlyNew('--limit 50 -o leads.jsonl');
    const says = '9 leads arrived, and are in leads.jsonl.part; 11 left out (delivered before)';
    expect(cut).toMatchObject(ending(3, says, 'charged: yes'));
    const [, operation] = /leadpipe resume (\w+)/.exec(cut.stderr) ?? [];
    const added = /^19 leads in \S+, 9 of them stored earlier · 5 left out \(delivered before\) · /m;
    expect(await at.leadpipe(`resume ${operation}`)).toMatchObject(ending(0, added));
    expect(at.read('leads.jsonl')).toBe(linesOf(101, 120));
    const { limit, dedup_service_leads: ids = [] } = asked().at(-1) ?? {};
    expect({ limit, first: ids[0], count: ids.length }).toEqual({ limit: 30, first: 'ls_101', count: 100 });
  }, 120_000);
});
