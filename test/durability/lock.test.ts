import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { isAlive, lockFolder } from '../../src/files/folder-lock.ts';
import { createJournal, type Intent, openJournal } from '../../src/operations/journal/journal.ts';
import { bundle } from '../helpers/bundle.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn, readOperations } from '../helpers/stored.ts';

let worker = '';
const races = 1000;
const processes = 4;

beforeAll(async () => {
  worker = await bundle(join(import.meta.dirname, 'lock-worker.ts'));
});

const intent: Intent = {
  type: 'intent',
  time: '2026-01-05T12:00:00.000Z',
  command: 'task run',
  profile: null,
  origin: 'local',
  key_fingerprint: 'abc',
  output: null,
  options: {},
};

/** An operation whose owner died in the middle of a line. */
async function createAbandoned(stateDir: string, operationId: string): Promise<string> {
  const journal = await createJournal(keepingIn(stateDir), operationId);
  await journal.append(intent);
  await journal.close();
  const at = join(stateDir, 'operations', operationId);
  mkdirSync(join(at, 'lock'));
  writeFileSync(join(at, 'lock', '999999999.1.dead'), '');
  appendFileSync(join(at, 'journal.jsonl'), '{"sha256":"');
  return at;
}

describe('processes that race for one operation', () => {
  it(`a thousand times: one at a time, a dead owner or not, and no line is lost`, async () => {
    const stateDir = temporaryFolder();
    const ids = Array.from({ length: races / processes }, (_, index) => `op_${index}`);
    for (const id of ids) await createAbandoned(stateDir, id);
    const children = Array.from({ length: processes }, () =>
      spawn(process.execPath, [worker, stateDir], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    const lines = children.map((child) => createInterface({ input: child.stdout })[Symbol.asyncIterator]());
    let refusals = 0;
    for (const id of ids) {
      for (const child of children) child.stdin.write(`${id}\n`);
      for (const line of lines) refusals += JSON.parse((await line.next()).value ?? '{}').refusals;
    }
    const ended = children.map((child: ChildProcess) => once(child, 'exit'));
    for (const child of children) child.stdin.end();
    expect((await Promise.all(ended)).map(([code]) => code)).toEqual(Array(processes).fill(0));

    const { operations } = await readOperations(stateDir);
    expect(operations).toHaveLength(ids.length);
    for (const { entries } of operations) {
      expect(entries.map((entry) => (entry.type === 'page' ? entry.next : entry.type))).toEqual([
        'intent',
        1,
        2,
        3,
        4,
      ]);
    }
    for (const id of ids) expect(readdirSync(join(stateDir, 'operations', id))).toEqual(['journal.jsonl']);
    // Otherwise nothing was raced for.
    expect(refusals).toBeGreaterThan(races / 10);
  }, 120_000);
});

describe('the lock of an operation', () => {
  it('is refused at once, naming the process, and given when it is released', async () => {
    const at = temporaryFolder();
    const lock = await lockFolder(at, process.pid, 'this operation');
    await expect(lockFolder(at, process.pid, 'this operation')).rejects.toMatchObject({
      outcome: 'temporary',
      message: `process ${process.pid} is working on this operation`,
      details: { type: 'operation_locked', charged: 'no' },
    });
    await lock.release();
    await (await lockFolder(at, process.pid, 'this operation')).release();
    expect(readdirSync(at)).toEqual([]);
  });

  it('of a process that was killed, or of an earlier one with its pid, is taken over', async () => {
    for (const owner of ['999999999.1.x', `${process.pid}.1.x`]) {
      if (owner.startsWith(`${process.pid}`) && process.platform !== 'linux') continue;
      const at = temporaryFolder();
      mkdirSync(join(at, 'lock'));
      mkdirSync(join(at, `lock-${owner}`));
      writeFileSync(join(at, 'lock', owner), '');
      const lock = await lockFolder(at, process.pid, 'this operation');
      expect(readdirSync(at)).toEqual(['lock']);
      await lock.release();
    }
  });

  it.each([
    ['this process', `${process.pid}..x`, true],
    ['no process', '999999999..x', false],
    ['a pid that was given to another process since', `${process.pid}.1.x`, process.platform !== 'linux'],
    ['nonsense', 'nonsense', false],
  ])('%s', async (_, owner, alive) => {
    expect(isAlive(owner, temporaryFolder())).toBe(alive);
  });
});

describe('a journal that is opened again', () => {
  it('goes on behind the last whole line', async () => {
    const stateDir = temporaryFolder();
    await createAbandoned(stateDir, 'op_1');
    const { journal, operation } = await openJournal(keepingIn(stateDir), 'op_1');
    expect(operation).toEqual({ operationId: 'op_1', entries: [intent] });
    await journal.append({ type: 'opened', output_length: 7 });
    await expect(openJournal(keepingIn(stateDir), 'op_1')).rejects.toMatchObject({ outcome: 'temporary' });
    await journal.close();
    const [stored] = (await readOperations(stateDir)).operations;
    expect(stored?.entries).toEqual([intent, { type: 'opened', output_length: 7 }]);
  });

  it.each(['op_none', '../op_1', ''])('is none: %j', async (operationId) => {
    const stateDir = temporaryFolder();
    await createAbandoned(stateDir, 'op_1');
    await expect(openJournal(keepingIn(stateDir), operationId)).rejects.toMatchObject({
      outcome: 'not_found',
    });
  });
});
