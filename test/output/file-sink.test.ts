import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import type { OutputStream } from '../../src/context.ts';
import { type Addition, completeAddition } from '../../src/files/addition.ts';
import { LockLostError, noLock } from '../../src/files/folder-lock.ts';
import { openRecords } from '../../src/output/records.ts';
import { bundle } from '../helpers/bundle.ts';
import { machineClock as clock } from '../helpers/clock.ts';
import { createFileSink, type SinkOptions } from '../helpers/file-sink.ts';
import { temporaryFolder } from '../helpers/run.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'leads.csv');
});

const { signal } = new AbortController();
const context = { stdout: {} as OutputStream, signal, clock };
const records = { shape: 'list', csvRaw: false, width: undefined, warn: () => {}, lock: noLock } as const;
const read = (path = file) => readFileSync(path, 'utf8');
const kept = (path: string) =>
  `The rows are in ${path}.part. Fix that, and run the same command again: what arrived is not bought again.`;

/** Writes a text, and puts it into place. */
async function place(text: string, options?: SinkOptions): Promise<void> {
  const sink = await createFileSink(file, options);
  await sink.write(text);
  await sink.commit();
}

describe('a new file', () => {
  it('appears when it is complete, and not before', async () => {
    writeFileSync(file, 'old', { mode: 0o640 });
    const sink = await createFileSink(file);
    expect(sink).toMatchObject({ length: 0, continued: false, lineEnd: undefined });
    await sink.write('漢\n');
    await sink.write('');
    expect(sink.length).toBe(4);
    expect(read()).toBe('old');
    expect(read(`${file}.part`)).toBe('漢\n');
    // Who may not read the file reads none of it meanwhile, either.
    expect(lstatSync(`${file}.part`).mode & 0o777).toBe(0o640);
    await sink.sync();
    await sink.commit();
    expect(read()).toBe('漢\n');
    expect(readdirSync(folder)).toEqual(['leads.csv']);
  });

  it('of a cut run stays a .part, and is none without rows; of a whole one it is then empty', async () => {
    expect(await (await createFileSink(file)).abandon()).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
    await (await createFileSink(file)).commit();
    expect(read()).toBe('');
    const sink = await createFileSink(file);
    await sink.write('rows');
    expect(await sink.abandon()).toBe(`${file}.part`);
    expect(readdirSync(folder)).toEqual(['leads.csv', 'leads.csv.part']);
  });

  it('is not written over the rows of another run: they get the next free name', async () => {
    writeFileSync(`${file}.part`, 'rows of another run');
    writeFileSync(`${file}.part.1`, 'of an earlier time');
    const warnings: string[] = [];
    await place('new', { warn: (line) => warnings.push(line) });
    expect([read(), read(`${file}.part.2`)]).toEqual(['new', 'rows of another run']);
    expect(warnings).toEqual([`${file}.part held rows of an earlier run. They are now in ${file}.part.2.`]);
    writeFileSync(`${file}.part`, '');
    await (await createFileSink(file)).commit();
    expect(readdirSync(folder)).toEqual(['leads.csv', 'leads.csv.part.1', 'leads.csv.part.2']);
  });

  it('is not removed by a run without rows, when it is another one’s by then', async () => {
    const sink = await createFileSink(file);
    rmSync(`${file}.part`);
    writeFileSync(`${file}.part`, 'of another run');
    expect(await sink.abandon()).toBeUndefined();
    expect(read(`${file}.part`)).toBe('of another run');
  });

  it('is not put in place by a run whose .part, or whose lock, another one has taken', async () => {
    const sink = await createFileSink(file);
    await sink.write('rows');
    rmSync(`${file}.part`);
    writeFileSync(`${file}.part`, 'of another run');
    await expect(sink.commit()).rejects.toMatchObject({ details: { type: 'output_changed' } });
    rmSync(`${file}.part`);
    for (const append of [undefined, {}]) {
      let isLost = false;
      const confirm = (): void => {
        if (isLost) throw new LockLostError('temporary', 'lost');
      };
      const lost = await createFileSink(file, { append, lock: { confirm } });
      const cut = await createFileSink(file, { append, opening: { at: 0 }, lock: { confirm } });
      await lost.write('rows');
      isLost = true;
      for (const change of [() => lost.write('more'), () => cut.write('more'), lost.commit]) {
        await expect(change()).rejects.toMatchObject({ outcome: 'temporary' });
      }
      expect(await cut.abandon(true)).toBeUndefined();
      expect(readdirSync(folder)).toEqual(['leads.csv.part']);
      expect(read(`${file}.part`)).toBe('rows');
      rmSync(`${file}.part`);
    }
  });

  it.each([true, false])('is put where a symbolic link says (target exists: %s)', async (exists) => {
    mkdirSync(join(folder, 'real'));
    const real = join(folder, 'real', 'leads.csv');
    if (exists) writeFileSync(real, 'old');
    symlinkSync('real/leads.csv', file);
    const sink = await createFileSink(file);
    await sink.write('new');
    expect(existsSync(`${real}.part`)).toBe(true);
    await sink.commit();
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(read(real)).toBe('new');
    const cut = await createFileSink(file);
    await cut.write('rows');
    expect(await cut.abandon()).toBe(`${real}.part`);
  });
});

