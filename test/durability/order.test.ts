import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { rowsOf } from '../helpers/databases.ts';
import {
  chunk,
  lastChunk,
  searchFrames,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { resultOf, temporaryFolder, until } from '../helpers/run.ts';
import { withoutLetters } from '../helpers/run-parts.ts';
import { type CountingService, type Purchase, startCountingService } from '../soak/counting-service.ts';
import { type Call, Disk, type Extent, readTrace, restore, snapshotOf } from './disk-trace.ts';
import { faultyWith, runWith } from './faulty-run.ts';

/**
 * Tests the order of writes to the disk. A kill leaves everything that was written, synced or not; only a power cut shows a
 * missing sync. So runs are traced, and the state after a power cut is computed.
 */

/** Every moment of a power cut, in place of some. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const limit = 4;

interface Kind {
  readonly name: string;
  readonly args: readonly string[];
  readonly file?: string;
  /** The file of other days. */
  readonly before?: string;
  /** Files that must be on the disk before their content is printed or written to the output. */
  readonly answers?: RegExp;
  /** Files that only have to survive the process by then: a stream is synced once a second. */
  readonly leads?: RegExp;
  readonly requests: number;
}

const people = ['Ada', 'Bo', 'Cy'];
const answers = /\w+@example\.com/g;
const leads = /\w+\/\d+/g;
const search = ['search', 'company', 'shops', '--list', 'company', '--limit', String(limit)];
const task = [
  'task',
  'run',
  'company',
  'shops',
  '--list',
  'company',
  '--limit',
  String(limit),
  '--num',
  '2',
  '--poll-interval',
  '0.01',
];
const list = ['contact', 'email', '--input', 'people.txt', '--concurrency', '2'];
const old = '{"name":"old"}\n';

const kinds: readonly Kind[] = [
  { name: 'a search into a file', args: [...search, '-o', 'a.jsonl'], file: 'a.jsonl', leads, requests: 1 },
  {
    name: 'a search over the file of yesterday',
    args: [...search, '-o', 'a.csv'],
    file: 'a.csv',
    before: 'old\r\n',
    leads,
    requests: 1,
  },
  { name: 'a search into a pipe', args: search, leads, requests: 1 },
  {
    name: 'a search --append',
    args: [...search, '-o', 'a.jsonl', '--append'],
    file: 'a.jsonl',
    before: old,
    leads,
    requests: 1,
  },
  {
    name: 'a search --append into a new file',
    args: [...search, '-o', 'a.jsonl', '--append'],
    file: 'a.jsonl',
    leads,
    requests: 1,
  },
  { name: 'a search into a workbook', args: [...search, '-o', 'a.xlsx'], file: 'a.xlsx', leads, requests: 1 },
  { name: 'a task into a file', args: [...task, '-o', 'a.jsonl'], file: 'a.jsonl', requests: 1 },
  { name: 'a task into a pipe', args: task, requests: 1 },
  {
    name: 'a task --append',
    args: [...task, '-o', 'a.jsonl', '--append'],
    file: 'a.jsonl',
    before: old,
    requests: 1,
  },
  { name: 'task create', args: ['task', 'create', 'company', 'shops', '--limit', '4'], requests: 1 },
  { name: 'contact', args: ['contact', 'email', 'Ada'], answers, requests: 1 },
  {
    name: 'contact into a file',
    args: ['contact', 'email', 'Ada', '-o', 'a.csv'],
    file: 'a.csv',
    answers,
    requests: 1,
  },
  { name: 'research', args: ['research', 'Ada'], answers, requests: 1 },
  { name: 'enrich', args: ['enrich', 'Ada', '--field', 'city'], answers, requests: 1 },
  { name: 'extract', args: ['extract', 'x_followers', 'Ada'], answers, requests: 1 },
  { name: 'a list into a file', args: [...list, '-o', 'a.jsonl'], file: 'a.jsonl', answers, requests: 3 },
  { name: 'a list into a pipe', args: list, answers, requests: 3 },
  {
    name: 'a list --append',
    args: [...list, '-o', 'a.jsonl', '--append'],
    file: 'a.jsonl',
    before: old,
    answers,
    requests: 3,
  },
];

