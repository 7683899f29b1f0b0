import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { EntryOf } from '../../src/operations/journal/entries.ts';
import { folderOf } from '../../src/operations/journal/folders.ts';
import { readReceived } from '../../src/operations/journal/received.ts';
import { fold } from '../../src/operations/operation.ts';
import { type HistoryRecord, readHistory } from '../../src/operations/report/history.ts';
import { execute, rowsOf } from '../helpers/databases.ts';
import { type FaultServer, searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn, readOperations } from '../helpers/stored.ts';
import { atBoundaries, filesOf, inParallel, killedAt, runWith } from './faulty-run.ts';

/** What the end of a rest may say that has fewer leads than were asked for. */
const mayBeLost = expect.stringMatching(/^(warning: Leads that the stopped search sent .*\n)?$/);

/** Searches that add to a file of other days, killed anywhere, and continued in every way there is. */

/** Every death of each file, and every way to go on from each. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const limit = 40;
/** The leads of the search, and those of its rest if it was killed before it had all. */
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
  /** Whether it knows that these are all. */
  readonly isAnswered: boolean;
  readonly isComplete: boolean;
}

let server: FaultServer;
beforeAll(async () => {
  server = await startSearchServer(
    ({ headers }) => searchFrames(headers['idempotency-key'] === 'first' ? first : second),
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
  const [operation] = (await readOperations(machine.state)).operations;
  const id = operation?.operationId;
  const stored: string[] = [];
  const damaged = (line: number): never => expect.fail(`${where}: line ${line} is damaged`);
  const folder = folderOf(machine.state, id ?? '');
  for await (const some of readReceived(folder, damaged)) stored.push(...some.map(({ text }) => text));
  const known = operation && fold('', operation.entries);
  const [isAnswered, isComplete] = [known?.progress.isAnswered === true, known?.isComplete === true];
  const killed: Killed = { machine, where, text: textOf(machine, kind), id, stored, isAnswered, isComplete };
  const { files, entries } = { files: machine.files(), entries: operation?.entries.map(({ type }) => type) };
  return { killed, state: JSON.stringify([killed.text, files, stored, entries]) };
}

/** Kills at every boundary, or every fifth; what several of them leave the same way is looked at once. */
async function killEverywhere(kind: Kind): Promise<Killed[]> {
  const { file, options, before } = kind;
  const args = ['search', 'person', 'x', '--limit', String(limit), '--idempotency-key', 'first', '-q'];
  const states = new Map<string, Killed>();
  await atBoundaries(exhaustive ? 1 : 5, async (at, isPast) => {
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
    expect(states.filter(({ isAnswered, text }) => isAnswered && text !== kind.before)).not.toHaveLength(0);
    // Each state is gone on from in one of the ways, and the next in another.
    await inParallel(states.entries(), async ([nth, killed]) => {
      const { where, text, id, stored, machine, isAnswered, isComplete } = killed;
      const toText = (leads: readonly string[]): string => kind.before + leads.map(kind.rowOf).join('');
      // The file is whole at every moment.
      const [before, whole] = [kind.before, toText(first.flat())];
      expect(text, where).toBe(text === before ? before : whole);
      if (text === whole) expect({ where, isAnswered }).toEqual({ where, isAnswered: true });
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
        if (leads === 0 || isComplete) {
          // Where nothing has arrived, there is no rest: the whole of it is a new purchase.
          expect({ where, way, code, stderr }).toMatchObject({
            code: 2,
            stderr: expect.stringContaining('Nothing was bought'),
          });
          expect({ where, text: textOf(machine, kind) }).toEqual({
            where,
            text: isComplete ? whole : before,
          });
          continue;
        }
        expect({ where, way, code, stderr }).toEqual({ where, way, code: 0, stderr: mayBeLost });
        // Old rows to the byte, then each lead once.
        const all = toText(isAnswered ? stored : [...stored, ...second.flat()]);
        expect({ where, text: textOf(machine, kind) }).toEqual({ where, text: all });
        expect({ where, files: Object.keys(filesOf(machine.cwd)) }).toEqual({ where, files: [kind.file] });
        const { operations } = await readOperations(machine.state);
        // It is one operation: its rest is a part of it.
        expect({ where, way, operations: operations.map(({ operationId }) => operationId) }).toEqual({
          where,
          way,
          operations: [id],
        });
        const rest = operations[0]?.entries.find(({ type }) => type === 'rest') as
          | EntryOf<'rest'>
          | undefined;
        const requested = rest && JSON.parse(rest.body);
        expect({ where, limit: requested?.limit, excluded: requested?.dedup_service_leads }).toEqual(
          isAnswered ? { where } : { where, limit: limit - leads, excluded: ['ls_test'] },
        );
      }
    });
  },
  exhaustive ? 3_600_000 : 300_000,
);
