import { beforeAll, expect, it } from 'vitest';
import { type FaultServer, searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { readOperations } from '../helpers/stored.ts';
import { someEntities, startTaskServer, type TaskServer } from '../helpers/task-server.ts';
import { atBoundaries, inParallel, killedAt, runWith } from './faulty-run.ts';

/** Runs with --only-new that are killed, or active at the same time: no lead is printed twice, and none is lost. */

/** Every death, in place of every seventh. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const step = exhaustive ? 1 : 7;
const limit = 50;
const leadsOf = (prefix: string, count: number): string[] =>
  Array.from(
    { length: count },
    (_, at) => `{"name":"${prefix}${at}","links":{"website":"https://${prefix}${at}.example"}}`,
  );
const [old, first, rest, fresh] = [
  leadsOf('old', 3),
  leadsOf('first', 7),
  leadsOf('rest', 2),
  leadsOf('fresh', 2),
];

/** The positions of the task whose leads were delivered before. */
const known = [0, 8, 9, 30, 44];

/** The leads of each search, by its key; earlier leads too, since this service ignores exclusions. */
const brought: Readonly<Record<string, readonly (readonly string[])[]>> = {
  old: [old],
  seed: [known.map((at) => `{"name":"lead ${at}"}`)],
  killed: [
    [...first.slice(0, 3), ...old.slice(0, 1)],
    [...old.slice(1), ...first.slice(3, 5)],
    first.slice(5),
  ],
  rest: [[...old, ...first], rest],
  later: [first, [...old, ...fresh]],
};

let server: FaultServer;
let tasks: TaskServer;
beforeAll(async () => {
  server = await startSearchServer(({ headers, body }) => {
    // A purchase by `resume` has a generated key, and a lower limit.
    const isRest = JSON.parse(body).limit < limit && headers['idempotency-key'] !== 'later';
    const key = isRest ? 'rest' : (headers['idempotency-key'] ?? '');
    const frames = searchFrames(brought[key] ?? [leadsOf(key, 3)]);
    return frames.map((frame) => frame.replaceAll('ls_test', `ls_${key}`));
  }, 2);
  tasks = await startTaskServer({ steps: [['done', 45]] });
});

const search = (machine: Machine, key: string, at?: number, ...more: string[]) => {
  const args = [
    'search',
    'company',
    'x',
    '--only-new',
    '--limit',
    String(limit),
    '--idempotency-key',
    key,
    '-q',
  ];
  return runWith(killedAt(at), machine, [...args, ...more]);
};
const append = ['--append', '-o', 'leads.jsonl'];
const rowsOf = ({ read }: Machine): string[] => read('leads.jsonl').trimEnd().split('\n');

it(
  'a search --only-new --append that is killed anywhere, and continued by hand or by the next day’s, has each lead once',
  async () => {
    let [deaths, continued] = [0, 0];
    await atBoundaries(step, async (at, isPast) => {
      const machine = createMachine(server.url);
      await search(machine, 'old');
      machine.write('leads.jsonl', old.map((lead) => `${lead}\n`).join(''));
      const { code } = await search(machine, 'killed', at, ...append);
      if (code !== null) isPast();
      else deaths++;
      const operation = (await readOperations(machine.state)).operations[1];
      const isOver = operation?.entries.some(({ type }) => type === 'terminal') ?? true;
      let isContinued = !isOver && ((at - 1) / step) % 2 === 0;
      if (isContinued) {
        const args = ['resume', operation?.operationId ?? '', '-q'];
        const resumed = await machine.run(args);
        // Where nothing has arrived, there is no rest.
        isContinued = resumed.code !== 2;
        if (isContinued) continued++;
        expect({ at, ...resumed }).toMatchObject({ at, code: isContinued ? 0 : 2 });
      }
      // Otherwise the next day goes on by itself, in place of buying all of it again.
      const nextDay = await search(machine, 'later', undefined, ...append);
      expect({ at, ...nextDay }).toMatchObject({ at, code: 0 });
      const rows = rowsOf(machine);
      expect({ at, twice: rows.length - new Set(rows).size }).toEqual({ at, twice: 0 });
      // Where everything had arrived, only its place was missing.
      const isWhole = operation?.entries.some(({ type }) => type === 'answered') ?? false;
      // The next day then puts it into its place, and buys nothing.
      const isPlacedOnly = isWhole && !isOver && !isContinued;
      const all = [
        ...old,
        ...first,
        ...(isContinued && !isWhole ? rest : []),
        ...(isPlacedOnly ? [] : fresh),
      ];
      expect({ at, rows: rows.sort() }).toEqual({ at, rows: all.sort() });
    });
    expect(deaths).toBeGreaterThan(8);
    expect(continued).toBeGreaterThan(0);
  },
  exhaustive ? 3_600_000 : 300_000,
);

it(
  'a task run --only-new that is killed anywhere ends as if it had not been, by the same command',
  async () => {
    const args = ['task', 'run', 'company', 'x', '--only-new', '--num', '9', '-q', '-o', 'leads.jsonl'];
    const whole = someEntities.filter((_, at) => !known.includes(at));
    let deaths = 0;
    await atBoundaries(step, async (at, isPast) => {
      const machine = createMachine(server.url);
      await search(machine, 'seed');
      machine.env.LEADPIPE_BASE_URL = tasks.url;
      const { code } = await runWith(killedAt(at), machine, args);
      if (code !== null) isPast();
      else deaths++;
      const { operations } = await readOperations(machine.state);
      const isOver = operations[1]?.entries.some(({ type }) => type === 'terminal') ?? false;
      // Over, it would be bought again, without what it has brought.
      if (!isOver) {
        expect({ at, ...(await machine.run(args)) }).toMatchObject({ at, code: 0, stderr: '' });
      }
      expect({ at, rows: rowsOf(machine) }).toEqual({ at, rows: whole });
    });
    expect(deaths).toBeGreaterThan(8);
  },
  exhaustive ? 3_600_000 : 300_000,
);

it('eight runs at once, while those of other days are folded, lose none of each other’s leads', async () => {
  const machine = createMachine(server.url);
  const keys = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, at) => `run-${from + at}-`);
  await inParallel(keys(0, 19), async (key) => expect((await search(machine, key)).code).toBe(0));
  await inParallel(
    keys(19, 27),
    async (key) =>
      expect({ key, ...(await search(machine, key)) }).toMatchObject({ key, code: 0, stderr: '' }),
    8,
  );
  const { stdout } = await machine.run(['history', 'lists', 'company', '-f', 'jsonl']);
  const names = stdout.match(/(?<="name":")[^"]*/g)?.sort();
  expect(names).toEqual(
    keys(0, 27)
      .flatMap((key) => [0, 1, 2].map((at) => `${key}${at}`))
      .sort(),
  );
}, 120_000);

