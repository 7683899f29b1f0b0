import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { LocalIoError } from '../../../src/errors.ts';
import { type LogState, toCrc32Line } from '../../../src/files/line-log.ts';
import type { Records } from '../../../src/json/text.ts';
import {
  countReceived,
  openReceived,
  type ReceivedRecord,
  readAnswer,
  readReceived,
  receivedFile,
  sizeOfReceived,
  storeGarbled,
} from '../../../src/operations/journal/received.ts';
import { noLock } from '../../helpers/journals.ts';
import { temporaryFolder } from '../../helpers/run.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, receivedFile);
});

async function add(records: Records, isNew?: readonly boolean[], known?: LogState): Promise<void> {
  const received = await openReceived(folder, noLock, known);
  received.append(records, isNew);
  await received.sync();
  await received.close();
}

const noDamage = (line: number, where: string): void => expect.fail(`line ${line} of ${where}`);

/** What is read, how many at a time, and how far that is in the file. */
async function read(max?: number, damaged = noDamage) {
  const records: ReceivedRecord[] = [];
  const batches: number[] = [];
  const reading = readReceived(folder, damaged, max);
  for (;;) {
    const step = await reading.next();
    if (step.done) return { records, batches, state: step.value, texts: records.map(({ text }) => text) };
    batches.push(step.value.length);
    records.push(...step.value);
  }
}

const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => `{"n":${from + at}}`);