let service: CountingService;
beforeAll(async () => {
  service = await startCountingService(false);
});

interface Traced {
  readonly machine: Machine;
  readonly home: string;
  readonly calls: readonly Call[];
  readonly initial: ReadonlyMap<string, string>;
  /** What was charged for. */
  readonly bought: readonly Purchase[];
  readonly whole: string;
}

async function traced({ args, before, file }: Kind, betweenBatchesMs = 0): Promise<Traced> {
  const machine = createMachine(service.url);
  machine.write('people.txt', people.map((name) => `${name}\n`).join(''));
  if (before !== undefined && file !== undefined) machine.write(file, before);
  const home = join(machine.cwd, '..');
  const initial = snapshotOf(home);
  const trace = join(temporaryFolder(), 'trace');
  const since = service.purchases.length;
  service.betweenBatchesMs = betweenBatchesMs;
  const { code, stderr, stdout } = await runWith({ mode: 'count', trace }, machine, args);
  service.betweenBatchesMs = 0;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const bought = service.purchases.slice(since);
  const whole = file === undefined ? stdout : machine.read(file);
  return { machine, home, calls: readTrace(trace), initial, bought, whole };
}

describe('the order of writing', () => {
  it.each(kinds)('$name', async (kind) => {
    // A stream is synced once a second: what comes later is synced at its end.
    const run = await traced(kind, 30);
    const { faults, seen } = lookThrough(run, kind);
    expect(faults).toEqual([]);
    // Otherwise nothing was looked at.
    const hasRows = kind.answers ?? kind.leads;
    expect(seen).toEqual({
      requests: kind.requests,
      rows: hasRows === undefined || kind.file === 'a.xlsx' ? seen.rows : expect.any(Number),
      placed: kind.file === undefined ? 0 : 1,
    });
    if (hasRows !== undefined) expect(seen.rows).toBeGreaterThanOrEqual(kind.requests);

    const { bought, calls, home, machine } = run;
    // An answer is stored before it is printed; a stream is only at its end sure to be.
    const printed = calls.findIndex(({ call }) => call === 'print');
    const at = kind.answers !== undefined && kind.file === undefined ? printed : calls.length - 1;
    restore(home, imageOf(diskAt(run, at), machine, { state: 'synced', work: 'synced' }));
    const tokens = bought.flatMap(({ leads, subject, kind }) => (kind === 'row' ? [subject] : leads));
    if (hasRows !== undefined) {
      const { stdout } = await machine.leadpipe('history show -f jsonl');
      for (const one of at === printed ? tokens.slice(0, 1) : tokens) expect(stdout).toContain(one);
    }
    if (kind.answers === undefined) {
      const { stdout } = await machine.leadpipe('history lists company -f jsonl');
      for (const one of kind.name === 'task create' ? [] : tokens) expect(stdout).toContain(one);
    }
  });
});

/** The disk, when this call has ended. */
function diskAt({ calls, initial }: Traced, at: number): Disk {
  const disk = new Disk(initial);
  for (const [nth, call] of calls.slice(0, at + 1).entries()) disk.take(call, nth);
  return disk;
}

describe('what has been written is on the disk when the run has ended', () => {
  it.each([
    ['a workbook', [...search, '-o', 'a.xlsx'], /a\.xlsx$/, 'synced'],
    ['a database', [...search, '-o', 'a.sqlite'], /a\.sqlite$/, 'synced'],
    // Its name comes last, and may be lost.
    ['a summary', [...search, '--summary', 's.json'], /s\.json$/, 'named'],
    ['what an earlier search of the list has left out', search, /lists\/.*\.jsonl$/, 'synced'],
    ['what a task of the list has left out', task, /lists\/.*\.jsonl$/, 'synced'],
  ] as const)('%s', async (name, args, path, extent) => {
    const run = await traced({ name, args, requests: 1 });
    const now = snapshotOf(run.home);
    const disk = diskAt(run, run.calls.length - 1);
    const synced = disk.left(extent, () => true);
    const files = [...now.keys()].filter((one) => path.test(one));
    expect(files).not.toEqual([]);
    expect(files.filter((one) => synced.get(one) !== now.get(one))).toEqual([]);
  });
});

