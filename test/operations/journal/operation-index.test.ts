import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { LockLostError, lockFolder } from '../../../src/files/folder-lock.ts';
import { entry } from '../../../src/operations/journal/entries.ts';
import { createJournal, openJournal } from '../../../src/operations/journal/journal.ts';
import {
  addToIndex,
  createReader,
  filterIndex,
  openIndex,
} from '../../../src/operations/journal/operation-index.ts';
import { readNeeded, readUnfinished } from '../../../src/operations/known-operations.ts';
import { withDigests } from '../../../src/operations/order-digests.ts';
import { intentOf } from '../../helpers/journals.ts';
import { temporaryFolder } from '../../helpers/run.ts';
import { keepingIn } from '../../helpers/stored.ts';

let state: string;
let file: string;
beforeEach(() => {
  state = join(temporaryFolder(), 'state');
  file = join(state, 'index', 'operations.jsonl');
});

async function begin(operationId: string, time: string, ...more: object[]): Promise<void> {
  const journal = await createJournal(keepingIn(state), operationId);
  const intent = intentOf({
    time,
    output: '/leads.csv',
    idempotency_key: `key of ${operationId}`,
    body: '{"entity_type":"company","objective":"x"}',
  });
  await journal.append(await withDigests(intent), { type: 'sent', time }, ...(more as []));
  await journal.close();
}

const begun = async (): Promise<string[]> =>
  [...(await openIndex(keepingIn(state))).newest()]
    .filter(({ is }) => is === 'begun')
    .map(({ op }) => op)
    .reverse();
const unfinished = async (): Promise<string[]> => {
  const ids: string[] = [];
  const fail = (error: Error): void => expect.fail(error.message);
  for await (const { operationId } of readUnfinished(createReader(keepingIn(state)), fail))
    ids.push(operationId);
  return ids;
};
const over = {
  type: 'terminal',
  outcome: 'complete',
  state: 'done',
  ready_count: 0,
  charged: 'no',
  leads: 0,
};
const three = async (): Promise<void> => {
  await begin('op_a', '2026-06-01T00:00:00Z');
  await begin('op_b', '2026-06-02T00:00:00Z', over);
  await begin('op_c', '2026-06-03T00:00:00Z');
};

