import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { needs } from '../helpers/parts.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import {
  bareEnvironment,
  command,
  pointedAt,
  resultOf,
  run,
  start,
  temporaryFolder,
} from '../helpers/run.ts';

/** A list that is killed again and again: LIST_ROWS rows, LIST_KILLS times; the soak has more of both. */
const rows = Number(process.env.LIST_ROWS ?? 240);
const kills = Number(process.env.LIST_KILLS ?? 10);
const seed = process.env.LEADPIPE_SEED ?? 'kills';
const text = `objective,id\n${Array.from({ length: rows }, (_, at) => `person ${at},${at}`).join('\n')}\n`;

let service: RowService;
beforeEach(async () => {
  service = await startRowService({ latencyMs: 5 });
});

interface Machine {
  readonly cwd: string;
  readonly env: Record<string, string>;
}

function createMachine(): Machine {
  const home = temporaryFolder();
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'list.csv'), text);
  return { cwd, env: { ...bareEnvironment(home), ...pointedAt(service.url) } };
}

const atOnce = 8;
/** Answers that were under way: one that has come is kept before another row is sent. */
const mostLost = atOnce;

const list = (...more: string[]) => [
  'contact',
  'email',
  '--input',
  'list.csv',
  '--concurrency',
  String(atOnce),
  '-q',
  ...more,
];

/** Runs the list, and kills it when that has happened at the service. */
async function runKilledWhen(machine: Machine, args: readonly string[], happened: () => boolean) {
  const child = start(args, machine);
  const ended = resultOf(child);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && !happened()) await new Promise((resolve) => setTimeout(resolve, 2));
  child.kill('SIGKILL');
  return await ended;
}

/** What the rows of an output say: an answer, or that it was lost. */
function rowsOf(output: string): { readonly answered: number; readonly lost: number } {
  const lines = output.trimEnd().split('\r\n').slice(1);
  const ids = lines.map((line) => line.split(',')[1]);
  expect(ids).toEqual(Array.from({ length: rows }, (_, at) => String(at)));
  const answered = lines.filter(
    (line, at) => line === `person ${at},${at},person.${at}@example.com,,`,
  ).length;
  const lost = lines.filter((line) => /^[^,]*,\d+,,,./.test(line)).length;
  expect(answered + lost).toBe(rows);
  return { answered, lost };
}

/** The requests of a shard that were charged. */
function chargedOf(shard: number): string[] {
  const numberOf = (body: string): number => Number(/person (\d+)/.exec(body)?.[1]) + 1;
  return [...service.charged.values()].filter((body) => numberOf(body) % 4 === shard);
}

function expectChargedOnce(): void {
  const bodies = [...service.charged.values()];
  expect(new Set(bodies).size).toBe(bodies.length);
  expect(bodies).toHaveLength(rows);
}

it.each([
  // The limit is what the rows cost, and holds through all the runs.
  ['in a file', ['-o', 'out.csv', '--max-credits', String(rows)]],
  ['added to a file', ['-o', 'out.csv', '--append']],
])(
  `a list of ${rows} rows, killed ${kills} times, ends with every row once, charged once: %s (LEADPIPE_SEED=${seed})`,
  async (_, more) => {
    const machine = createMachine();
    await run(['config', 'set', 'price.contact.email', '1'], machine);
    const random = createRandom(seed);
    for (let kill = 0; kill < kills; kill++) {
      const until = service.requests() + Math.ceil((random() * 2 * rows) / kills);
      await runKilledWhen(machine, list(...more), () => service.requests() >= until);
    }
    const last = await run(list(...more), machine);
    const output = readFileSync(join(machine.cwd, 'out.csv'), 'utf8');
    const { lost } = rowsOf(output);
    // Whose answer was under way when a run was killed: paid for, and said so.
    expect(last.code).toBe(lost === 0 ? 0 : 3);
    expect(lost).toBeLessThanOrEqual(mostLost * kills);
    expectChargedOnce();
  },
  600_000,
);

