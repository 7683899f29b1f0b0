import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Intent,
  type JournalEntry,
  toEntries,
  toLine,
} from '../../../src/operations/journal/entries.ts';
import { createJournal, openJournal } from '../../../src/operations/journal/journal.ts';
import { fold } from '../../../src/operations/operation.ts';
import { toKnownTasks } from '../../../src/operations/report/tasks.ts';
import { bundle } from '../../helpers/bundle.ts';
import { intentOf, pageOf } from '../../helpers/journals.ts';
import { canMount, temporaryFolder } from '../../helpers/run.ts';
import { keepingIn, readOperations } from '../../helpers/stored.ts';

const intent = intentOf({
  idempotency_key: 'k',
  body: '{"entity_type":"company","objective":"x\\n日","limit":1}',
});
const created: JournalEntry = { type: 'created', leads_search_id: 'ls_1', request_id: null };
const page = pageOf(0, 3);
const done: JournalEntry = { type: 'terminal', outcome: 'complete', state: 'done', ready_count: 9 };

async function write(stateDir: string, id: string, ...entries: JournalEntry[]): Promise<string> {
  const journal = await createJournal(keepingIn(stateDir), id);
  for (const entry of entries) await journal.append(entry);
  await journal.close();
  return join(stateDir, 'operations', id, 'journal.jsonl');
}

describe('the journal', () => {
  it('gives back what was written, in the order of operation IDs', async () => {
    const state = temporaryFolder();
    await write(state, 'op_2', intent, created);
    await write(state, 'op_1', intent, page, done);
    expect(await readOperations(state)).toMatchObject({
      operations: [
        { operationId: 'op_1', entries: [intent, page, done] },
        { operationId: 'op_2', entries: [intent, created] },
      ],
      damages: [],
    });
  });

  it('has no operations without a folder, and ignores other files', async () => {
    const state = temporaryFolder();
    expect(await readOperations(state)).toEqual({ operations: [], damages: [] });
    mkdirSync(join(state, 'operations', 'op_0'), { recursive: true });
    writeFileSync(join(state, 'operations', '.DS_Store'), 'x');
    expect(await readOperations(state)).toEqual({ operations: [], damages: [] });
  });

  it('cut anywhere gives the lines that were whole', () => {
    const lines = [intent, created, page, done].map(toLine);
    const whole = Buffer.from(lines.join(''));
    for (let at = 0; at <= whole.length; at++) {
      const cut = whole.subarray(0, at);
      const { damage, entries } = toEntries(cut.toString(), 'f');
      expect(damage).toBeUndefined();
      expect(entries).toHaveLength(cut.filter((byte) => byte === 0x0a).length);
    }
  });

  it('with any byte changed is never read as something else', () => {
    const entries = [intent, created, page, done];
    const whole = Buffer.from(entries.map(toLine).join(''));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] as number) ^ change;
        const { damage, entries: read } = toEntries(damaged.toString(), 'f');
        // Nothing is lost without a word.
        expect(read).toEqual(entries.slice(0, read.length));
        if (read.length === entries.length) return expect(damage).toBeUndefined();
        expect(damage).toMatchObject({
          outcome: 'configuration',
          message: `line ${read.length + 1} of f is damaged`,
        });
      }),
      { numRuns: 2000 },
    );
  });

  it('names the file and the line that is damaged, and goes on with the others', async () => {
    const state = temporaryFolder();
    const path = await write(state, 'op_1', intent, created, done);
    await write(state, 'op_2', intent);
    writeFileSync(path, readFileSync(path, 'utf8').replace('ls_1', 'ls_2'));
    expect(await readOperations(state)).toMatchObject({
      operations: [{ operationId: 'op_2' }],
      damages: [{ outcome: 'configuration', message: `line 2 of ${path} is damaged` }],
    });
  });

  it('never goes into a folder that is there already', async () => {
    const state = temporaryFolder();
    await write(state, 'op_1', intent);
    await expect(createJournal(keepingIn(state), 'op_1')).rejects.toMatchObject({ outcome: 'local_io' });
  });
});