describe('the index of operations', () => {
  it('has them in the order in which they were begun, whatever clocks and IDs say', async () => {
    await begin('op_z', '2027-06-01T00:00:00Z');
    await begin('op_a', '2026-06-01T00:00:00Z');
    await begin('op_m', '1999-06-01T00:00:00Z');
    expect(await begun()).toEqual(['op_z', 'op_a', 'op_m']);
    expect(await unfinished()).toEqual(['op_m', 'op_a', 'op_z']);
  });

  it('has those that stay in the same order when others are removed', async () => {
    await three();
    await begin('op_d', '2026-06-04T00:00:00Z');
    await filterIndex(keepingIn(state), (op) => op !== 'op_b');
    rmSync(join(state, 'operations', 'op_b'), { recursive: true });
    expect(await begun()).toEqual(['op_a', 'op_c', 'op_d']);
    await begin('op_0', '2026-06-05T00:00:00Z');
    expect(await begun()).toEqual(['op_a', 'op_c', 'op_d', 'op_0']);
  });

  it('says what is open, for which task and key', async () => {
    await begin('op_a', '2026-06-01T00:00:00Z', {
      type: 'created',
      leads_search_id: 'ls_1',
      request_id: null,
    });
    await begin('op_b', '2026-06-02T00:00:00Z', over);
    expect(await unfinished()).toEqual(['op_a']);
    const found = [...(await openIndex(keepingIn(state))).find('task', 'ls_1')];
    expect(found).toEqual([{ is: 'created', op: 'op_a', task: 'ls_1' }]);
  });

  it('says each run of a task that is open, until one has read it to its end', async () => {
    const created = { type: 'created', leads_search_id: 'ls_1', request_id: null };
    await begin('op_a', '2026-06-01T00:00:00Z', created);
    await begin('op_b', '2026-06-02T00:00:00Z', created);
    expect(await unfinished()).toEqual(['op_b', 'op_a']);
    await begin('op_c', '2026-06-03T00:00:00Z', created, over);
    expect(await unfinished()).toEqual([]);
  });

  it('says what is needed to go on: nothing of which the reader had enough', async () => {
    await begin('op_a', '2026-06-01T00:00:00Z');
    await begin('op_b', '2026-06-02T00:00:00Z', { ...over, outcome: 'reader_closed' });
    expect(await unfinished()).toEqual(['op_b', 'op_a']);
    expect(await readNeeded(keepingIn(state))).toEqual(new Set(['op_a']));
  });

  it('is rebuilt if it is missing, damaged in any byte, or cut off', async () => {
    await three();
    const whole = readFileSync(file);
    const damages: (() => void)[] = [
      () => rmSync(join(state, 'index'), { recursive: true }),
      () => truncateSync(file, 0),
      () => writeFileSync(file, 'rubbish\n'),
      ...Array.from({ length: 40 }, (_, at) => () => {
        const bytes = Buffer.from(whole);
        const place = Math.floor((at * (bytes.length - 1)) / 40);
        bytes[place] = (bytes[place] as number) ^ 1;
        writeFileSync(file, bytes);
      }),
    ];
    for (const [at, damage] of damages.entries()) {
      damage();
      expect({ at, begun: await begun() }).toEqual({ at, begun: ['op_a', 'op_b', 'op_c'] });
      expect({ at, open: await unfinished() }).toEqual({ at, open: ['op_c', 'op_a'] });
    }
  });

  describe('is rebuilt if the journals have more: it', () => {
    const stored = (): string => readFileSync(file, 'utf8');
    const linesOf = (text: string): string[] => text.split(/(?<=\n)/);
    const shown = async (): Promise<string[]> =>
      [...(await openIndex(keepingIn(state))).newest()].map(({ is, op }) => `${is} ${op}`).reverse();
    const longer = async (): Promise<void> => {
      await begin('op_z', '2027-06-01T00:00:00Z');
      await begin('op_a', '2026-06-01T00:00:00Z', {
        type: 'created',
        leads_search_id: 'ls_1',
        request_id: null,
      });
      const { journal } = await openJournal(keepingIn(state), 'op_z');
      await journal.append(entry.reserved(new Date('2026-06-02T00:00:00Z'), { credits: 7 }, { credits: 2 }));
      await journal.append(entry.spent({ credits: 5 }, 1));
      await journal.append(entry.part('/leads.csv.abcdef.part'));
      await journal.append(entry.placed('digest of a path'));
      await journal.append(over as never);
      await journal.close();
      await begin('op_m', '1999-06-01T00:00:00Z', { ...over, outcome: 'interrupted' });
    };

    it('lost any number of its last lines', async () => {
      await longer();
      const whole = stored();
      const lines = linesOf(whole);
      const all = await shown();
      expect(all).toEqual([
        ...['begun op_z', 'begun op_a', 'created op_a', 'reserved op_z', 'ended op_z', 'placed op_z'],
        ...['ended op_z', 'begun op_m', 'ended op_m'],
      ]);
      for (let left = 1; left < lines.length; left++) {
        writeFileSync(file, lines.slice(0, left).join(''));
        const found = await shown();
        // What belongs to one operation stays in its order, and so does what begins and reopens them.
        for (const kind of [/begun|reserved/, /op_z/, /op_a/, /op_m/]) {
          const ordered = (list: string[]) => list.filter((line) => kind.test(line));
          expect({ left, ordered: ordered(found) }).toEqual({ left, ordered: ordered(all) });
        }
        expect({ left, found: found.toSorted() }).toEqual({ left, found: all.toSorted() });
        // It is stored, so the next reader has it as it is.
        const made = stored();
        expect(await shown()).toEqual(found);
        expect(stored()).toBe(made);
      }
    });

    it('has the same lines then', async () => {
      await longer();
      const lines = async () => [...(await openIndex(keepingIn(state))).newest()].reverse();
      const all = await lines();
      expect(all).toEqual([
        expect.objectContaining({ is: 'begun', op: 'op_z', kind: 'task run', time: '2027-06-01T00:00:00Z' }),
        expect.objectContaining({
          is: 'begun',
          op: 'op_a',
          like: expect.any(String),
          same: expect.any(String),
        }),
        { is: 'created', op: 'op_a', task: 'ls_1' },
        ...[
          { is: 'reserved', time: '2026-06-02T00:00:00.000Z', worst: { credits: 7 }, moved: { credits: 2 } },
          { is: 'ended', outcome: null, spent: { credits: 5 } },
          { is: 'placed', output: 'digest of a path' },
          { is: 'ended', outcome: 'complete', same: expect.any(String) },
        ].map((line) => ({ ...line, op: 'op_z' })),
        expect.objectContaining({ is: 'begun', op: 'op_m' }),
        { is: 'ended', op: 'op_m', outcome: 'interrupted', same: expect.any(String) },
      ]);
      rmSync(file);
      expect(await lines()).toEqual(all);
    });

    it('was copied before an operation began, or while one did', async () => {
      await begin('op_a', '2026-06-01T00:00:00Z');
      const before = stored();
      const journal = await createJournal(keepingIn(state), 'op_b');
      // Its folder is there, and nothing was stored: nothing was sent.
      expect(await begun()).toEqual(['op_a']);
      expect(stored()).toBe(before);
      await journal.append(await withDigests(intentOf()));
      const index = stored();
      expect(await begun()).toEqual(['op_a', 'op_b']);
      expect(stored()).toBe(index);
      writeFileSync(file, before);
      expect(await begun()).toEqual(['op_a', 'op_b']);
      await journal.close();
    });

    it('is left alone where it says more than the journals, or a living process has not added its line yet', async () => {
      await longer();
      const whole = stored();
      const all = await shown();
      const lock = await lockFolder(join(state, 'operations', 'op_m'), process.pid, 'it');
      writeFileSync(file, linesOf(whole).slice(0, -1).join(''));
      expect(await shown()).toEqual(all.slice(0, -1));
      lock.release();
      expect(await shown()).toEqual(all);
      writeFileSync(file, whole);
      for (const op of ['op_a', 'op_m', 'op_z']) {
        const path = join(state, 'operations', op, 'journal.jsonl');
        truncateSync(path, readFileSync(path, 'utf8').indexOf('\n') + 1);
        expect(await shown()).toEqual(all);
        rmSync(join(state, 'operations', op), { recursive: true });
        expect(await shown()).toEqual(all);
      }
      expect(stored()).toBe(whole);
    });

    it('has the order in which they were written down, whatever the clock said', async () => {
      await begin('op_z', '2027-06-01T00:00:00Z');
      await begin('op_a', '2026-06-01T00:00:00Z');
      await begin('op_m', '1999-06-01T00:00:00Z', over);
      rmSync(file);
      expect(await begun()).toEqual(['op_z', 'op_a', 'op_m']);
      await begin('op_b', '2026-06-02T00:00:00Z');
      rmSync(file);
      expect(await begun()).toEqual(['op_z', 'op_a', 'op_m', 'op_b']);
    });
  });

  it('ignores an incomplete last line, and overwrites it with the next one', async () => {
    await three();
    appendFileSync(file, '{"sha256":"12');
    expect(await begun()).toEqual(['op_a', 'op_b', 'op_c']);
    await begin('op_d', '2026-06-04T00:00:00Z');
    expect(await begun()).toEqual(['op_a', 'op_b', 'op_c', 'op_d']);
    expect(readFileSync(file, 'utf8')).not.toContain('{"sha256":"12{');
  });

  it('is left as it is by a process that has lost its lock', async () => {
    await three();
    const before = readFileSync(file, 'utf8');
    const takeOver = async (): Promise<void> => {
      rmSync(join(state, 'index', 'lock'), { recursive: true });
      appendFileSync(file, 'of the other\n');
    };
    const adding = addToIndex(keepingIn(state), { is: 'created', op: 'op_c', task: 't' }, 0, takeOver);
    await expect(adding).rejects.toThrow(LockLostError);
    expect(readFileSync(file, 'utf8')).toBe(`${before}of the other\n`);
  });

  it('loses nothing where several begin at once', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `op_${String(at).padStart(2, '0')}`);
    await Promise.all(ids.map((id) => begin(id, '2026-06-01T00:00:00Z')));
    expect((await begun()).sort()).toEqual(ids);
  });
});