describe('what can not be written', () => {
  it.each([
    ['no directory', () => join(folder, 'no', 'leads.csv'), /: the folder \S+no does not exist/],
    ['below a file', () => join(folder, 'a', 'leads.csv'), /: a part of its path is not a folder/],
    ['too long a name', () => join(folder, 'x'.repeat(300)), /: the name is too long/],
    ['links in a circle', () => join(folder, 'loop'), /: its symbolic links form a loop/],
  ])('%s', async (_name, path, message) => {
    writeFileSync(join(folder, 'a'), '');
    symlinkSync('loop', join(folder, 'loop'));
    for (const append of [undefined, {}]) {
      await expect(createFileSink(path(), { append })).rejects.toMatchObject({
        outcome: 'local_io',
        message: expect.stringMatching(message),
      });
    }
  });

  it.skipIf(process.platform !== 'linux')('a file system that takes no new files', async () => {
    await expect(createFileSink('/proc/leads.csv')).rejects.toThrow(': no file can be made there');
  });

  it('a file that became a directory meanwhile: the rows are kept', async () => {
    const sink = await createFileSink(file);
    await sink.write('rows');
    mkdirSync(file);
    await expect(sink.commit()).rejects.toMatchObject({ outcome: 'local_io', details: { hint: kept(file) } });
    expect(read(`${file}.part`)).toBe('rows');
  });

  // A limit on the size of files stops a write half-way, as a full disk does.
  it.each(['replace', 'append'])('half a write is undone (%s)', async (way) => {
    writeFileSync(file, way === 'append' ? '{"old":1}\n' : '');
    const source = join(folder, `half-${way}.ts`);
    writeFileSync(
      source,
      `import { createFileSink } from ${JSON.stringify(join(import.meta.dirname, '../../src/output/file-sink.ts'))};
      process.on('SIGXFSZ', () => {});
      const sink = await createFileSink(${JSON.stringify(file)}, { warn() {}, lock: { confirm() {} }${way === 'append' ? ', append: {}' : ''} });
      await sink.write('{"new":1}\\n');
      const message = await sink.write('x'.repeat(5000)).catch((error) => error.message);
      await sink.abandon();
      console.log(JSON.stringify({ message, length: sink.length }));`,
    );
    const line = `ulimit -f 4; exec ${process.execPath} ${await bundle(source)}`;
    const out = execFileSync('bash', ['-c', line], { encoding: 'utf8' });
    const message = `can't write ${file}: the file would be too large`;
    expect(JSON.parse(out)).toEqual({ message, length: 10 });
    expect(read(`${file}.part`)).toBe('{"new":1}\n');
    expect(read()).toBe(way === 'append' ? '{"old":1}\n' : '');
  });
});