it('leads that have arrived are on the disk while the search goes on', async () => {
  const trace = join(temporaryFolder(), 'trace');
  const [first = '', ...rest] = searchFrames([['{"name":"A"}'], ['{"name":"B"}']]);
  let stream: Socket | undefined;
  const machine = await machineWith((socket) => {
    stream = socket;
    socket.write(streamStart(first));
  });
  const child = machine.start('search company any --limit 2', faultyWith({ mode: 'count', trace }));
  const ended = resultOf(child);
  await until(() => stream !== undefined);
  await until(() =>
    readTrace(trace).some((one) => one.call === 'synced' && one.path.endsWith('/received.jsonl')),
  );
  stream?.end(Buffer.concat([chunk(rest.join('')), Buffer.from(lastChunk)]));
  expect(await ended).toMatchObject({ code: 0 });
});

it('leads that came with a wrong content type are on the disk when the run has ended', async () => {
  const trace = join(temporaryFolder(), 'trace');
  const frames = searchFrames([['{"name":"A"}', '{"name":"B"}']]).join('');
  const machine = await machineWith(wholeAnswer('200 OK', 'application/json', frames));
  await machine.run('search company any --limit 2', faultyWith({ mode: 'count', trace }));
  const calls = readTrace(trace).flatMap((one) =>
    'path' in one && one.path.endsWith('/received.jsonl') ? [one.call] : [],
  );
  expect(calls).toContain('write');
  expect(calls.lastIndexOf('synced')).toBeGreaterThan(calls.lastIndexOf('write'));
});

it('what a purchase without a record can cost is on the disk before it is sent', async () => {
  const args = ['contact', 'email', 'Ada', '--no-history'];
  const run = await traced({ name: 'contact', args, requests: 1 });
  const at = run.calls.findIndex((one) => one.call === 'send' && one.text.startsWith('POST '));
  const index = diskAt(run, at).left('synced', (path) => path.includes('/state/index/'));
  expect([...index.values()].join('')).toContain('"worst"');
});

it('a search whose last entry the disk did not confirm is resumed, and nothing more is bought', async () => {
  const machineOf = async () => {
    const batches = [['{"name":"A"}'], ['{"name":"B"}']];
    let nth = 1;
    // It found less than its limit, and a lead of the earlier one.
    const machine = await machineWith(
      (socket) => void socket.end(wholeStream(searchFrames(batches.slice(0, nth++), 'no_data_timeout'))),
    );
    await machine.run('search company any --only-new');
    return machine;
  };
  const report = join(temporaryFolder(), 'report');
  const args = 'search company any --only-new --limit 9 -o a.jsonl'.split(' ');
  await runWith({ mode: 'count', on: 'journal.jsonl', report }, await machineOf(), args);
  const { syncs } = JSON.parse(readFileSync(report, 'utf8'));
  const machine = await machineOf();
  const failed = await runWith({ mode: 'sync', at: syncs, on: 'journal.jsonl' }, machine, args);
  expect(failed.stderr).toContain('is not recorded');
  expect(await machine.run(args)).toMatchObject({ code: 0 });
  expect(machine.requests).toHaveLength(2);
  expect(machine.read('a.jsonl')).toBe('{"name":"B"}\n');
  expect((await machine.history()).at(-1)).toMatchObject({ state: 'complete', leads: 1, excluded: 1 });
});

it('rows that are in a database are not added again when that was not confirmed, though others were added since', async () => {
  const machineOf = () =>
    machineWith(
      (socket) => void socket.end(wholeStream(searchFrames([['{"name":"A"}']], 'no_data_timeout'))),
    );
  const report = join(temporaryFolder(), 'report');
  const args = 'search company any --limit 9 --append -o a.db'.split(' ');
  await runWith({ mode: 'count', on: 'journal.jsonl', report }, await machineOf(), args);
  const { syncs } = JSON.parse(readFileSync(report, 'utf8'));
  const machine = await machineOf();
  await runWith({ mode: 'sync', at: syncs, on: 'journal.jsonl' }, machine, args);
  const elsewhere = { LEADPIPE_STATE_DIR: temporaryFolder() };
  expect(await machine.run('search company other --append -o a.db', elsewhere)).toMatchObject({ code: 0 });
  expect(await machine.run(args)).toMatchObject({ code: 0 });
  expect([rowsOf(machine.pathOf('a.db'), 'leads').length, machine.requests.length]).toEqual([2, 2]);
});