it('leads of a search that was killed before they were counted for their list are counted by the run that goes on', async () => {
  const all = leadsOf('lead', 5);
  const cuts = await startSearchServer(({ body }) => {
    const { limit } = JSON.parse(body);
    return searchFrames([all.slice(5 - limit, 5 - limit + 2), all.slice(7 - limit)]);
  });
  const args = ['search', 'company', 'x', '--list', 'ours', '--limit', '5', '-q', '-o', 'leads.jsonl'];
  /** The machine on which it was killed at this boundary, and how many leads it knows of then. */
  const killed = async (at: number) => {
    const machine = createMachine(cuts.url);
    await runWith(killedAt(at), machine, args);
    const [{ leads } = {}] = await machine.history();
    return { machine, leads: Number(leads ?? 0) };
  };
  // The first boundary behind which a lead is stored.
  let [none, some] = [0, 128];
  while (some - none > 1) {
    const middle = (none + some) >> 1;
    if ((await killed(middle)).leads === 0) none = middle;
    else some = middle;
  }
  const { machine, leads } = await killed(some);
  expect(leads).toBeGreaterThan(0);
  expect(leads).toBeLessThan(5);
  expect(await machine.run(args)).toMatchObject({ code: 0 });
  expect(rowsOf(machine)).toEqual(all);
  expect(await machine.history('lists')).toMatchObject([{ leads: 5 }]);
});