it('history resume finishes the latest list, in its file and its format, within its limit or another one', async () => {
  const machine = createMachine();
  const elsewhere = { ...machine, cwd: temporaryFolder() };
  const resume = (...more: string[]) => run(['history', 'resume', ...more], elsewhere);
  const price = (credits: number) => run(['config', 'set', 'price.contact.email', String(credits)], machine);
  await price(1);
  const args = list('-o', 'out.csv', '--max-credits', String(rows));
  await runKilledWhen(machine, args, () => service.requests() >= 40);
  await price(2);
  const bought = service.charged.size;
  expect(await resume()).toMatchObject({ code: 5, stderr: expect.stringContaining('Raise --max-credits') });
  expect(service.charged.size).toBe(bought);
  const { code, stderr } = await resume('--max-credits', String(2 * rows));
  const { lost } = rowsOf(readFileSync(join(machine.cwd, 'out.csv'), 'utf8'));
  expect({ code, stderr }).toMatchObject({
    code: lost === 0 ? 0 : 3,
    stderr: expect.stringContaining('contact --input, started'),
  });
  expectChargedOnce();
  expect(await resume()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('There is nothing to resume'),
  });
});

it.each([
  ['on an empty machine', createMachine],
  ['on its own', (machine: Machine) => machine],
])(
  'four shards on four machines, one killed and begun again %s: the whole, and no row bought twice',
  async (_, again) => {
    const shards = await Promise.all(
      [0, 1, 2, 3].map(async (index) => {
        const args = list('-o', 'out.csv', '--shard', `${index}/4`, '--run', 'october');
        let machine = createMachine();
        if (index === 2) {
          await runKilledWhen(machine, args, () => chargedOf(2).length >= 10);
          machine = again(machine);
        }
        const { code } = await run(args, machine);
        return { code, output: readFileSync(join(machine.cwd, 'out.csv'), 'utf8') };
      }),
    );
    const lines = shards.flatMap(({ output }) => output.trimEnd().split('\r\n').slice(1));
    expect(lines.map((line) => Number(line.split(',')[1])).sort((a, b) => a - b)).toEqual(
      Array.from({ length: rows }, (_, at) => at),
    );
    // On its own machine only the answers that were under way are lost; on an empty one, all that were bought before.
    const { code, output } = shards[2] as (typeof shards)[number];
    const lost = output.split('\r\n').filter((line) => /^[^,]*,\d+,,,./.test(line)).length;
    expect(code).toBe(lost === 0 ? 0 : 3);
    if (again === createMachine) expect(lost).toBeGreaterThanOrEqual(10);
    else expect(lost).toBeLessThanOrEqual(mostLost);
    expect(shards.filter((_one, index) => index !== 2).map((one) => one.code)).toEqual([0, 0, 0]);
    expectChargedOnce();
  },
  600_000,
);

it.skipIf(!needs('parallel'))(
  'GNU parallel runs the shards: together they settle at the limit of the account',
  async () => {
    await service.close();
    service = await startRowService({ latencyMs: 5, mostAtOnce: 6 });
    const machine = createMachine();
    const shard = [command, ...list('--shard', '{}/4', '-o', 'out-{}.csv')].join(' ');
    const child = spawn('parallel', ['-j', '4', `${process.execPath} ${shard}`, ':::', '0', '1', '2', '3'], {
      ...machine,
      stdio: 'pipe',
    });
    expect(await resultOf(child)).toMatchObject({ code: 0 });
    const outputs = [0, 1, 2, 3].map((index) => readFileSync(join(machine.cwd, `out-${index}.csv`), 'utf8'));
    const ids = outputs
      .flatMap((output) => output.trimEnd().split('\r\n').slice(1))
      .map((line) => line.split(',')[1]);
    expect(ids.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: rows }, (_, at) => at));
    expect(service.most()).toBe(6);
    expectChargedOnce();
  },
  600_000,
);
