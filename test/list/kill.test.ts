import { spawn } from 'node:child_process';
import { beforeEach, expect, it } from 'vitest';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { createMachine as createBareMachine, type Machine } from '../helpers/machine.ts';
import { needs } from '../helpers/parts.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import { command, resultOf, run, temporaryFolder } from '../helpers/run.ts';
import { resultOfSignalled } from '../helpers/signalled.ts';

/** A list that is killed again and again: LIST_ROWS rows, LIST_KILLS times; the soak has more of both. */
const rows = Number(process.env.LIST_ROWS ?? 240);
const kills = Number(process.env.LIST_KILLS ?? 10);
const seed = process.env.LEADPIPE_SEED ?? 'kills';
const text = `objective,id\n${Array.from({ length: rows }, (_, at) => `person ${at},${at}`).join('\n')}\n`;

let service: RowService;
beforeEach(async () => {
  service = await startRowService({ latencyMs: 5 });
});

function createMachine(): Machine {
  const machine = createBareMachine(service.url);
  machine.write('list.csv', text);
  return machine;
}

const atOnce = 8;
/** Pending answers: an answer is stored before another row is sent. */
const mostLost = atOnce;

const list = (...more: string[]) => [
  ...['contact', 'email', '--input', 'list.csv', '--concurrency', String(atOnce), '-q'],
  ...more,
];

/** Runs the list, and kills it when that has happened at the service. */
const runKilledWhen = (machine: Machine, args: readonly string[], happened: () => boolean) =>
  resultOfSignalled(machine.start(args), 'SIGKILL', happened);

const allIds = Array.from({ length: rows }, (_, at) => at);
const rowsIn = (output: string): string[] => output.trimEnd().split('\r\n').slice(1);
const idOf = (row: string): number => Number(row.split(',')[1]);
/** The rows whose answer was lost. */
const lostIn = (output: string): number => rowsIn(output).filter((row) => /^[^,]*,\d+,,,./.test(row)).length;

/** Expects an answer in each row, or that it was lost; returns how many were. */
function expectAllRows(output: string): number {
  expect(rowsIn(output).map(idOf)).toEqual(allIds);
  const answered = rowsIn(output).filter(
    (row, at) => row === `person ${at},${at},person.${at}@example.com,,`,
  );
  expect(answered.length + lostIn(output)).toBe(rows);
  return lostIn(output);
}

/** Expects the whole list in the outputs of its shards. */
function expectWhole(outputs: readonly string[]): void {
  const ids = outputs.flatMap(rowsIn).map(idOf);
  expect(ids.sort((a, b) => a - b)).toEqual(allIds);
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

it(`a list of ${rows} rows, killed ${kills} times, ends with every row once, charged once (LEADPIPE_SEED=${seed})`, async () => {
  const machine = createMachine();
  await machine.run(['config', 'set', 'price.contact.email', '1']);
  // The limit is what the rows cost, and holds through all the runs.
  const args = list('-o', 'out.csv', '--max-credits', String(rows));
  const random = createRandom(seed);
  for (let kill = 0; kill < kills; kill++) {
    const until = service.requests() + Math.ceil((random() * 2 * rows) / kills);
    await runKilledWhen(machine, args, () => service.requests() >= until);
  }
  const { code } = await machine.run(args);
  const lost = expectAllRows(machine.read('out.csv'));
  // Rows whose answer was pending when a run was killed: paid for, and reported.
  expect(code).toBe(lost === 0 ? 0 : 3);
  expect(lost).toBeLessThanOrEqual(mostLost * kills);
  expectChargedOnce();
}, 600_000);

it('resume finishes the latest list, in its file and its format, within its limit or another one', async () => {
  const machine = createMachine();
  const elsewhere = { env: machine.env, cwd: temporaryFolder() };
  const resume = (...more: string[]) => run(['resume', ...more], elsewhere);
  const price = (credits: number) => machine.run(['config', 'set', 'price.contact.email', String(credits)]);
  await price(1);
  const args = list('-o', 'out.csv', '--max-credits', String(rows));
  await runKilledWhen(machine, args, () => service.requests() >= 40);
  await price(2);
  const bought = service.charged.size;
  expect(await resume()).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /^To allow it: --max-credits \d+(?:, or buy what fits with --first \d+)?\.$/m,
    ),
  });
  expect(service.charged.size).toBe(bought);
  const { code, stderr } = await resume('--max-credits', String(2 * rows));
  const lost = expectAllRows(machine.read('out.csv'));
  expect({ code, stderr }).toMatchObject({
    code: lost === 0 ? 0 : 3,
    stderr: expect.stringMatching(
      /^Resuming op_\w+: contact email list\.csv, started .*, into \S+out\.csv\. Rows/,
    ),
  });
  expectChargedOnce();
  expect(await resume()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('There is nothing to resume'),
  });
});

it('four shards on four machines, one killed and begun again on an empty machine: the whole, and no row bought twice', async () => {
  const shards = await Promise.all(
    [0, 1, 2, 3].map(async (index) => {
      const args = list('-o', 'out.csv', '--shard', `${index}/4`, '--run', 'october');
      let machine = createMachine();
      if (index === 2) {
        await runKilledWhen(machine, args, () => chargedOf(2).length >= 10);
        machine = createMachine();
      }
      const { code } = await run(args, machine);
      return { code, output: machine.read('out.csv') };
    }),
  );
  expectWhole(shards.map(({ output }) => output));
  // All answers that were bought before are lost.
  expect(lostIn(shards[2]?.output ?? '')).toBeGreaterThanOrEqual(10);
  expect(shards.map(({ code }) => code)).toEqual([0, 0, 3, 0]);
  expectChargedOnce();
}, 600_000);

it.skipIf(!needs('parallel'))(
  'GNU parallel runs the shards: together they settle at the limit of the account',
  async () => {
    await service.close();
    service = await startRowService({ latencyMs: 5, mostAtOnce: 6 });
    const machine = createMachine();
    const shard = [command, ...list('--shard', '{}/4', '-o', 'out-{}.csv')].join(' ');
    const words = ['-j', '4', `${process.execPath} ${shard}`, ':::', '0', '1', '2', '3'];
    const { cwd, env } = machine;
    expect(await resultOf(spawn('parallel', words, { cwd, env, stdio: 'pipe' }))).toMatchObject({ code: 0 });
    expectWhole([0, 1, 2, 3].map((index) => machine.read(`out-${index}.csv`)));
    expect(service.most()).toBe(6);
    expectChargedOnce();
  },
  600_000,
);
