import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createJournal } from '../../../src/operations/journal/journal.ts';
import { openIndex } from '../../../src/operations/journal/operation-index.ts';
import { readUnfinished } from '../../../src/operations/unfinished.ts';
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
    idempotency_key: `key of ${operationId}`,
    body: '{"entity_type":"company","objective":"x"}',
  });
  await journal.append(intent, { type: 'sent', time }, ...(more as []));
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
  for await (const { operationId } of readUnfinished(keepingIn(state), fail)) ids.push(operationId);
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

  it('is made anew where it is missing, damaged in any byte, or cut', async () => {
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

  it('takes a line that was never finished for none, and writes the next one in its place', async () => {
    await three();
    appendFileSync(file, '{"sha256":"12');
    expect(await begun()).toEqual(['op_a', 'op_b', 'op_c']);
    await begin('op_d', '2026-06-04T00:00:00Z');
    expect(await begun()).toEqual(['op_a', 'op_b', 'op_c', 'op_d']);
    expect(readFileSync(file, 'utf8')).not.toContain('{"sha256":"12{');
  });

  it('loses nothing where several begin at once', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `op_${String(at).padStart(2, '0')}`);
    await Promise.all(ids.map((id) => begin(id, '2026-06-01T00:00:00Z')));
    expect((await begun()).sort()).toEqual(ids);
  });
});