it('the name of a setting is on the disk when it is said to be set', async () => {
  const { calls, home } = await traced({
    name: 'a setting',
    args: ['config', 'set', 'timeout.idle', '3'],
    requests: 0,
  });
  expect(calls.filter(({ call }) => call === 'synced').map((one) => 'path' in one && one.path)).toContain(
    join(home, 'config'),
  );
});

/** What is left of the state and of the folder with the output: they may be on two disks. */
const images = [
  { state: 'synced', work: 'synced' },
  { state: 'synced', work: 'written' },
  { state: 'written', work: 'synced' },
  { state: 'synced', work: 'named' },
] as const;

describe('after a power cut', () => {
  it.each(kinds.filter(({ file, name }) => file !== undefined && name !== 'contact into a file'))(
    '$name is complete and whole, or goes on: nothing is bought twice without a word',
    async (kind) => {
      const run = await traced(kind);
      const { calls, home, bought, machine, whole } = run;
      const { file = '', args } = kind;
      // The rest of a search leaves out all that the service had sent, so that it may bring others.
      const unnumbered = (text: string): string => text.replaceAll(leads, 'a lead');
      const wholeFile = file.endsWith('xlsx') ? expect.any(String) : unnumbered(whole);
      let ended = 0;
      for (const [nth, at] of momentsOf(run, file).entries()) {
        const disk = diskAt(run, at);
        const sent = calls.slice(0, at + 1).flatMap((call) => (call.call === 'send' ? [call.text] : []));
        const earlier = bought.filter(({ key }) => sent.some((text) => text.includes(key)));
        for (const image of exhaustive ? images : images.slice(nth % images.length).slice(0, 1)) {
          const where = JSON.stringify({ image, at, call: calls[at] });
          restore(home, imageOf(disk, machine, image));
          service.remember(earlier);
          const before = service.purchases.length;
          const [operation] = await machine.history();
          let words = '';
          if (operation?.state === 'complete') ended++;
          else {
            const { code, stderr } = await machine.leadpipe(args);
            words = stderr;
            // 3: the service does not answer rows again that it has answered.
            if (code !== 0)
              expect({ where, stderr, code }).toEqual({ where, stderr, code: kind.requests > 1 ? 3 : 0 });
            if (code === 3) continue;
          }
          const all = [...earlier, ...service.purchases.slice(before)].flatMap(({ leads, subject, kind }) =>
            kind === 'row' ? [subject] : leads,
          );
          const twice = words.includes('may have been charged') ? [] : repeated(all);
          const text = machine.read(file);
          const rows = text.match(leads) ?? [];
          const found = { where, words, file: unnumbered(text), twice: [...twice, ...repeated(rows)] };
          expect(found).toEqual({ where, words, file: wholeFile, twice: [] });
        }
      }
      expect(ended).toBeGreaterThan(0);
    },
    exhaustive ? 3_600_000 : 120_000,
  );
});

const repeated = (all: readonly string[]): string[] => all.filter((one, nth) => all.indexOf(one) !== nth);

/** When it matters what is on the disk: around requests, and around the change of the file. The last one is the end. */
function momentsOf({ calls, machine }: Traced, file: string): number[] {
  const target = machine.pathOf(file);
  const matters = (call: Call): boolean =>
    (call.call === 'send' && call.text.startsWith('POST ')) ||
    (call.call === 'synced' && call.path.startsWith(join(machine.state, 'operations'))) ||
    ('to' in call && call.to === target) ||
    ('path' in call && call.call.startsWith('remove') && isPartOf(target, call.path));
  const all = calls.flatMap((call, at) => (exhaustive || matters(call) ? [at] : []));
  return [...all, calls.length - 1];
}

/** Whether it is the file of rows that a run makes beside its output. */
const isPartOf = (target: string, path: string): boolean => withoutLetters(path) === `${target}.part`;

