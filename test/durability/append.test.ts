import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { toLine } from '../../src/operations/journal/entries.ts';
import { folderOf } from '../../src/operations/journal/folders.ts';
import { type HistoryRecord, readHistory } from '../../src/operations/journal/history.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../../src/operations/journal/leads.ts';
import { type FaultServer, searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn, readOperations } from '../helpers/stored.ts';
import { atBoundaries, inParallel, runWith } from './faulty-run.ts';

/** Searches that add to a file of other days, killed anywhere, and continued in every way there is. */

/** Every death of each file and of the continuation, and every way to go on from each. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const limit = 40;
/** What each search brings, by its key. The first is cut at the end, so that there is something to continue. */
const brought: Readonly<Record<string, readonly (readonly string[])[]>> = {
  first: ['a', 'b', 'c'].map((name) => leadsOf(name, 5)),
  second: [leadsOf('d', 2), leadsOf('e', 2)],
  third: [leadsOf('f', 3)],
};

interface Kind {
  readonly file: string;
  readonly options: readonly string[];
  /** The rows of other days. */
  readonly before: string;
  rowOf(lead: string): string;
}

const kinds: readonly Kind[] = [
  {
    file: 'leads.jsonl',
    options: [],
    before: '{"name":"old 1"}\n{"name":"old 2"}\n',
    rowOf: (lead) => `${lead}\n`,
  },
  {
    file: 'leads.csv',
    options: ['--columns', 'name,id'],
    before: 'name,id\r\nold 1,1\r\n"old\n2",2\r\n',
    rowOf: (lead) => `"${JSON.parse(lead).name}",12345678901234567890\r\n`,
  },
];

const ways: readonly ((file: string) => readonly string[])[] = [
  () => [],
  (file) => ['-o', file],
  (file) => ['-o', file, '--append'],
];

const waysOf = (nth: number): typeof ways => (exhaustive ? ways : ways.slice(nth % 3, (nth % 3) + 1));

/** A machine, and what it has kept at one moment. */
interface Killed {
  readonly machine: Machine;
  readonly where: string;
  readonly text: string;
  /** The leads that each of its searches has stored, oldest first. */
  readonly searches: readonly {
    readonly id: string;
    readonly stored: readonly string[];
    readonly isSent: boolean;
    readonly isWritten: boolean;
  }[];
}

let server: FaultServer;
beforeAll(async () => {
  server = await startSearchServer(({ headers }) => {
    const key = headers['idempotency-key'] ?? '';
    const batches = brought[key] ?? [];
    return searchFrames(batches).slice(0, key === 'first' ? batches.length : undefined);
  }, 5);
});

/** Names on two lines: a row of CSV is more than a line. */
function leadsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `{"name":"${name}\\n${at}","id":12345678901234567890}`);
}

function machineFor({ file, before }: Kind): Machine {
  const machine = createMachine(server.url);
  machine.write(file, before);
  return machine;
}

/** Makes the machine what it is now again: its journal names its folder, so that a copy elsewhere would not do. */
function rememberOf({ cwd }: Machine): () => void {
  const [folder, kept] = [join(cwd, '..'), temporaryFolder()];
  cpSync(folder, kept, { recursive: true });
  return () => {
    rmSync(folder, { recursive: true });
    cpSync(kept, folder, { recursive: true });
  };
}

function search(machine: Machine, { file, options }: Kind, at?: number) {
  const args = ['search', 'person', 'x', '--limit', String(limit), '--idempotency-key', 'first', '-q'];
  const fault = at === undefined ? undefined : ({ mode: 'kill', at } as const);
  return runWith(fault, machine, [...args, '--append', '-o', file, ...options]);
}

function goOn(machine: Machine, id: string, key: string, way: readonly string[], at?: number) {
  const fault = at === undefined ? undefined : ({ mode: 'kill', at } as const);
  const args = ['search', '--continue', id, '--idempotency-key', key, '-q', ...way];
  return runWith(fault, machine, [...args, '--json-errors']);
}

