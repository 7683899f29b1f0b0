import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { LocalIoError } from '../../src/errors.ts';
import { type Addition, type AddRows, addToFile, digestOfRows, isAdded } from '../../src/files/addition.ts';
import { blocksOf, createTemporaryFile, type TemporaryFile } from '../../src/files/own-file.ts';
import { temporaryFolder } from '../helpers/run.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'leads.csv');
});

const read = () => readFileSync(file, 'utf8');

/** The rows behind those of the file. */
const addRows: AddRows = async ({ handle }, old) => {
  if (old !== undefined) for await (const block of blocksOf(old)) await handle.appendFile(block);
  const { size: at } = await handle.stat();
  await handle.appendFile('new\n');
  return { at, length: 4, digest: await digestOfRows(handle, at) };
};

/** Adds rows. `adding` is told each try, by its number, before it happens. Returns what was told. */
async function add(
  adding: (own: TemporaryFile, nth: number) => void = () => {},
  rows = addRows,
): Promise<Addition[]> {
  const told: Addition[] = [];
  const own = await createTemporaryFile(file, async () => {});
  const tell = async (addition: Addition): Promise<void> => void adding(own, told.push(addition));
  try {
    await addToFile('leads.csv', file, own, rows, tell);
  } finally {
    await own.handle.close();
  }
  return told;
}

describe('rows are added in one step', () => {
  it.each([
    ['those of the file', 'old\n', 'old\nnew\n'],
    ['none', undefined, 'new\n'],
    ['an empty file', '', 'new\n'],
  ])('behind %s', async (_, before, after) => {
    if (before !== undefined) writeFileSync(file, before, { mode: 0o640 });
    const told = await add((own) => {
      expect(before === undefined ? undefined : read()).toBe(before);
      // Everything is written by then.
      expect(readFileSync(own.path, 'utf8')).toBe(after);
    });
    expect(read()).toBe(after);
    const { birthtimeMs, dev, ino, mode } = statSync(file);
    expect(told).toMatchObject([{ output: file, at: after.length - 4, length: 4, birthtimeMs, dev, ino }]);
    if (before !== undefined) expect(mode & 0o777).toBe(0o640);
  });

  it.each<[says: string, change: () => void, after: string]>([
    ['gets more rows', () => appendFileSync(file, 'more\n'), 'old\nmore\nnew\n'],
    [
      'gets more rows, and has the same time',
      () => {
        appendFileSync(file, 'more\n');
        utimesSync(file, 1, 1);
      },
      'old\nmore\nnew\n',
    ],
    ['has become another of the same size and time', () => exchange('odd\n'), 'odd\nnew\n'],
    ['was written at another time', () => utimesSync(file, 5, 5), 'old\nnew\n'],
    ['is gone', () => rmSync(file), 'new\n'],
  ])('once more where the file %s meanwhile', async (_, change, after) => {
    writeFileSync(file, 'old\n');
    utimesSync(file, 1, 1);
    const told = await add((_own, nth) => (nth === 1 ? change() : undefined));
    expect([read(), told.length]).toEqual([after, 2]);
    expect(await isAdded(told[1] as Addition)).toBe(true);
  });

  it('once more where there is a file meanwhile', async () => {
    const told = await add((_own, nth) => (nth === 1 ? writeFileSync(file, 'old\n') : undefined));
    expect([read(), told.map(({ at }) => at)]).toEqual(['old\nnew\n', [0, 4]]);
  });

  function exchange(text: string): void {
    writeFileSync(`${file}.new`, text);
    utimesSync(`${file}.new`, 1, 1);
    renameSync(`${file}.new`, file);
  }

  it('not where the file changes each time, or its new one has been exchanged', async () => {
    writeFileSync(file, 'old\n');
    let tries = 0;
    const always = add((_own, nth) => {
      tries = nth;
      appendFileSync(file, '.\n');
    });
    const changed = { outcome: 'local_io', details: { type: 'output_changed' } };
    const again = 'another program keeps changing leads.csv; nothing was added to it';
    await expect(always).rejects.toMatchObject({ ...changed, message: again });
    expect([tries, read()]).toEqual([5, `old\n${'.\n'.repeat(5)}`]);
    const before = read();
    const exchanged = add(({ path }) => {
      rmSync(path);
      writeFileSync(path, 'of another');
    });
    const message = expect.stringMatching(
      /\.part was moved or replaced by another program; leads\.csv was not changed$/,
    );
    await expect(exchanged).rejects.toMatchObject({ ...changed, message });
    expect(read()).toBe(before);
  });

  it.each<[says: string, add: () => Promise<unknown>]>([
    ['written', () => add(undefined, () => Promise.reject(new Error('disk full')))],
    [
      'written down',
      () =>
        add(() => {
          throw new Error('disk full');
        }),
    ],
  ])('not where they can’t be %s', async (_, adding) => {
    writeFileSync(file, 'old\n');
    await expect(adding()).rejects.toThrow('disk full');
    expect(read()).toBe('old\n');
  });

  it('not to a link that has taken the place of the file', async () => {
    writeFileSync(join(folder, 'elsewhere'), 'old\n');
    symlinkSync(join(folder, 'elsewhere'), file);
    await expect(add()).rejects.toBeInstanceOf(LocalIoError);
    expect([lstatSync(file).isSymbolicLink(), read()]).toEqual([true, 'old\n']);
  });
});