function imageOf(
  disk: Disk,
  { state }: Machine,
  image: { readonly state: Extent; readonly work: Extent },
): ReadonlyMap<string, string> {
  const isState = (path: string): boolean => path.startsWith(state);
  const parts = [
    [image.state, isState],
    [image.work, (path: string) => !isState(path)],
  ] as const;
  return new Map(parts.flatMap(([extent, isPart]) => [...disk.left(extent, isPart)]));
}

/** A journal without the names of files beside the output: when the last of them is renamed, there is nothing left to find by it. */
const withoutParts = (text: string): string => text.replaceAll(/^.*"entry":\{"type":"part".*\n/gm, '');

/** Goes through a run call by call, with what is on the disk at each. */
function lookThrough({ calls, initial, machine }: Traced, { answers, file, leads }: Kind) {
  const { cwd, state } = machine;
  const disk = new Disk(initial);
  const faults: string[] = [];
  const seen = { requests: 0, rows: 0, placed: 0 };
  // Locks and the spare file do not matter after a power cut, and the index is rebuilt from the journals.
  const isState = (path: string): boolean =>
    path.startsWith(state) && !/\/(?:lock\b|spare$)/.test(path) && !path.startsWith(join(state, 'index'));
  const target = join(cwd, file ?? '');
  const kept = (): string => [...disk.left('synced', isState).values()].join('\n');
  const written = (): string => [...disk.left('written', isState).values()].join('\n');
  const unsynced = (): string[] =>
    [...disk.left('written', isState)]
      .filter(([path, text]) => withoutParts(text) !== withoutParts(disk.syncedTextOf(path)))
      .map(([path]) => path);
  const must = (holds: boolean, what: string): void => {
    if (!holds) faults.push(what);
  };
  /** What the state says of the output is on the disk before the output changes. */
  const mustBeSaid = (what: string): void => {
    for (const path of unsynced()) must(false, `${what}, and ${path} is not synced`);
  };
  /** What was done to the folder of the output that no sync of it has followed. */
  let unsyncedChange: string | undefined;
  let folderSync: number | undefined;
  for (const [at, call] of calls.entries()) {
    if (call.call === 'send' && call.text.startsWith('POST ')) {
      seen.requests++;
      const key = /\r\nidempotency-key: (\S+)/i.exec(call.text)?.[1] ?? 'no key';
      const next = calls.slice(at + 1).find((one) => one.call === 'send' && one.socket === call.socket);
      const body = next?.call === 'send' ? next.text : '';
      const text = kept();
      must(text.includes(key), `${key} is sent, and is not on the disk`);
      const isKept = [body, JSON.stringify(body).slice(1, -1)].some((form) => text.includes(form));
      must(body !== '' && isKept, `${body} is sent, and is not on the disk`);
    }
    if (call.call === 'send' && call.text.startsWith('GET ')) {
      const id = /leads_search_id=(\w+)/.exec(call.text)?.[1];
      must(id === undefined || kept().includes(id), `the task ${id} is asked for, and is not on the disk`);
    }
    if (call.call === 'print' || (call.call === 'write' && call.path.startsWith(cwd))) {
      const [rows, text] = answers
        ? [call.text.match(answers), kept()]
        : [call.text.match(leads ?? /$^/), written()];
      for (const row of rows ?? []) {
        seen.rows++;
        must(text.includes(row), `${row} is delivered, and is not stored`);
      }
    }
    if (call.call === 'rename' && disk.textOf(call.path) !== undefined) {
      must(disk.isSynced(call.path), `${call.path} is renamed, and not synced`);
      if (call.to === target) mustBeSaid('it is renamed');
    }
    if (call.call === 'write') must(call.path !== target, 'it is written in place');
    if (call.call === 'write' && isState(call.path))
      must(
        unsyncedChange === undefined,
        `the state says more, and ${unsyncedChange}, and its folder is not synced`,
      );
    disk.take(call, at);
    if (call.call === 'renamed' && call.to === target) {
      seen.placed++;
      unsyncedChange = `${call.path} is ${call.call}`;
      folderSync = undefined;
    }
    if (call.call === 'sync' && call.path === cwd) folderSync ??= at;
    if (call.call === 'synced' && call.since === folderSync) unsyncedChange = undefined;
  }
  must(unsyncedChange === undefined, `it is over, and ${unsyncedChange}, and its folder is not synced`);
  return { faults, seen };
}