async function lookAt(machine: Machine, { file }: Kind, where: string): Promise<Killed> {
  const { state } = machine;
  const { operations } = await readOperations(state);
  const searches = await Promise.all(
    operations.map(async ({ operationId, entries }) => {
      const stored: string[] = [];
      const damaged = (line: number): never => expect.fail(`${where}: line ${line} is damaged`);
      const folder = folderOf(state, operationId);
      // Where only the intent is there, nothing was sent.
      const hasLeads = (await sizeOfStoredLeads(folder)) !== undefined;
      if (hasLeads) for await (const some of readStoredLeads(folder, damaged)) stored.push(...some);
      const has = (name: string): boolean => entries.some(({ type }) => type === name);
      return { id: operationId, stored, isSent: has('sent'), isWritten: has('written') };
    }),
  );
  return { machine, where, text: machine.read(file), searches };
}

/** The rows that are not in their place yet. */
function partOf(machine: Machine, { file }: Kind): string | undefined {
  return existsSync(machine.pathOf(`${file}.part`)) ? machine.read(`${file}.part`) : undefined;
}

/** Kills at every boundary, or every nth; what several of them leave the same way is looked at once. */
async function killEverywhere(
  kind: Kind,
  kill: (machine: Machine, at: number) => Promise<{ readonly code: number | null }>,
  step = 1,
): Promise<Killed[]> {
  const states = new Map<string, Killed>();
  await atBoundaries(step, async (at, isPast) => {
    const machine = machineFor(kind);
    if ((await kill(machine, at)).code !== null) isPast();
    const killed = await lookAt(machine, kind, `killed at ${at}`);
    const { operations } = await readOperations(machine.state);
    const entries = operations.map((operation) => operation.entries.map(({ type }) => type));
    const rows = partOf(machine, kind);
    states.set(
      JSON.stringify([killed.text, rows, killed.searches.map(({ stored }) => stored), entries]),
      killed,
    );
  });
  return [...states.values()];
}

/** Old rows to the byte, then each lead once. */
function expectWhole({ machine, where }: Killed, kind: Kind, leads: readonly string[]): void {
  const text = machine.read(kind.file);
  expect({ where, text }).toEqual({ where, text: kind.before + leads.map(kind.rowOf).join('') });
}

describe.each(kinds)('search --append into $file', (kind) => {
  it(
    'killed at any boundary, leaves the rows of other days, and has each lead once when it is continued',
    async () => {
      const step = exhaustive ? 1 : 3;
      const states = await killEverywhere(kind, (machine, at) => search(machine, kind, at), step);
      // Torn rows, stored leads that are not counted yet, and so on.
      expect(states.length).toBeGreaterThan(8);
      // Each state is gone on from in one of the ways, and the next in another.
      await inParallel(states.entries(), async ([nth, killed]) => {
        const { where, text, searches, machine } = killed;
        const [one] = searches;
        const rows = (one?.stored ?? []).map(kind.rowOf).join('');
        expect(`${kind.before}${rows}`.startsWith(text), where).toBe(true);
        if (one === undefined) return;
        const leads = one.stored.length;
        const records: HistoryRecord[] = [];
        for await (const { record } of readHistory(keepingIn(machine.state))) records.push(record);
        const known = { leads, leads_search_id: 'ls_test', charged: 'yes' };
        if (leads > 0) expect({ where, records }).toMatchObject({ where, records: [known] });
        const restore = rememberOf(machine);
        for (const way of waysOf(nth).map((toWay) => toWay(kind.file))) {
          restore();
          const { code, stderr } = await goOn(machine, one.id, 'second', way);
          expect({ where, way, code, stderr }).toEqual({ where, way, code: 0, stderr: '' });
          expectWhole(killed, kind, [...one.stored, ...(brought.second ?? []).flat()]);
          const { operations } = await readOperations(machine.state);
          const asked = JSON.parse(operations[1]?.entries[0].body ?? '');
          expect(asked.limit).toBe(limit - leads);
          if (leads > 0) expect(asked.dedup_service_leads).toEqual(['ls_test']);
        }
      });
    },
    exhaustive ? 3_600_000 : 300_000,
  );
});