it('a FIFO is written directly', async () => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'ignore'] });
  const sink = await createFileSink(fifo);
  expect(sink.length).toBeUndefined();
  const big = 'x'.repeat(300_000);
  const received = text(reader.stdout);
  await sink.write(big);
  await sink.commit();
  expect(await received).toBe(big);
  expect(readdirSync(folder)).toEqual(['fifo']);
});

describe('a .part of an earlier run', () => {
  const append = { header: ['a', 'b'] };
  const rows = 'a,b\r\n1,2\r\n';
  const at = (length: number) => ({ opening: { at: length } });

  it.each([undefined, append])('is gone on with behind what counts, whatever stands there', async (to) => {
    for (const torn of ['', '3', '3,4\r\n', 'x,y\r\n']) {
      writeFileSync(`${file}.part`, rows + torn);
      const sink = await createFileSink(file, { append: to, ...at(rows.length) });
      expect(sink).toMatchObject({ length: rows.length, continued: true });
      await sink.write('3,4\r\n');
      expect(sink.length).toBe(rows.length + 5);
      await sink.commit();
      expect({ torn, text: read() }).toEqual({ torn, text: `${rows}3,4\r\n` });
      expect(readdirSync(folder)).toEqual(['leads.csv']);
      rmSync(file);
    }
  });

  it('is cut back also when nothing follows', async () => {
    writeFileSync(`${file}.part`, `${rows}3,`);
    await (await createFileSink(file, at(rows.length))).commit();
    expect(read()).toBe(rows);
  });

  it('is written anew, and stands as it was until then', async () => {
    const opening = { at: 0 };
    await (await createFileSink(file, { opening })).abandon();
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(`${file}.part`, rows);
    const idle = await createFileSink(file, { opening });
    expect(await idle.abandon()).toBe(`${file}.part`);
    expect(read(`${file}.part`)).toBe(rows);
    const sink = await createFileSink(file, { opening });
    expect(sink).toMatchObject({ length: 0, continued: false });
    await sink.write('x');
    expect(read(`${file}.part`)).toBe('x');
    await sink.abandon();
  });

  it.each([undefined, append])('that is not there, or shorter than it was, is an error', async (to) => {
    const [path, options] = [`${file}.part`, { append: to, ...at(8) }];
    const details = { type: 'output_changed' };
    await expect(createFileSink(file, options)).rejects.toMatchObject({
      message: `${path} is gone: it held the rows of the earlier run`,
      details,
    });
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(path, 'short');
    await expect(createFileSink(file, options)).rejects.toMatchObject({
      message: expect.stringContaining('it was changed since'),
      details,
    });
    expect(read(path)).toBe('short');
  });

  it('is never written through a link', async () => {
    writeFileSync(join(folder, 'precious'), 'precious');
    symlinkSync('precious', `${file}.part`);
    for (const opening of [{ at: 0 }, { at: 4 }] as const) {
      await expect(createFileSink(file, { opening })).rejects.toMatchObject({
        message: `can't write ${file}.part: it is a symbolic link`,
      });
    }
    await (await createFileSink(file)).commit();
    expect(read(join(folder, 'precious'))).toBe('precious');
  });
});

