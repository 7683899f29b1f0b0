import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { localKeys } from '../../src/local-service/keys.ts';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { clientOf } from '../local-service/running.ts';
import { entriesOf, type Fault, filesOf, inParallel, killedAt, runWith } from './faulty-run.ts';

/** Every boundary of every kind, and every second death; otherwise some of each, and together every fifth. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const leads = 40;
const credits = 100_000_000;
/** Three pages: a first one, one in the middle, and the last. */
const search = ['company', 'fintech', '--limit', String(leads), '--num', '14', '--poll-interval', '0.02'];

interface Kind {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** What the file holds before. */
  readonly before: string | undefined;
}

const kinds: readonly Kind[] = [
  { name: 'jsonl', file: 'leads.jsonl', args: ['--positions'], before: undefined },
  { name: 'csv over an old file', file: 'leads.csv', args: [], before: 'old\r\n' },
  { name: 'json', file: 'leads.json', args: [], before: undefined },
  { name: 'xlsx over an old file', file: 'leads.xlsx', args: [], before: 'old' },
];

const argsOf = ({ file, args }: Kind) => ['task', 'run', ...search, '-o', file, ...args];

let service: StartedService;
let bought = 0;
beforeAll(async () => {
  service = await startService({
    switches: { task_start_ms: 0, task_step_ms: 0, task_step: leads, opening_credits: credits },
  });
});

function machineFor({ file, before }: Kind): Machine {
  const machine = createMachine(service.url, localKeys[0].key);
  if (before !== undefined) machine.write(file, before);
  return machine;
}

/** The result of a complete run, and the number of places where it can fail. */
async function undisturbed(kind: Kind, fault: Fault = { mode: 'count' }) {
  const machine = machineFor(kind);
  const report = join(machine.cwd, '../report');
  const { code, stderr } = await runWith({ ...fault, report }, machine, argsOf(kind));
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(machine.files()).toEqual([kind.file]);
  bought++;
  const counted: { boundaries: number; writes: number } = JSON.parse(readFileSync(report, 'utf8'));
  return { files: comparable(machine), ...counted };
}

/** The files; the task is another one each time. */
function comparable({ cwd }: Machine): Record<string, string> {
  const texts = Object.entries(filesOf(cwd));
  return Object.fromEntries(
    texts.map(([name, text]) => [
      name,
      text.replaceAll(/"leads_search_id":"[^"]*"/g, '"leads_search_id":"…"'),
    ]),
  );
}

/** Whether everything has been done, as far as the journal knows. */
async function isFinished(machine: Machine): Promise<boolean> {
  return (await entriesOf(machine)).some((entries) => entries.at(-1)?.type === 'terminal');
}

/** Continues as a user would: resumes the operation if it exists, otherwise runs the same command again. */
async function toGoOn(machine: Machine, kind: Kind, bySame: boolean): Promise<readonly string[]> {
  const isBegun = (await entriesOf(machine)).length > 0;
  return isBegun && !bySame ? ['resume', '--poll-interval', '0.02'] : argsOf(kind);
}

async function recover(machine: Machine, kind: Kind, bySame: boolean, where: string): Promise<void> {
  if (await isFinished(machine)) return;
  const { code, stderr } = await machine.run(await toGoOn(machine, kind, bySame));
  expect({ where, code, stderr }).toMatchObject({ code: 0 });
}

async function expectOnce(machine: Machine, files: Record<string, string>, where: string): Promise<void> {
  expect({ where, files: comparable(machine) }).toEqual({ where, files });
  const created = (await entriesOf(machine)).flat().filter(({ type }) => type === 'created');
  expect({ where, created: created.length }).toEqual({ where, created: 1 });
  bought++;
}

function range(last: number, step = 1, from = 1): number[] {
  return Array.from({ length: Math.floor((last - from) / step) + 1 }, (_, index) => from + index * step);
}

describe('task run', () => {
  it.each(kinds)(
    'into $name, killed at any boundary, ends with each lead once and one task',
    async (kind) => {
      const { files, boundaries } = await undisturbed(kind);
      expect(boundaries).toBeGreaterThan(60);
      const random = createRandom(kind.name);
      const [step, from] = exhaustive ? [1, 1] : [5 * kinds.length, 1 + 5 * kinds.indexOf(kind)];
      await inParallel(range(boundaries, step, from), async (at) => {
        const machine = machineFor(kind);
        const { code } = await runWith(killedAt(at), machine, argsOf(kind));
        const where = `killed at ${at} of ${boundaries}`;
        // Polling can take a look more or less.
        if (at < boundaries - 10) expect({ where, code }).toEqual({ where, code: null });
        await recover(machine, kind, random() < 0.5, where);
        await expectOnce(machine, files, where);
      });
    },
    exhaustive ? 3_600_000 : 180_000,
  );

  it(
    'killed, and killed again while it is resumed, ends the same',
    async () => {
      const kind = kinds[1] as Kind;
      const { files, boundaries } = await undisturbed(kind);
      const random = createRandom('killed twice');
      const any = (): number => 1 + Math.floor(random() * boundaries);
      const pairs = exhaustive
        ? range(boundaries).flatMap((first) => range(boundaries).map((second) => [first, second]))
        : Array.from({ length: 10 }, () => [any(), any()]);
      await inParallel(pairs, async ([first = 0, second = 0]) => {
        const machine = machineFor(kind);
        await runWith(killedAt(first), machine, argsOf(kind));
        if (!(await isFinished(machine)))
          await runWith(killedAt(second), machine, await toGoOn(machine, kind, false));
        const where = `killed at ${first}, then at ${second}`;
        await recover(machine, kind, false, where);
        await expectOnce(machine, files, where);
      });
    },
    exhaustive ? 36_000_000 : 180_000,
  );

  it.each([
    ['EIO', 1],
    ['ENOSPC', 3],
  ] as const)(
    'with %s at any write stops with 74, and is finished by resume',
    async (mode, from) => {
      const kind = kinds[1] as Kind;
      // At a write that there is not.
      const { files, writes } = await undisturbed(kind, { mode, at: 1_000_000 });
      expect(writes).toBeGreaterThan(20);
      // Every second write is tried with one of the two.
      await inParallel(exhaustive ? range(writes) : range(writes, 4, from), async (at) => {
        const machine = machineFor(kind);
        const { code, stderr } = await runWith({ mode, at }, machine, [...argsOf(kind), '--json-errors']);
        const where = `${mode} at write ${at} of ${writes}: ${stderr}`;
        // What can fail without harm is a sync of a folder.
        expect([0, 74], where).toContain(code);
        if (code === 74) {
          const { error } = JSON.parse(stderr);
          expect(error).toMatchObject({ exit: 74 });
          const [operation = []] = await entriesOf(machine);
          if (operation.some(({ type }) => type === 'created'))
            expect(error.hint).toContain('leadpipe resume');
        }
        const nothingSent = !(await entriesOf(machine)).flat().some(({ type }) => type === 'created');
        if (nothingSent)
          expect({ where, ...(await machine.run(argsOf(kind))) }).toMatchObject({ where, code: 0 });
        else await recover(machine, kind, at % 2 === 0, where);
        await expectOnce(machine, files, where);
      });
    },
    180_000,
  );

  it('has bought every task once', async () => {
    expect(await clientOf(service.url).balance()).toBe(credits - bought * leads);
  });
});
