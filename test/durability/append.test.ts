import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type EntryOf, toLine } from '../../src/operations/journal/entries.ts';
import { folderOf } from '../../src/operations/journal/folders.ts';
import { readStoredLeads, sizeOfStoredLeads } from '../../src/operations/journal/leads.ts';
import { type HistoryRecord, readHistory } from '../../src/operations/report/history.ts';
import { execute, rowsOf } from '../helpers/databases.ts';
import { type FaultServer, searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn, readOperations } from '../helpers/stored.ts';
import { atBoundaries, inParallel, killedAt, runWith } from './faulty-run.ts';

/** Searches that add to a file of other days, killed anywhere, and continued in every way there is. */

/** Every death of each file, and every way to go on from each. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const limit = 40;
/** What the search brings, which is cut then, and what is brought when it is continued. */
const first = ['a', 'b', 'c'].map((name) => leadsOf(name, 5));
const second = [leadsOf('d', 2), leadsOf('e', 2)];

interface Kind {
  readonly file: string;
  readonly options: readonly string[];
  /** The rows of other days. */
  readonly before: string;
  rowOf(lead: string): string;
  /** How the file is made, and what is read of it, where it is not text. */
  readonly write?: (path: string, before: string) => void;
  readonly read?: (path: string) => string;
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
  {
    file: 'leads.db',
    options: ['--columns', 'name,id'],
    before: 'old|1;',
    rowOf: (lead) => `${JSON.parse(lead).name}|12345678901234567890;`,
    write: (path) =>
      execute(path, "CREATE TABLE leads (name TEXT, id TEXT); INSERT INTO leads VALUES ('old', '1')"),
    read: (path) =>
      rowsOf(path, 'leads')
        .map(({ name, id }) => `${name}|${id};`)
        .join(''),
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
  /** The search, if it was begun, and the leads that it has stored. */
  readonly id: string | undefined;
  readonly stored: readonly string[];
}

let server: FaultServer;
beforeAll(async () => {
  server = await startSearchServer(
    ({ headers }) =>
      headers['idempotency-key'] === 'first'
        ? searchFrames(first).slice(0, first.length)
        : searchFrames(second),
    5,
  );
});

/** Names on two lines: a row of CSV is more than a line. */
function leadsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `{"name":"${name}\\n${at}","id":12345678901234567890}`);
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

function textOf(machine: Machine, { file, read }: Kind): string {
  return read === undefined ? machine.read(file) : read(machine.pathOf(file));
}

async function lookAt(machine: Machine, kind: Kind, where: string) {
  const { file } = kind;
  const [operation] = (await readOperations(machine.state)).operations;
  const id = operation?.operationId;
  const stored: string[] = [];
  const damaged = (line: number): never => expect.fail(`${where}: line ${line} is damaged`);
  const folder = folderOf(machine.state, id ?? '');
  // Where only the intent is there, nothing was sent.
  const hasLeads = id !== undefined && (await sizeOfStoredLeads(folder)) !== undefined;
  if (hasLeads) for await (const some of readStoredLeads(folder, damaged)) stored.push(...some);
  // The rows that are not in their place yet.
  const part = existsSync(machine.pathOf(`${file}.part`)) ? machine.read(`${file}.part`) : undefined;
  const killed: Killed = { machine, where, text: textOf(machine, kind), id, stored };
  return {
    killed,
    state: JSON.stringify([killed.text, part, stored, operation?.entries.map(({ type }) => type)]),
  };
}

/** Kills at every boundary, or every third; what several of them leave the same way is looked at once. */
async function killEverywhere(kind: Kind): Promise<Killed[]> {
  const { file, options, before } = kind;
  const args = ['search', 'person', 'x', '--limit', String(limit), '--idempotency-key', 'first', '-q'];
  const states = new Map<string, Killed>();
  await atBoundaries(exhaustive ? 1 : 3, async (at, isPast) => {
    const machine = createMachine(server.url);
    if (kind.write === undefined) machine.write(file, before);
    else kind.write(machine.pathOf(file), before);
    const search = [...args, '--append', '-o', file, ...options];
    if ((await runWith(killedAt(at), machine, search)).code !== null) isPast();
    const { killed, state } = await lookAt(machine, kind, `killed at ${at}`);
    states.set(state, killed);
  });
  return [...states.values()];
}

it.each(kinds)(
  'search --append into $file, killed at any boundary, leaves the rows of other days, and has each lead once when it is continued',
  async (kind) => {
    const states = await killEverywhere(kind);
    // Torn rows, stored leads that are not counted yet, and so on.
    expect(states.length).toBeGreaterThan(8);
    // Each state is gone on from in one of the ways, and the next in another.
    await inParallel(states.entries(), async ([nth, { where, text, id, stored, machine }]) => {
      const toRows = (leads: readonly string[]): string => leads.map(kind.rowOf).join('');
      expect(`${kind.before}${toRows(stored)}`.startsWith(text), where).toBe(true);
      if (id === undefined) return;
      const leads = stored.length;
      const records: HistoryRecord[] = [];
      for await (const { record } of readHistory(keepingIn(machine.state))) records.push(record);
      const known = { leads, leads_search_id: 'ls_test', charged: 'yes' };
      if (leads > 0) expect({ where, records }).toMatchObject({ where, records: [known] });
      const restore = rememberOf(machine);
      for (const way of waysOf(nth).map((toWay) => toWay(kind.file))) {
        restore();
        const args = ['resume', id, '-q', ...way];
        const { code, stderr } = await machine.run(args);
        if (leads === 0) {
          // Nothing has arrived, so that there is no rest: the whole of it is a new purchase.
          expect({ where, way, code, stderr }).toMatchObject({
            code: 2,
            stderr: expect.stringContaining('Nothing was bought'),
          });
          expect(textOf(machine, kind)).toBe(text);
          continue;
        }
        expect({ where, way, code, stderr }).toEqual({ where, way, code: 0, stderr: '' });
        // Old rows to the byte, then each lead once.
        const whole = kind.before + toRows([...stored, ...second.flat()]);
        expect({ where, text: textOf(machine, kind) }).toEqual({ where, text: whole });
        const { operations } = await readOperations(machine.state);
        // It is one operation: its rest is a part of it.
        expect({ where, way, operations: operations.map(({ operationId }) => operationId) }).toEqual({
          where,
          way,
          operations: [id],
        });
        const rest = operations[0]?.entries.find(({ type }) => type === 'rest') as EntryOf<'rest'>;
        const asked = JSON.parse(rest.body);
        expect(asked.limit).toBe(limit - leads);
        expect(asked.dedup_service_leads).toEqual(['ls_test']);
      }
    });
  },
  exhaustive ? 3_600_000 : 300_000,
);

it('what a killed run was adding is completed by a task wait that adds to the same file', async () => {
  const machine = createMachine();
  const run = async (...args: string[]) => await machine.run([...args, '--local', '-q']);
  const created = await run('task', 'create', 'company', 'fintech', '--limit', '2');
  const old = '{"name":"old"}\n';
  machine.write('leads.jsonl', old);
  expect(await run('search', 'company', 'bank', '-o', 'leads.jsonl', '--append')).toMatchObject({ code: 0 });
  const whole = machine.read('leads.jsonl');
  const [search] = (await readOperations(machine.state)).operations.filter(
    (one) => one.entries[0].command === 'search',
  );
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
