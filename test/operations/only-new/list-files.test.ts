import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Buyer } from '../../../src/operations/buyer.ts';
import { createJournal } from '../../../src/operations/journal/journal.ts';
import { type Identity, identityOf } from '../../../src/operations/only-new/identity.ts';
import {
  type Delivered,
  folded,
  folderOfList,
  openRunFile,
  readList,
  toDelivered,
  toDeliveredLine,
} from '../../../src/operations/only-new/lists.ts';
import { noLock } from '../../helpers/journals.ts';
import { temporaryFolder } from '../../helpers/run.ts';
import { keepingIn } from '../../helpers/stored.ts';

function line(operation: string, names: string, id: string | null = `ls_${operation}`): Delivered {
  const leads = [...names].map((name) => identityOf(JSON.stringify({ name })) as Identity);
  const run = { list: 'l', time: 't', origin: 'o', key_fingerprint: 'f' };
  return { ...run, operation_id: operation, leads_search_id: id, leads };
}
const namesOf = (lines: readonly Delivered[]): string[] =>
  lines.map(({ operation_id, leads }) => `${operation_id} ${leads.map(([name]) => name).join('')}`);
const damaged = (what: string): never => expect.fail(what);

describe('the lines of a list', () => {
  const table: readonly [
    says: string,
    lines: Delivered[],
    expected: string[],
    leads?: number,
    searches?: number,
  ][] = [
    ['one per search', [line('1', 'AB'), line('1', 'C'), line('2', 'D')], ['1 ABC', '2 D']],
    ['each lead once, where it came last', [line('1', 'AB'), line('2', 'BC')], ['1 A', '2 BC']],
    ['a search without new leads, for its ID', [line('1', 'A'), line('2', '')], ['1 A', '2 ']],
    ['of too many leads the oldest go', [line('1', 'AB'), line('2', 'CD')], ['1 B', '2 CD'], 3],
    [
      'of too many searches those without leads',
      [line('1', 'A'), line('2', ''), line('3', ''), line('4', 'B')],
      ['1 A', '3 ', '4 B'],
      9,
      2,
    ],
  ];
  it.each(table)('fold to %s', (_, lines, expected, leads = 9, searches = 9) => {
    const once = folded(lines, { leads, searches });
    expect(namesOf(once)).toEqual(expected);
    expect(folded(once, { leads, searches })).toEqual(once);
  });

  it('cut anywhere are those that were whole, and no damage', () => {
    const lines = [line('1', 'AB'), line('2', 'Cé'), line('3', '')];
    const whole = Buffer.from(lines.map(toDeliveredLine).join(''));
    for (let at = 0; at <= whole.length; at++) {
      const ends = whole.subarray(0, at).filter((byte) => byte === 0x0a).length;
      expect(
        toDelivered(whole.subarray(0, at).toString(), (number) => expect.fail(`${at}: ${number}`)),
      ).toEqual(lines.slice(0, ends));
    }
  });
});

it('a line of a list whose line end is damaged was not cut off', () => {
  const text = [line('1', 'AB'), line('2', 'C')].map(toDeliveredLine).join('');
  const told: number[] = [];
  expect(toDelivered(text.replace(/\n$/, 'x'), (number) => void told.push(number))).toEqual([
    line('1', 'AB'),
  ]);
  expect(told).toEqual([2]);
});

describe('the files of a list', () => {
  const state = () => {
    const stateDir = temporaryFolder();
    return {
      stateDir,
      buyer: { context: keepingIn(stateDir) } as unknown as Buyer,
      folder: folderOfList(stateDir, 'l', 'https://a.example'),
    };
  };
  async function add(buyer: Buyer, folder: string, ...lines: Delivered[]): Promise<void> {
    for (const one of lines) {
      const file = await openRunFile(buyer, folder, one.operation_id, noLock);
      file.append(toDeliveredLine(one));
      await file.close();
    }
  }

  it('are a few, however many runs there were; nothing is lost', async () => {
    const { buyer, folder } = state();
    const lines = Array.from({ length: 70 }, (_, at) =>
      line(`op_${100 + at}`, String.fromCodePoint(0x4e00 + at)),
    );
    await add(buyer, folder, ...lines);
    expect(await readList(folder, damaged)).toEqual(lines);
    expect(readdirSync(folder).length).toBeLessThanOrEqual(21);
  });

  it('stay where they can not be merged', async () => {
    const { buyer, folder } = state();
    const lines = Array.from({ length: 20 }, (_, at) =>
      line(`op_${100 + at}`, String.fromCodePoint(0x4e00 + at)),
    );
    await add(buyer, folder, ...lines);
    mkdirSync(join(folder, 'folded.jsonl.part'));
    await expect(add(buyer, folder, line('op_200', 'Z'))).rejects.toMatchObject({ outcome: 'local_io' });
    expect(await readList(folder, damaged)).toEqual(lines);
  });

  it('of active runs are left alone, and so is damage', async () => {
    const { stateDir, buyer, folder } = state();
    const journal = await createJournal(keepingIn(stateDir), 'op_1');
    const running = await openRunFile(buyer, folder, 'op_1', noLock);
    const lines = Array.from({ length: 30 }, (_, at) => line(`op_${100 + at}`, 'A'));
    await add(buyer, folder, ...lines);
    running.append(toDeliveredLine(line('op_1', 'R')));
    expect(namesOf(await readList(folder, damaged))[0]).toBe('op_1 R');
    await running.close();
    await journal.close();
    const path = join(folder, 'op_1.jsonl');
    const text = `x${readFileSync(path, 'utf8')}`;
    writeFileSync(path, text);
    await add(buyer, folder, ...lines.map((one) => ({ ...one, operation_id: `${one.operation_id}_2` })));
    expect(readFileSync(path, 'utf8')).toBe(text);
    const told: string[] = [];
    const all = await readList(folder, (what) => void told.push(what));
    expect(told).toEqual([`line 1 of ${path} is damaged`]);
    expect(all.length).toBeGreaterThan(30);
  });

  it('a torn line is cut off when its run goes on', async () => {
    const { buyer, folder } = state();
    await add(buyer, folder, line('op_1', 'A'));
    appendFileSync(join(folder, 'op_1.jsonl'), toDeliveredLine(line('op_1', 'B')).slice(0, 40));
    await add(buyer, folder, line('op_1', 'C'));
    expect(namesOf(await readList(folder, damaged))).toEqual(['op_1 A', 'op_1 C']);
  });

  it('ten at once, while they are folded, lose nothing', async () => {
    const { buyer, folder } = state();
    const lines = Array.from({ length: 50 }, (_, at) =>
      line(`op_${100 + at}`, String.fromCodePoint(0x4e00 + at)),
    );
    const lanes = Array.from({ length: 10 }, (_, lane) => lines.filter((__, at) => at % 10 === lane));
    await Promise.all(lanes.map((some) => add(buyer, folder, ...some)));
    expect(await readList(folder, damaged)).toEqual(lines);
  });

  it('a link in place of a file is not followed', async () => {
    const { buyer, folder, stateDir } = state();
    mkdirSync(folder, { recursive: true });
    symlinkSync(join(stateDir, 'elsewhere'), join(folder, 'op_1.jsonl'));
    await expect(openRunFile(buyer, folder, 'op_1', noLock)).rejects.toMatchObject({ outcome: 'local_io' });
    expect(existsSync(join(stateDir, 'elsewhere'))).toBe(false);
  });
});