it(
  'a search --append that was killed in the middle of a row, and again while it is continued, ends the same',
  async () => {
    const kind = kinds[1] as Kind;
    const step = exhaustive ? 1 : 5;
    const tornAt = await findTorn(kind);
    const states = await killEverywhere(
      kind,
      async (machine, at) => {
        await search(machine, kind, tornAt);
        const [one] = (await lookAt(machine, kind, '')).searches;
        return await goOn(machine, one?.id ?? '', 'second', [], at);
      },
      step,
    );
    expect(states.length).toBeGreaterThan(4);
    await inParallel(states, async (killed) => {
      const { machine, searches, where } = killed;
      let { code, stderr } = await goOn(machine, searches[0]?.id ?? '', 'third', []);
      const next = /(?:already resumed by|is complete:) (op_\w+)/.exec(stderr)?.[1];
      // One for which nothing was sent is as none.
      expect({ where, next }).toEqual({ where, next: searches[1]?.isSent ? searches[1].id : undefined });
      if (next !== undefined) ({ code, stderr } = await goOn(machine, next, 'third', []));
      const isComplete = stderr.includes('is complete');
      expect({ where, code, stderr }).toMatchObject({ where, code: isComplete ? 2 : 0 });
      // All of it had arrived, and the file was not reached: the same command completes it.
      if (partOf(machine, kind) !== undefined) expect(await search(machine, kind)).toMatchObject({ code: 0 });
      const leads = searches.flatMap(({ stored }) => stored);
      // Where everything had arrived, only its place was missing.
      const isWhole = isComplete || searches.at(-1)?.isWritten;
      expectWhole(killed, kind, isWhole ? leads : [...leads, ...(brought.third ?? []).flat()]);
    });
  },
  exhaustive ? 3_600_000 : 300_000,
);

/** A boundary at which half of the rows of a batch are in the .part; the first ones are the command's start. */
async function findTorn(kind: Kind): Promise<number> {
  const torn: number[] = [];
  const places = function* (): Generator<number> {
    for (let at = 40; at < 400 && torn.length === 0; at++) yield at;
  };
  await inParallel(places(), async (at) => {
    const machine = machineFor(kind);
    await search(machine, kind, at);
    const text = partOf(machine, kind) ?? '';
    if (text !== '' && !text.endsWith('\n')) torn.push(at);
  });
  return torn[0] ?? expect.fail('no row was torn');
}

it('what a killed run was adding is completed by a task wait that adds to the same file', async () => {
  const machine = createMachine();
  const run = async (...args: string[]) => await machine.run([...args, '--local', '-q']);
  const created = await run('task', 'create', 'company', 'fintech', '--limit', '2');
  const old = '{"name":"old"}\n';
  machine.write('leads.jsonl', old);
  expect(await run('search', 'company', 'bank', '-o', 'leads.jsonl', '--append')).toMatchObject({ code: 0 });
  const whole = machine.read('leads.jsonl');
  const [search] = (await readOperations(machine.state)).operations.filter((one) => one.isSearch);
  const entries = search?.entries ?? [];
  const adding = entries.findIndex(({ type }) => type === 'adding');
  const journal = join(folderOf(machine.state, search?.operationId ?? ''), 'journal.jsonl');
  writeFileSync(
    journal,
    entries
      .slice(0, adding + 1)
      .map(toLine)
      .join(''),
  );
  machine.write('leads.jsonl.part', whole.slice(old.length));
  machine.write('leads.jsonl', whole.slice(0, old.length + 20));
  const { leads_search_id } = JSON.parse(created.stdout);
  const waited = await run('task', 'wait', leads_search_id, '-o', 'leads.jsonl', '--append');
  expect(waited).toMatchObject({ code: 0, stderr: '' });
  expect(machine.read('leads.jsonl').startsWith(whole)).toBe(true);
  expect(machine.read('leads.jsonl').slice(whole.length).match(/\n/g)).toHaveLength(2);
  expect(machine.files()).toEqual(['leads.jsonl']);
});