describe('whether rows of an earlier run are in their file', () => {
  /** Rows that were added, and with what their journal knows them by. */
  async function added(): Promise<Addition> {
    writeFileSync(file, 'old\n');
    const [addition] = await add();
    return addition as Addition;
  }

  /** The same bytes, or others, in another file of this name. */
  function rewrite(text: string): void {
    renameSync(file, `${file}.old`);
    writeFileSync(file, text);
  }

  it.each<[says: string, change: () => void, isIn: boolean]>([
    ['as they were added', () => {}, true],
    ['with rows of others behind them', () => appendFileSync(file, 'more\n'), true],
    // It is the file that was put in its place, whatever was done with it.
    ['in the file that others have changed', () => writeFileSync(file, 'odd\n'), true],
    ['in the file that others have cut', () => truncateSync(file, 5), true],
    ['in a file with other rights', () => chmodSync(file, 0o600), true],
    ['in a copy of the file', () => rewrite('old\nnew\n'), true],
    ['in a copy with more rows', () => rewrite('old\nnew\nmore\n'), true],
    ['in a copy of which rows before them were changed', () => rewrite('odd\nnew\n'), true],
    ['in one where they are at another place', () => rewrite('older\nnew\n'), false],
    ['in one where others are in their place', () => rewrite('old\nodd\nnew\n'), false],
    ['in one that is shorter', () => rewrite('old\nnew'), false],
    ['in one of before', () => rewrite('old\n'), false],
    ['in one that is empty', () => rewrite(''), false],
    ['in none', () => rmSync(file), false],
  ])('%s', async (_, change, isIn) => {
    const addition = await added();
    change();
    expect(await isAdded(addition)).toBe(isIn);
  });

  it('is asked of the file of that time: its number can be that of a later one', async () => {
    const addition = await added();
    writeFileSync(file, 'odd\n');
    const { birthtimeMs, dev, ino } = statSync(file);
    expect(addition).toMatchObject({ birthtimeMs, dev, ino });
    for (const other of [{ birthtimeMs: birthtimeMs - 1 }, { dev: dev + 1 }, { ino: ino + 1 }])
      expect(await isAdded({ ...addition, ...other })).toBe(false);
  });

  it('is not asked through a link', async () => {
    const addition = await added();
    renameSync(file, `${file}.old`);
    symlinkSync(`${file}.old`, file);
    await expect(isAdded(addition)).rejects.toBeInstanceOf(LocalIoError);
    rmSync(file);
    linkSync(`${file}.old`, file);
    expect(await isAdded(addition)).toBe(true);
  });
});

it('a FIFO in the place of an output is not waited for', async () => {
  const output = join(temporaryFolder(), 'fifo');
  execFileSync('mkfifo', [output]);
  expect(await isAdded({ output, at: 0, length: 1, digest: 'x', dev: 1, ino: 1, birthtimeMs: 1 })).toBe(
    false,
  );
});