describe('appending', () => {
  const header = ['a', 'b'];
  const toAppend = (format: 'csv' | 'jsonl') => (format === 'csv' ? { header } : {});

  it.each<[string, string, 'csv' | 'jsonl', string]>([
    ['CSV', 'a,b\r\n1,2\r\n', 'csv', 'a,b\r\n1,2\r\nNEW'],
    ['CSV of another program', '\ufeff"a","b"\n1,2\n', 'csv', '\ufeff"a","b"\n1,2\nNEW'],
    ['CSV without its last line end', 'a,b\r\n1,2', 'csv', 'a,b\r\n1,2\r\nNEW'],
    ['CSV with \\n without its last line end', 'a,b\n1,2', 'csv', 'a,b\n1,2\nNEW'],
    ['CSV with lines in a cell', 'a,b\r\n1,"x\ny"\r\n', 'csv', 'a,b\r\n1,"x\ny"\r\nNEW'],
    ['CSV with a quote within a cell', 'a,b\r\n12" pipes,2', 'csv', 'a,b\r\n12" pipes,2\r\nNEW'],
    ['CSV with a row that has a flaw', 'a,b\n"12" pipes,2\n', 'csv', 'a,b\n"12" pipes,2\nNEW'],
    ['CSV with ends of lines of an old Macintosh', 'a,b\r1,2\r', 'csv', 'a,b\r1,2\rNEW'],
    [
      'CSV with a mark and letters of two bytes',
      '\ufeffa,b\r\né,"ü"\r\n',
      'csv',
      '\ufeffa,b\r\né,"ü"\r\nNEW',
    ],
    ['a header alone', 'a,b', 'csv', 'a,b\r\nNEW'],
    ['an empty file', '', 'csv', 'NEW'],
    ['JSONL', '{"a":1}\n', 'jsonl', '{"a":1}\nNEW'],
    ['JSONL without its last line end', '{"a":1}\n{"a":2}', 'jsonl', '{"a":1}\n{"a":2}\nNEW'],
    ['an empty file', '', 'jsonl', 'NEW'],
  ])('to %s', async (_name, before, format, after) => {
    writeFileSync(file, before);
    const sink = await createFileSink(file, { append: toAppend(format) });
    expect(sink).toMatchObject({ length: 0, continued: false });
    const mark = before.startsWith('\ufeff') ? '\ufeff' : '';
    const ownHeader = format === 'csv' ? `${mark}a,b${sink.lineEnd}` : '';
    await sink.write(`${ownHeader}NEW`);
    expect([read(), read(`${file}.part`)]).toEqual([before, `${ownHeader}NEW`]);
    const additions: Addition[] = [];
    await sink.commit(async (addition) => void additions.push(addition));
    expect(read()).toBe(before === '' ? ownHeader + after : after);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
    const [addition] = additions;
    expect(addition).toMatchObject({
      at: Buffer.byteLength(before),
      length: Buffer.byteLength(read()) - Buffer.byteLength(before),
    });
    expect(await completeAddition(file, addition as Addition, noLock)).toBe('done');
  });

  it('to no file makes one of the .part', async () => {
    const append = { header };
    const cut = await createFileSink(file, { append });
    await cut.write('a,b\r\nx');
    expect(await cut.abandon()).toBe(`${file}.part`);
    await place('y', { append, opening: { at: 6 } });
    expect(read()).toBe('a,b\r\nxy');
  });

  it.each(['{"a":1}', 'a,b\r\n1,2'])('of nothing changes nothing: %j', async (before) => {
    writeFileSync(file, before);
    const format = before.startsWith('{') ? 'jsonl' : 'csv';
    expect(await (await createFileSink(file, { append: toAppend(format) })).abandon()).toBeUndefined();
    const sink = await createFileSink(file, { append: toAppend(format) });
    await sink.write(format === 'csv' ? 'a,b\r\n' : '');
    await sink.commit(() => expect.fail('nothing is added'));
    expect(read()).toBe(before);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
  });

  it('goes behind what another program has added meanwhile, and not under another header', async () => {
    writeFileSync(file, 'a,b\r\n1,2\r\n');
    const append = { header };
    const sink = await createFileSink(file, { append });
    await sink.write('a,b\r\n5,6\r\n');
    writeFileSync(file, 'a,b\n1,2\n3,4');
    await sink.commit();
    expect(read()).toBe('a,b\n1,2\n3,4\n5,6\r\n');
    const late = await createFileSink(file, { append });
    await late.write('a,b\r\n7,8\r\n');
    writeFileSync(file, 'c,d\n');
    await expect(late.commit()).rejects.toMatchObject({
      details: { type: 'output_changed', hint: kept(file) },
    });
    expect([read(), read(`${file}.part`)]).toEqual(['c,d\n', 'a,b\r\n7,8\r\n']);
  });

  it('does not go under the same header with other delimiters', async () => {
    writeFileSync(file, 'a;b\r\n1;2\r\n');
    const sink = await createFileSink(file, { append: { header } });
    await sink.write('a;b\r\n3;4\r\n');
    writeFileSync(file, 'a,b\r\n1,2\r\n');
    await expect(sink.commit()).rejects.toMatchObject({ details: { type: 'output_changed' } });
    expect(read()).toBe('a,b\r\n1,2\r\n');
  });

  it.each<[string, string, 'csv' | 'jsonl', string, RegExp]>([
    ['other columns', 'a,c\r\n', 'csv', 'usage', /has the columns a, c, but these rows have a, b$/],
    ['more columns', 'a,b,c\r\n', 'csv', 'usage', /has the columns a, b, c, but/],
    ['another order', 'b,a\r\n', 'csv', 'usage', /has the columns b, a, but/],
    ['JSONL, as CSV', '{"a":1}\n', 'csv', 'usage', /has the columns/],
    [
      'an open quote',
      'a,b\r\n1,"2\r\n',
      'csv',
      'local_io',
      /append to .*leads\.csv: a quote in line 2 is never closed/,
    ],
    ['an open quote in its header', '"a,b\r\n1,2', 'csv', 'local_io', /: a quote in line 1 is never closed/],
    [
      'half a line',
      '{"a":1}\n{"a"',
      'jsonl',
      'local_io',
      /append to .*leads\.csv: its last line is incomplete/,
    ],
    ['CSV, as JSONL', 'a,b', 'jsonl', 'local_io', /can't append/],
  ])('is refused for %s, and changes nothing', async (_name, before, format, outcome, message) => {
    writeFileSync(file, before);
    await expect(createFileSink(file, { append: toAppend(format) })).rejects.toMatchObject({
      outcome,
      message: expect.stringMatching(message),
    });
    expect(read()).toBe(before);
  });

  it('finds the last line and the header of a large file', async () => {
    writeFileSync(file, `${'{"a":1}\n'.repeat(20_000)}{"a":"${'x'.repeat(200_000)}"}`);
    await place('{}', { append: {} });
    expect(read().endsWith('x"}\n{}')).toBe(true);
    writeFileSync(file, `"a","${'b'.repeat(100_000)}"\r\n${'1,"2\n3"\r\n'.repeat(20_000)}`);
    const append = { header: ['a', 'b'.repeat(100_000)] };
    const rows = await createFileSink(file, { append });
    expect(rows).toMatchObject({ continued: false, lineEnd: '\r\n' });
    await rows.abandon();
  });

  it('the rows of every day stand under one header', async () => {
    const layout = entityLayout(['=city']);
    for (const name of ['=Monday', 'Tuesday']) {
      const rows = await openRecords(context, { ...records, file, format: 'csv', layout, append: true });
      await rows.write([JSON.stringify({ name })]);
      await rows.finish();
    }
    const [header, ...rows] = read().split('\r\n');
    expect(header).toBe(
      "name,description,score,score_reason,website,linkedin_url,links,'=city,'=city_reference",
    );
    expect(rows).toEqual(["'=Monday,,,,,,,,", 'Tuesday,,,,,,,,', '']);
  });
});

it.each(['', ',\n  {"i', ',\n  {"id":2}'])(
  'an array that was cut, and closed behind %j, is resumed as one array',
  async (half) => {
    const options = { ...records, format: 'json', layout: memberLayout(['id']), append: false } as const;
    const first = await openRecords(context, { ...options, file });
    await first.write(['{"id":1}']);
    const { length } = first;
    // Of a write that a signal stopped.
    appendFileSync(`${file}.part`, half);
    await first.cut();
    const second = await openRecords(context, { ...options, file, opening: { at: length ?? 0 } });
    await second.write(['{"id":2}']);
    await second.finish();
    expect(JSON.parse(read())).toEqual([{ id: 1 }, { id: 2 }]);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
  },
);