describe('the spare file of a journal', () => {
  it('is there while a process has the operation, and no longer', async () => {
    const state = temporaryFolder();
    const folder = join(state, 'operations', 'op_1');
    const names = () => readdirSync(folder).filter((name) => name !== 'lock');
    const journal = await createJournal(keepingIn(state), 'op_1');
    await journal.append(intent);
    expect(names()).toEqual(['journal.jsonl', 'spare']);
    const { mode, size } = statSync(join(folder, 'spare'));
    // Room for the last entries.
    expect([mode & 0o777, size]).toEqual([0o600, 8192]);
    await journal.end(created, done);
    await journal.close();
    expect(names()).toEqual(['journal.jsonl']);
    const opened = await openJournal(keepingIn(state), 'op_1');
    expect(names()).toEqual(['journal.jsonl', 'spare']);
    await opened.journal.close();
    expect(names()).toEqual(['journal.jsonl']);
  });

  it('is no part of an operation that was killed before it had begun', async () => {
    const state = temporaryFolder();
    const folder = join(state, 'operations', 'op_1');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'journal.jsonl'), '');
    writeFileSync(join(folder, 'spare'), '.'.repeat(8192));
    expect(await readOperations(state)).toEqual({ operations: [], damages: [] });
  });

  /** What is told by full-disk-worker.ts, on a disk of its own. */
  async function onFullDisk(...args: readonly string[]) {
    const disk = temporaryFolder();
    const worker = await bundle(join(import.meta.dirname, 'full-disk-worker.ts'));
    const line = 'mount -t tmpfs -o size=128k none "$1" && exec "$0" "$2" "$1" $3';
    const all = ['-m', 'sh', '-c', line, process.execPath, disk, worker, ...args];
    return JSON.parse(execFileSync('unshare', all, { encoding: 'utf8' }));
  }

  const noSpace = expect.stringMatching(/can't store this operation in \S+journal\.jsonl: .*no space left/);

  it.runIf(canMount())('makes room for the last entries where the disk is full', async () => {
    const told = await onFullDisk();
    expect(told).toMatchObject({
      ...{ noted: noSpace, appended: 'local_io', ended: 'written', endedAgain: 'written' },
      ...{ isThere: true, isGone: true, isWhole: true },
      types: ['intent', 'answered', 'terminal', 'balance'],
      lines: ['ended', 'begun'],
      names: ['journal.jsonl'],
    });
    expect(told.notes).toBeGreaterThan(1);
  });

  it.runIf(canMount())(
    'leaves, where even that is not enough, what the journal said before, and an error',
    async () => {
      expect(await onFullDisk('without')).toMatchObject({
        ...{ noted: noSpace, appended: 'local_io', ended: 'local_io', endedAgain: 'local_io' },
        ...{ types: ['intent'], lines: ['begun'], names: ['journal.jsonl'] },
      });
    },
  );
});

describe('the tasks of a journal', () => {
  const operation = (operationId: string, ...entries: JournalEntry[]) =>
    fold(operationId, entries as [Intent, ...JournalEntry[]]);
  const { idempotency_key: _, body: __, ...bare } = intent;
  const waiting: Intent = { ...bare, command: 'task wait', leads_search_id: 'ls_1', options: { pts: 4 } };

  it('one that was created and read', () => {
    expect(toKnownTasks([operation('op_1', intent, created, page)])).toEqual([
      {
        operation_id: 'op_1',
        time: intent.time,
        leads_search_id: 'ls_1',
        entity_type: 'company',
        objective: 'x\n日',
        state: 'running',
        position: 3,
        ready_count: 9,
        limit: 1,
        output: null,
      },
    ]);
  });

  const rows: readonly [name: string, operations: ReturnType<typeof operation>[], expected: object[]][] = [
    ['whose answer was lost', [operation('op_1', intent)], [{ leads_search_id: null, state: null }]],
    ['that was refused', [operation('op_1', intent, { ...done, outcome: 'credits', state: null })], []],
    ['that was waited for and never seen', [operation('op_1', waiting)], []],
    [
      'that was waited for later is one row, with what is known of it',
      [operation('op_1', intent, created, page), operation('op_2', waiting, pageOf(0, 9), done)],
      [{ operation_id: 'op_2', objective: 'x\n日', state: 'done', position: 9 }],
    ],
    [
      'newest first',
      [
        operation('op_1', intent, created),
        operation('op_2', intent, { ...created, leads_search_id: 'ls_2' } as JournalEntry),
      ],
      [{ leads_search_id: 'ls_2' }, { leads_search_id: 'ls_1' }],
    ],
    ['of other commands', [operation('op_1', { ...intent, command: 'contact' }, done)], []],
  ];
  it.each(rows)('one %s', (_name, operations, expected) => {
    const known = toKnownTasks(operations);
    expect(known).toHaveLength(expected.length);
    expect(known).toMatchObject(expected);
  });
});
