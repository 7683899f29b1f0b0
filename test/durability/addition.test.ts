import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Addition, addRows, completeAddition } from '../../src/files/addition.ts';
import { noLock } from '../../src/files/folder-lock.ts';
import { bundle } from '../helpers/bundle.ts';
import { createFileSink } from '../helpers/file-sink.ts';
import { resultOf, temporaryFolder } from '../helpers/run.ts';
import { atBoundaries } from './faulty-run.ts';

/** The last step of --append: the rows of the .part are added at the end of a file of other days. */

const preload = join(import.meta.dirname, 'fault-preload.mjs');
let worker = '';
beforeAll(async () => {
  worker = await bundle(join(import.meta.dirname, 'addition-worker.ts'));
});

const kinds = [
  {
    format: 'csv',
    before: 'a,b\r\nold,1',
    rows: 'a,b\r\nnew,2\r\n"n\new",3\r\n',
    added: '\r\nnew,2\r\n"n\new",3\r\n',
  },
  { format: 'csv', before: 'a,b\nold,1\n', rows: 'a,b\nnew,2\n', added: 'new,2\n' },
  { format: 'csv', before: '', rows: 'a,b\r\nnew,2\r\n', added: 'a,b\r\nnew,2\r\n' },
  { format: 'jsonl', before: '{"a":1}\n', rows: '{"a":2}\n{"a":3}\n', added: '{"a":2}\n{"a":3}\n' },
  { format: 'jsonl', before: undefined, rows: '{"a":2}\n', added: '{"a":2}\n' },
] as const;

interface Place {
  readonly folder: string;
  readonly file: string;
  readonly journal: string;
}

function createPlace(before: string | undefined): Place {
  const folder = temporaryFolder();
  const file = join(folder, 'leads');
  if (before !== undefined) writeFileSync(file, before);
  return { folder, file, journal: join(temporaryFolder(), 'adding') };
}

function runWorker(at: number | undefined, args: readonly string[]) {
  const fault = at === undefined ? { mode: 'count' } : { mode: 'kill', at };
  const env = { PATH: process.env.PATH ?? '', FAULT: JSON.stringify(fault) };
  return resultOf(spawn(process.execPath, ['--import', preload, worker, ...args], { env, stdio: 'pipe' }));
}

const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** What is left of an addition that was killed in the middle. */
async function leaveHalf(bytes: number): Promise<Place & { readonly addition: Addition }> {
  const place = createPlace('{"a":1}\n');
  const sink = await createFileSink(place.file, { append: {} });
  await sink.write('{"a":2}\n{"a":3}\n');
  let addition: Addition | undefined;
  const part = `${place.file}.part`;
  await sink.commit(async (adding) => {
    addition = adding;
    writeFileSync(`${part}.kept`, readFileSync(part));
  });
  writeFileSync(part, readFileSync(`${part}.kept`));
  rmSync(`${part}.kept`);
  writeFileSync(place.file, '{"a":1}\n{"a":2}\n{"a":3}\n'.slice(0, '{"a":1}\n'.length + bytes));
  return { ...place, addition: addition as Addition };
}

describe('rows that are added', () => {
  it.each(kinds)(
    'as $format to $before: killed at every instant, they stand there once, and the others as they were',
    async ({ format, before, rows, added }) => {
      let completed = 0;
      await atBoundaries(1, async (at, isPast) => {
        const { folder, file, journal } = createPlace(before);
        const args = [file, format, rows, journal];
        if ((await runWorker(at, args)).code !== null) isPast();
        const where = `killed at ${at}`;
        const text = textOf(file);
        expect(`${before ?? ''}${added}`.startsWith(text), where).toBe(true);
        const adding = textOf(journal);
        if (adding === '' || !adding.endsWith('}')) {
          expect({ where, text }).toEqual({ where, text: before ?? '' });
          return;
        }
        // The one who completes it may be killed too.
        await runWorker(1 + (at % 6), [...args, adding]);
        expect({ where, end: await completeAddition(file, JSON.parse(adding), noLock) }).toEqual({
          where,
          end: 'done',
        });
        expect({ where, text: textOf(file) }).toEqual({ where, text: `${before ?? ''}${added}` });
        expect({ where, names: readdirSync(folder) }).toEqual({ where, names: ['leads'] });
        completed++;
      });
      expect(completed).toBeGreaterThan(2);
    },
    60_000,
  );

  it('are completed from wherever they were cut', async () => {
    for (let bytes = 0; bytes <= 16; bytes++) {
      const { file, addition } = await leaveHalf(bytes);
      expect(await completeAddition(file, addition, noLock)).toBe('done');
      expect({ bytes, text: textOf(file) }).toEqual({ bytes, text: '{"a":1}\n{"a":2}\n{"a":3}\n' });
      expect(existsSync(`${file}.part`)).toBe(false);
    }
  });

  it.each<[string, (place: Place) => void]>([
    ['others stand where they were', ({ file }) => writeFileSync(file, '{"a":1}\n{"b":9}')],
    ['the file is shorter', ({ file }) => writeFileSync(file, '{"a"')],
    ['the file is gone', ({ file }) => rmSync(file)],
    ['the .part is gone', ({ file }) => rmSync(`${file}.part`)],
    ['the .part is another', ({ file }) => writeFileSync(`${file}.part`, '{"a":2}\n{"c":3}\n')],
  ])('are not completed, and nothing is changed, where %s', async (_, change) => {
    const place = await leaveHalf(3);
    change(place);
    const texts = () => [textOf(place.file), textOf(`${place.file}.part`)];
    const before = texts();
    expect(await completeAddition(place.file, place.addition, noLock)).toBe('not_added');
    expect(texts()).toEqual(before);
  });

  it('leave a .part alone that is of a later run', async () => {
    const { file, addition } = await leaveHalf(16);
    writeFileSync(`${file}.part`, '{"later":1}\n');
    expect(await completeAddition(file, addition, noLock)).toBe('done');
    expect(textOf(`${file}.part`)).toBe('{"later":1}\n');
  });

  it.each([
    ['', 'the file is as it was'],
    ['{"other":1}\n', 'what another program has added behind them stays'],
  ])('fail after some of them: with %j behind, %s', async (others) => {
    const { file } = createPlace('{"a":1}\n');
    const large = `{"a":"${'x'.repeat(1 << 20)}"}\n`;
    writeFileSync(`${file}.part`, large);
    const part = await open(`${file}.part`);
    let asked = 0;
    // The lock is looked at before it begins, and before each of two blocks.
    const confirm = () => {
      if (++asked < 3) return;
      appendFileSync(file, others);
      throw new Error('the lock can not be read');
    };
    const rows = { file: part, from: 0 };
    await expect(addRows(file, file, rows, 8, { confirm })).rejects.toMatchObject({ outcome: 'local_io' });
    await part.close();
    const added = others === '' ? '' : `${large.slice(0, 1 << 20)}${others}`;
    expect(textOf(file) === `{"a":1}\n${added}`).toBe(true);
    expect(textOf(`${file}.part`) === large).toBe(true);
  });

  it('are many megabytes, and are added all the same', async () => {
    const { file } = createPlace('{"a":1}\n');
    const sink = await createFileSink(file, { append: {} });
    const row = `{"a":"${'x'.repeat(99_990)}"}\n`;
    for (let count = 0; count < 50; count++) await sink.write(row);
    await sink.commit();
    expect(textOf(file) === `{"a":1}\n${row.repeat(50)}`).toBe(true);
  });
});