describe('what was received', () => {
  it('comes back to the byte, also where the service wrote a record on several lines', async () => {
    const objects = ['{"a":12345678901234567890}', '{"a":\n1}', '{"a":\r\n 1.10}', '{"a":\r1}'];
    const records = [...objects, '{"text":"\u2028 é 日 😀"}', '"\\u001b[31m"', '7'];
    await add(records);
    expect((await read()).texts).toEqual(records);
  });

  it('does so for any records, and with what of them was not new for their list', async () => {
    const spaces = fc.constantFrom('', ' ', '\n', '\r\n\t');
    const record = fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), spaces).map(([value, space]) => {
      const text = JSON.stringify(value, null, space.length);
      return `{${space}${text.slice(1)}`;
    });
    const all = fc.array(fc.record({ text: record, isNew: fc.boolean() }), { maxLength: 250 });
    await fc.assert(
      fc.asyncProperty(all, fc.nat(250), async (records, at) => {
        folder = temporaryFolder();
        for (const some of [records.slice(0, at), records.slice(at)]) {
          await add(
            some.map(({ text }) => text),
            some.map(({ isNew }) => isNew),
          );
        }
        expect((await read()).records).toEqual(records);
        const delivered = records.filter(({ isNew }) => isNew).length;
        expect(await countReceived(folder)).toEqual({ delivered, excluded: records.length - delivered });
      }),
      { numRuns: 30 },
    );
  });

  it('is new unless it is said not to be', async () => {
    await add(['1', '2\n'], [true, false]);
    await add(['3', '4'], [false]);
    expect((await read()).records.map(({ isNew }) => isNew)).toEqual([true, false, false, true]);
  });

  it('is empty if nothing is stored, or no longer', async () => {
    expect(await read()).toEqual({ records: [], batches: [], state: undefined, texts: [] });
    expect(await countReceived(folder)).toEqual({ delivered: 0, excluded: 0 });
    expect([await sizeOfReceived(folder), await readAnswer(folder)]).toEqual([undefined, undefined]);
    await add([]);
    expect(await read()).toMatchObject({ records: [], batches: [], state: { end: 0, size: 0 } });
    expect([await sizeOfReceived(folder), await readAnswer(folder)]).toEqual([0, undefined]);
  });

  it('is read a hundred at a time, and says how far that is in which file', async () => {
    await add(numbers(0, 250));
    const { ino, mtimeMs, size } = statSync(path);
    expect(await read()).toMatchObject({ batches: [100, 100, 50], state: { ino, mtimeMs, size, end: size } });
    expect(await sizeOfReceived(folder)).toBe(size);
  });

  it.each([0, 1, 99, 100, 101, 250])(
    'is read up to record %d, and what is behind it is cut off',
    async (max) => {
      await add(numbers(0, 250));
      const { texts, state } = await read(max);
      expect(texts).toEqual(numbers(0, max));
      const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
      expect(state?.end).toBe(lines.slice(0, max).join('').length);
      await add(numbers(1000, 2), undefined, state);
      expect((await read()).texts).toEqual([...numbers(0, max), ...numbers(1000, 2)]);
    },
  );

  it('ends before a line that a killed process has not finished, which the next one takes the place of', async () => {
    await add(['{"a":1}', '{"a":2}']);
    const whole = statSync(path).size;
    for (const [torn, cutTo] of [
      [toCrc32Line('record', '{"a":3}').slice(0, -9), 2],
      ['{"crc', 2],
      ['{"crc', 1],
    ] as const) {
      appendFileSync(path, torn);
      const { state, texts } = await read(cutTo);
      expect(texts).toEqual(['{"a":1}', '{"a":2}'].slice(0, cutTo));
      if (cutTo === 2) expect(state).toMatchObject({ end: whole, size: whole + torn.length });
      await add(['{"a":4}'], undefined, cutTo === 1 ? state : undefined);
      expect((await read()).texts).toEqual([...texts, '{"a":4}']);
      truncateSync(path, whole);
    }
  });

  it('is told where it is damaged, and read around that', async () => {
    await add(['1', '2', '3', '4', '5']);
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    lines[1] = (lines[1] ?? '').replace(':2}', ':9}');
    // Written by another version.
    lines[3] = toCrc32Line('unheard', '4');
    // Its line end is damaged, and it is whole otherwise.
    lines[4] = (lines[4] ?? '').replace('\n', 'x');
    writeFileSync(path, lines.join(''));
    const told: [number, string][] = [];
    const { texts, state } = await read(undefined, (line, where) => void told.push([line, where]));
    expect(texts).toEqual(['1', '3']);
    expect(told).toEqual([2, 4, 5].map((line) => [line, path]));
    const { size } = statSync(path);
    expect(state).toMatchObject({ size, end: size });
    expect(await countReceived(folder)).toEqual({ delivered: 2, excluded: 0 });
    // It counts: what is behind it keeps its place.
    expect((await read(3, () => {})).texts).toEqual(['1', '3']);
    const stop = (): never => {
      throw new Error('damaged');
    };
    await expect(read(undefined, stop)).rejects.toThrow('damaged');
    expect((await read(1, stop)).texts).toEqual(['1']);
  });

  it('is for its user alone, and no link is followed', async () => {
    await add(['1']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const target = path;
    folder = temporaryFolder();
    symlinkSync(target, join(folder, receivedFile));
    await expect(openReceived(folder, noLock)).rejects.toMatchObject({
      outcome: 'local_io',
      message: `can't store what arrives in ${join(folder, receivedFile)}: it is a symbolic link`,
    });
    expect((await read()).texts).toEqual(['1']);
  });

  it('that can’t be read is an error', async () => {
    mkdirSync(path);
    await expect(read()).rejects.toBeInstanceOf(LocalIoError);
  });

  it('is not added to, or cut, by a process that has lost its lock', async () => {
    await add(['1', '2']);
    let isLost = false;
    const confirm = () => {
      if (isLost) throw new Error('lost');
    };
    const before = readFileSync(path, 'utf8');
    const received = await openReceived(folder, { confirm });
    isLost = true;
    expect(() => received.append(['3'])).toThrow('lost');
    await received.close();
    const { state } = await read(1);
    await expect(openReceived(folder, { confirm }, state)).rejects.toMatchObject({
      message: expect.stringContaining('lost'),
    });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });
});

describe('one answer', () => {
  it('is the first that is stored, as it came', async () => {
    await add(['{"answer":\n 1.10}']);
    await add(['{"answer":2}']);
    expect(await readAnswer(folder)).toBe('{"answer":\n 1.10}');
  });

  it('that is damaged is told, and left as it is', async () => {
    await add(['{"answer":1}']);
    const damaged = readFileSync(path, 'utf8').replace(':1}', ':2}');
    writeFileSync(path, damaged);
    await expect(readAnswer(folder)).rejects.toMatchObject({
      outcome: 'configuration',
      message: `the answer in ${path} is damaged`,
    });
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  });

  it('that could not be understood is stored beside it', async () => {
    const place = await storeGarbled(folder, 'no\njson', noLock);
    expect(place).toBe(join(folder, 'answer.garbled'));
    expect(readFileSync(place, 'utf8')).toBe('no\njson');
    expect(await readAnswer(folder)).toBeUndefined();
  });
});
