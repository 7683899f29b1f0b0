import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { namesIn } from '../helpers/printed.ts';
import { startRowService } from '../helpers/row-service.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { partsOf } from '../helpers/run-parts.ts';
import { resultOfSignalled } from '../helpers/signalled.ts';
import { toWords } from '../helpers/words.ts';
import { type CountingService, startCountingService } from '../soak/counting-service.ts';
import { inParallel, runWith } from './faulty-run.ts';

/*
 * A file is a print of what is stored: whatever others do to an output or beside it while an operation is interrupted, its
 * file has the rows of the operation, each once, and nothing of others is lost.
 */

let service: CountingService;
let machine: Machine;
beforeEach(async () => {
  service = await startCountingService(false);
  machine = createMachine(service.url);
});

const limit = 15;
/** The names of the first leads with this objective. */
const leads = (objective: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${objective}/${at}`);
const task = (objective: string, ...more: string[]): string =>
  ['task run company', objective, `--limit ${limit} --num 5 --poll-interval 0.02`, ...more].join(' ');
const search = (objective: string, ...more: string[]): string =>
  ['search company', objective, `--limit ${limit}`, ...more].join(' ');

/** Another state folder on the same machine. */
const elsewhere = (of: Machine = machine) => ({ LEADPIPE_STATE_DIR: join(of.state, '../other-state') });

/** Interrupts a run that reads a task, when it has all that is ready of it. */
async function interrupt(line: string, objective: string, env?: Record<string, string>): Promise<void> {
  const child = machine.start(line, env);
  const { code, stderr } = await resultOfSignalled(child, 'SIGINT', () => service.isWaitedFor(objective));
  expect({ line, code, stderr }).toMatchObject({ code: 130 });
}

async function cutOff(line: string, env?: Record<string, string>): Promise<string> {
  const { code, stderr } = await machine.run(line, env);
  expect({ line, code, stderr }).toMatchObject({ code: 3 });
  return stderr;
}

/** The names of leads that are in the parts of an output, in any form. */
const namesInParts = (output: string, of: Machine = machine): string[] =>
  [...partsOf(of, output).values()].flatMap((text) => text.match(/\w+\/\d+/g) ?? []).sort();

describe('a run leaves its rows in a file of its own, which others leave alone', () => {
  it('and says where', async () => {
    service.scripts.set('ours', { cut: 6 });
    const stderr = await cutOff(search('ours', '-o a.jsonl'));
    const [name = ''] = partsOf(machine, 'a.jsonl').keys();
    expect(name).toMatch(/^a\.jsonl\.[a-z]{6}\.part$/i);
    expect(stderr).toContain(name);
    expect(machine.files()).toEqual(['a.jsonl.part']);
  });

  const others: [name: string, begin: () => Promise<unknown>][] = [
    [
      'a task fetch',
      async () => {
        service.scripts.set('theirs', { ready: 12, held: 10 });
        const { stdout } = await machine.run(`task create company theirs --limit ${limit} -f jsonl`);
        const { leads_search_id } = JSON.parse(stdout);
        await machine.run(`task status ${leads_search_id}`);
        for (const _ of [1, 2]) await machine.run(`task status ${leads_search_id}`);
        await interrupt(`task fetch ${leads_search_id} --num 5 -o a.jsonl`, 'theirs');
      },
    ],
    [
      'a search without history',
      async () => {
        service.scripts.set('theirs', { cut: 12 });
        await cutOff(search('theirs', '--no-history -o a.jsonl'));
        return () => expect(namesInParts('a.jsonl')).toEqual(leads('theirs', 12).sort());
      },
    ],
    [
      'a task with another state folder',
      async () => {
        service.scripts.set('theirs', { ready: 12 });
        await interrupt(task('theirs', '-o a.jsonl'), 'theirs', elsewhere());
        return async () => {
          service.scripts.clear();
          expect(await machine.run(task('theirs', '-o a.jsonl'), elsewhere())).toMatchObject({ code: 0 });
          expect(await namesIn(machine.pathOf('a.jsonl'))).toEqual(leads('theirs', limit));
        };
      },
    ],
  ];
  it.each(others)('a task that was interrupted before %s was, into the same file', async (_, begin) => {
    service.scripts.set('ours', { ready: 8 });
    await interrupt(task('ours', '-o a.jsonl'), 'ours');
    const isKept = (await begin()) as undefined | (() => unknown);
    service.scripts.delete('ours');
    const { code, stderr } = await machine.run(task('ours', '-o a.jsonl'));
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('15 leads in a.jsonl'),
    });
    expect(await namesIn(machine.pathOf('a.jsonl'))).toEqual(leads('ours', limit));
    await isKept?.();
    expect(service.purchases.map(({ subject }) => subject).sort()).toEqual(['ours', 'theirs']);
  });

  it('a search whose leads are stored nowhere else loses none of them to an earlier one', async () => {
    service.scripts.set('ours', { cut: 6 });
    service.scripts.set('theirs', { cut: 12 });
    await cutOff(search('ours', '-o a.jsonl'));
    const stderr = await cutOff(search('theirs', '--no-history -o a.jsonl'));
    const [named = ''] = /a\.jsonl\S*\.part/.exec(stderr) ?? [];
    expect(
      partsOf(machine, 'a.jsonl')
        .get(named)
        ?.match(/theirs\/\d+/g),
    ).toEqual(leads('theirs', 12));
    service.scripts.clear();
    expect((await machine.run(search('ours', '-o a.jsonl'))).code).toBe(0);
    expect(await namesIn(machine.pathOf('a.jsonl'))).toEqual(leads('ours', limit));
    // Only theirs is left, under the name that was told.
    expect([...partsOf(machine, 'a.jsonl')].map(([name, text]) => [name, text.match(/\w+\/\d+/g)])).toEqual([
      [named, leads('theirs', 12)],
    ]);
  });
});

/** Every moment of a death, in place of some. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';

/** When a run is killed: at every `step`th change of the file system from then on. */
interface Moments {
  readonly step: number;
  /** From when there is this file. Otherwise from when the service has sent the last leads, and only in the folder of the output. */
  readonly file?: string;
  /** The service waits with what follows its last leads until all are in the part of this output. */
  readonly output?: string;
}

/**
 * Kills a run at its end, each time on a machine of its own, with an objective of its own. `prepare` brings it so far, and
 * returns the line of that run.
 */
async function killedAtItsEnd(
  { file, output, step }: Moments,
  prepare: (at: Machine, ours: string) => string | Promise<string>,
  check: (at: Machine, ours: string) => Promise<void>,
): Promise<void> {
  const marks = temporaryFolder();
  const machines = new Map<string, Machine>();
  service.onLast = async (objective) => {
    const own = machines.get(objective);
    if (own !== undefined && output !== undefined)
      await expect.poll(() => namesInParts(output, own), { timeout: 20_000 }).toHaveLength(limit);
    writeFileSync(join(marks, objective), '');
  };
  let [deaths, isOver] = [0, false];
  const places = function* (): Generator<number> {
    for (let nth = 0; !isOver; nth++) yield nth;
  };
  await inParallel(places(), async (nth) => {
    const [own, ours] = [createMachine(service.url), `ours${nth}`];
    const at = 1 + nth * (exhaustive ? 1 : step);
    const line = await prepare(own, ours);
    machines.set(ours, own);
    const moment =
      file === undefined ? { after: join(marks, ours), within: own.cwd } : { after: own.pathOf(file) };
    const { code } = await runWith({ mode: 'kill', at, ...moment }, own, toWords(line));
    machines.delete(ours);
    if (code !== null) {
      isOver = true;
      return;
    }
    deaths++;
    await check(own, ours).catch((error: Error) => {
      error.message = `killed at change ${at}: ${error.message}`;
      throw error;
    });
  });
  expect(deaths).toBeGreaterThan(2);
}

/** All leads of a search, each once. Which ones depends on what its first parts brought, and whether it arrived. */
function expectAll(names: readonly string[], ours: string): void {
  expect(names.filter((name) => name.startsWith(`${ours}/`))).toEqual(names);
  expect([new Set(names).size, names.length]).toEqual([limit, limit]);
}

const runs = async (at: Machine, line: string, env?: Record<string, string>): Promise<void> =>
  expect(await at.run(line, env)).toEqual({
    code: 0,
    stdout: expect.any(String),
    stderr: expect.any(String),
  });

describe('a run that is killed at its end', () => {
  it.each([
    ['a.xlsx', 'while it is made', { step: 7 }],
    ['a.xlsx', 'when it is there', { step: 5, file: 'a.xlsx' }],
    ['a.db', 'while it is made', { step: 3 }],
    ['a.db', 'when it is there', { step: 5, file: 'a.db' }],
  ])('makes %s of its own leads, though others have made one since: killed %s', async (file, _, when) => {
    await runs(machine, search('theirs', `--no-history -o ${file}`));
    await killedAtItsEnd(
      when,
      (_, ours) => task(ours, `-o ${file}`),
      async (at, ours) => {
        copyFileSync(machine.pathOf(file), at.pathOf(file));
        await runs(at, task(ours, `-o ${file}`));
        expect(await namesIn(at.pathOf(file))).toEqual(leads(ours, limit));
      },
    );
  });

  it.each([
    ['in the folder', { step: 3, output: 'b.csv' }],
    ['behind the addition', { step: 4, file: 'b.csv' }],
  ])(
    'is added to the file that it was begun for, though it was resumed into another: %s',
    async (_, when) => {
      await killedAtItsEnd(
        when,
        async (at, ours) => {
          service.scripts.set(ours, { cut: 6 });
          expect((await at.run(search(ours, '-o a.csv --append'))).code).toBe(3);
          service.scripts.delete(ours);
          return 'resume -o b.csv --append';
        },
        async (at, ours) => {
          await runs(at, search(ours, '-o a.csv --append'));
          expectAll(await namesIn(at.pathOf('a.csv')), ours);
          const other = await namesIn(at.pathOf('b.csv'));
          if (other.length > 0) expectAll(other, ours);
        },
      );
    },
  );

  const old = 'name\r\nold 1\r\nold 2\r\n';
  const adding = (ours: string): string => search(ours, '-o a.csv --append --columns name');
  const begin = (at: Machine, ours: string): string => {
    at.write('a.csv', old);
    return adding(ours);
  };
  /** Whether the killed run has added its rows. The file is whole at every moment: all of them are there, or none. */
  function isAdded(at: Machine, ours: string): boolean {
    const text = at.read('a.csv');
    expect(text.startsWith(old)).toBe(true);
    if (text !== old) expectAll(rowsBehind(text, old), ours);
    return text !== old;
  }
  const rowsBehind = (text: string, before: string): string[] =>
    text.slice(before.length).split('\r\n').slice(0, -1);

  const others: [name: string, add: (at: Machine) => unknown][] = [
    ['a person', (at) => appendFileSync(at.pathOf('a.csv'), 'theirs\r\n')],
    ['another state folder', (at) => runs(at, adding('theirs'), elsewhere(at))],
  ];
  it.each(others)(
    'while it adds rows has added them once, though %s has added some since',
    async (_, add) => {
      await killedAtItsEnd({ step: 2, output: 'a.csv' }, begin, async (at, ours) => {
        const isThere = isAdded(at, ours);
        await add(at);
        const before = at.read('a.csv');
        const { length } = service.purchases;
        await runs(at, adding(ours));
        const after = at.read('a.csv');
        expect(after.startsWith(before)).toBe(true);
        // Behind the end of the first run, the same command is another purchase.
        const isBought = service.purchases.slice(length).some(({ subject }) => subject === ours);
        if (isThere && !isBought) expect(after).toBe(before);
        else expectAll(rowsBehind(after, before), ours);
      });
    },
  );

  it('while it adds rows, and is resumed into another file, leaves the first as it is', async () => {
    await killedAtItsEnd({ step: 2, output: 'a.csv' }, begin, async (at, ours) => {
      isAdded(at, ours);
      const before = at.read('a.csv');
      const { code } = await at.run('resume -o b.csv --columns name');
      // Where nothing had arrived there is nothing to resume.
      if (at.files().includes('b.csv')) expectAll(await namesIn(at.pathOf('b.csv')), ours);
      expect([[0, 2], before]).toEqual([expect.arrayContaining([code]), at.read('a.csv')]);
      await runs(at, adding('theirs'));
      expect(at.read('a.csv')).toBe(
        before +
          leads('theirs', limit)
            .map((name) => `${name}\r\n`)
            .join(''),
      );
    });
  });
});

it('an input that is the output, through a folder that does not exist, is left as it is', async () => {
  const rows = await startRowService();
  const at = createMachine(rows.url);
  const list = 'objective\nwho 1\nwho 2\n';
  at.write('in.csv', list);
  const { code, stderr } = await at.run('contact email --input in.csv -o sub/../in.csv');
  expect({ code, stderr, input: at.read('in.csv') }).toEqual({
    code: 2,
    stderr: expect.any(String),
    input: list,
  });
  expect({ requests: rows.requests(), files: at.files() }).toEqual({ requests: 0, files: ['in.csv'] });
});
