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
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import type { OutputStream } from '../../src/context.ts';
import { LeadpipeError } from '../../src/errors.ts';
import { type Addition, isAdded } from '../../src/files/addition.ts';
import { LockLostError } from '../../src/files/folder-lock.ts';
import { openRows } from '../../src/output/open-rows.ts';
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
const directories = { config: '', state: '' };
const machine = { signal, clock, directories, pid: process.pid, random: () => 0 };
const context = { ...machine, stdout: {} as OutputStream };
const read = (path = file) => readFileSync(path, 'utf8');
const isPart = /^(.*)\.[a-z]{6}\.part$/;
/** The files that runs have made beside others. */
const parts = (at = folder) =>
  readdirSync(at)
    .filter((name) => isPart.test(name))
    .map((name) => join(at, name));
const added: Addition[] = [];
const adding = async (addition?: Addition): Promise<void> => void (addition && added.push(addition));

/** Writes a text, and puts it into place. */
async function place(text: string, options?: SinkOptions): Promise<void> {
  const sink = await createFileSink(file, options);
  await sink.write(text);
  await sink.commit(adding);
}

describe('a new file', () => {
  it('is as private as the one that it will replace, from the start', async () => {
    writeFileSync(file, 'old', { mode: 0o600 });
    const handle = await open(file);
    const handles = Object.getPrototypeOf(handle);
    await handle.close();
    const { chmod } = handles;
    const modes: number[] = [];
    handles.chmod = async function (mode: number): Promise<void> {
      modes.push((await this.stat()).mode & 0o777);
      await chmod.call(this, mode);
    };
    try {
      await place('new');
    } finally {
      handles.chmod = chmod;
    }
    expect(modes).toEqual([0o600]);
  });

  it.each([
    ['old', true],
    ['', false],
  ])('over one with %j in it: replaces something is %s', async (text, replaces) => {
    writeFileSync(file, text);
    const sink = await createFileSink(file);
    expect(sink).toMatchObject({ replaces });
    await sink.abandon();
  });

  it('appears when it is complete, and not before', async () => {
    writeFileSync(file, 'old', { mode: 0o640 });
    const sink = await createFileSink(file);
    expect(sink).toMatchObject({ isPipe: false, replaces: true, lineEnd: undefined });
    await sink.write('漢\n');
    await sink.write('');
    expect(read()).toBe('old');
    const [part = ''] = parts();
    expect([parts().length, read(part)]).toEqual([1, '漢\n']);
    // Those who may not read the file read none of it meanwhile, either.
    expect(lstatSync(part).mode & 0o777).toBe(0o640);
    expect(await sink.commit(adding)).toEqual({ target: file, warnings: [] });
    expect(read()).toBe('漢\n');
    expect(lstatSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
  });

  it('of a cut run stays as a temporary file if it has rows; a complete run without rows makes an empty file', async () => {
    expect(await (await createFileSink(file)).abandon()).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
    await (await createFileSink(file)).commit(adding);
    expect(read()).toBe('');
    const sink = await createFileSink(file);
    await sink.write('rows');
    const kept = await sink.abandon();
    expect([kept]).toEqual(parts());
    expect([read(), read(kept)]).toEqual(['', 'rows']);
  });

  it('is announced before it is made, and has a name of its own each time', async () => {
    const announced: string[] = [];
    const announce = async (path: string): Promise<void> => {
      expect(existsSync(path)).toBe(false);
      announced.push(path);
    };
    const sinks = await Promise.all([1, 2, 3].map(() => createFileSink(file, { announce })));
    expect(new Set(announced).size).toBe(3);
    expect(parts().sort()).toEqual(announced.sort());
    for (const [at, sink] of sinks.entries()) await sink.write(`run ${at}`);
    for (const sink of sinks) await sink.commit(adding);
    // Each is whole, and the last one stays.
    expect(read()).toBe('run 2');
    expect(parts()).toEqual([]);
  });

  it('is not put in place or removed if another file has its name', async () => {
    for (const end of ['commit', 'abandon'] as const) {
      const sink = await createFileSink(file);
      if (end === 'commit') await sink.write('rows');
      const [part = ''] = parts();
      rmSync(part);
      writeFileSync(part, 'of another');
      if (end === 'abandon') expect(await sink.abandon()).toBeUndefined();
      else await expect(sink.commit(adding)).rejects.toMatchObject({ details: { type: 'output_changed' } });
      expect([existsSync(file), read(part)]).toEqual([false, 'of another']);
      rmSync(part);
    }
  });

  it('that must be new is not put over one that has appeared meanwhile', async () => {
    const sink = await createFileSink(file, { isNew: true });
    await sink.write('rows');
    writeFileSync(file, 'of another');
    await expect(sink.commit(adding)).rejects.toMatchObject({ outcome: 'usage' });
    expect([read(), parts()]).toEqual(['of another', []]);
    rmSync(file);
    await place('rows', { isNew: true });
    expect([read(), parts()]).toEqual(['rows', []]);
  });

  it.each([true, false])('is put where a symbolic link says (target exists: %s)', async (exists) => {
    mkdirSync(join(folder, 'real'));
    const real = join(folder, 'real', 'leads.csv');
    if (exists) writeFileSync(real, 'old');
    symlinkSync('real/leads.csv', file);
    const sink = await createFileSink(file);
    await sink.write('new');
    expect(parts(join(folder, 'real'))).toHaveLength(1);
    await sink.commit(adding);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(read(real)).toBe('new');
    const cut = await createFileSink(file);
    await cut.write('rows');
    expect([await cut.abandon()]).toEqual(parts(join(folder, 'real')));
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
    const [part = ''] = parts();
    const message = expect.stringContaining(`. The rows are in ${part}`);
    await expect(sink.commit(adding)).rejects.toMatchObject({ outcome: 'local_io', message });
    expect(read(part)).toBe('rows');
  });

  it('a workbook that is stopped while it is made: the rows are kept', async () => {
    const write = async (): Promise<never> => {
      throw new LeadpipeError('interrupted', 'stopped while writing the output');
    };
    const sink = await createFileSink(file, { make: { what: 'a workbook', write } });
    await sink.write('rows');
    const [part = ''] = parts();
    const message = `stopped while writing the output. The rows are in ${part}`;
    await expect(sink.commit(adding)).rejects.toMatchObject({ outcome: 'interrupted', message });
    expect([parts(), read(part)]).toEqual([[part], 'rows']);
  });

  // A limit on the size of files stops a write half-way, as a full disk does.
  it.each(['replace', 'append'])('half a write is undone (%s)', async (way) => {
    writeFileSync(file, way === 'append' ? '{"old":1}\n' : '');
    const source = join(folder, `half-${way}.ts`);
    writeFileSync(
      source,
      `import { createFileSink } from ${JSON.stringify(join(import.meta.dirname, '../helpers/file-sink.ts'))};
      process.on('SIGXFSZ', () => {});
      const sink = await createFileSink(${JSON.stringify(file)}, {${way === 'append' ? ' append: {}' : ''} });
      await sink.write('{"new":1}\\n');
      const message = await sink.write('x'.repeat(5000)).catch((error) => error.message);
      const kept = await sink.abandon();
      console.log(JSON.stringify({ message, kept }));`,
    );
    const line = `ulimit -f 4; exec ${process.execPath} ${await bundle(source)}`;
    const { message, kept } = JSON.parse(execFileSync('bash', ['-c', line], { encoding: 'utf8' }));
    expect(message).toBe(`can't write ${file}: the file would be too large`);
    expect(read(kept)).toBe('{"new":1}\n');
    expect(read()).toBe(way === 'append' ? '{"old":1}\n' : '');
  });
});

it('a FIFO is written directly', async () => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'ignore'] });
  const sink = await createFileSink(fifo);
  expect(sink.isPipe).toBe(true);
  const big = 'x'.repeat(300_000);
  const received = text(reader.stdout);
  await sink.write(big);
  await sink.commit(adding);
  expect(await received).toBe(big);
  expect(readdirSync(folder)).toEqual(['fifo']);
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
    const mark = before.startsWith('\ufeff') ? '\ufeff' : '';
    const ownHeader = format === 'csv' ? `${mark}a,b${sink.lineEnd}` : '';
    await sink.write(`${ownHeader}NEW`);
    expect([read(), read(parts()[0])]).toEqual([before, `${ownHeader}NEW`]);
    const additions: Addition[] = [];
    await sink.commit(async (addition) => {
      if (addition === undefined) throw new Error('nothing is added');
      // At every moment, the file is whole.
      expect(read()).toBe(before);
      expect(await isAdded(addition)).toBe(false);
      additions.push(addition);
    });
    expect(read()).toBe(before === '' ? ownHeader + after : after);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
    const [addition] = additions;
    expect(addition).toMatchObject({
      at: Buffer.byteLength(before),
      length: Buffer.byteLength(read()) - Buffer.byteLength(before),
    });
    expect(await isAdded(addition as Addition)).toBe(true);
    // Others may add rows behind them, or write the whole file again.
    appendFileSync(file, 'others');
    expect(await isAdded(addition as Addition)).toBe(true);
    const whole = read();
    rmSync(file);
    writeFileSync(file, whole);
    expect(await isAdded(addition as Addition)).toBe(true);
    rmSync(file);
    writeFileSync(file, whole.replace('NEW', 'OLD'));
    expect(await isAdded(addition as Addition)).toBe(false);
  });

  it('to no file makes one', async () => {
    await place('a,b\r\nx', { append: { header } });
    expect([read(), parts()]).toEqual(['a,b\r\nx', []]);
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

  it('adds after rows that another program has added, but not under another header', async () => {
    writeFileSync(file, 'a,b\r\n1,2\r\n');
    const append = { header };
    const sink = await createFileSink(file, { append });
    await sink.write('a,b\r\n5,6\r\n');
    writeFileSync(file, 'a,b\n1,2\n3,4');
    await sink.commit(adding);
    expect(read()).toBe('a,b\n1,2\n3,4\n5,6\r\n');
    const late = await createFileSink(file, { append });
    await late.write('a,b\r\n7,8\r\n');
    writeFileSync(file, 'c,d\n');
    await expect(late.commit(adding)).rejects.toMatchObject({ details: { type: 'output_changed' } });
    expect([read(), parts().map(read)]).toEqual(['c,d\n', ['a,b\r\n7,8\r\n']]);
  });

  it('is repeated if the file changes during the copy, and stops if it changes each time', async () => {
    for (const times of [1, 4, 5]) {
      writeFileSync(file, '{"a":1}\n');
      const sink = await createFileSink(file, { append: {} });
      await sink.write('{"new":1}\n');
      let changes = 0;
      const change = async (): Promise<void> => {
        if (changes++ < times) appendFileSync(file, '{"b":2}\n');
      };
      const committed = sink.commit(change);
      if (times < 5) await committed;
      else await expect(committed).rejects.toMatchObject({ outcome: 'local_io' });
      const whole = `{"a":1}\n${'{"b":2}\n'.repeat(times)}`;
      expect(read()).toBe(times < 5 ? `${whole}{"new":1}\n` : whole);
      rmSync(file);
    }
  });

  it('keeps the mode of the file, and its links', async () => {
    writeFileSync(file, '{"a":1}\n', { mode: 0o600 });
    await place('{}\n', { append: {} });
    expect(lstatSync(file).mode & 0o777).toBe(0o600);
  });

  it('waits for another run that is adding to the same file', async () => {
    const sinks = await Promise.all([1, 2, 3].map(() => createFileSink(file, { append: {} })));
    for (const [at, sink] of sinks.entries()) await sink.write(`{"run":${at}}\n`);
    await Promise.all(sinks.map((sink) => sink.commit(adding)));
    expect(read().trim().split('\n').sort()).toEqual(['{"run":0}', '{"run":1}', '{"run":2}']);
    expect(readdirSync(folder)).toEqual(['leads.csv']);
  });

  it('is not changed by a run that has lost the lock', async () => {
    writeFileSync(file, '{"a":1}\n');
    const sink = await createFileSink(file, { append: {} });
    await sink.write('{"b":2}\n');
    const takeOver = async (): Promise<void> => rmSync(`${file}.lock`, { recursive: true });
    await expect(sink.commit(takeOver)).rejects.toThrow(LockLostError);
    expect(read()).toBe('{"a":1}\n');
  });

  it('does not go under the same header with other delimiters', async () => {
    writeFileSync(file, 'a;b\r\n1;2\r\n');
    const sink = await createFileSink(file, { append: { header } });
    await sink.write('a;b\r\n3;4\r\n');
    writeFileSync(file, 'a,b\r\n1,2\r\n');
    await expect(sink.commit(adding)).rejects.toMatchObject({ details: { type: 'output_changed' } });
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
      'usage',
      /append to .*leads\.csv: a quote in line 2 is never closed/,
    ],
    ['an open quote in its header', '"a,b\r\n1,2', 'csv', 'usage', /: a quote in line 1 is never closed/],
    [
      'Latin-1',
      'a,b\r\nM\xfcnchen,2\r\n',
      'csv',
      'usage',
      /append to .*leads\.csv: line 2 is not UTF-8 text/,
    ],
    ['half a line', '{"a":1}\n{"a"', 'jsonl', 'usage', /append to .*leads\.csv: line 2 is incomplete/],
    ['CSV, as JSONL', 'a,b', 'jsonl', 'usage', /can't append/],
    [
      'whole rows of CSV, as JSONL',
      'a,b\r\n1,2\r\n',
      'jsonl',
      'usage',
      /append to .*leads\.csv: line 1 is not JSON/,
    ],
    ['an array, as JSONL', '[\n  {"a":1}\n]\n', 'jsonl', 'usage', /: line 1 is not JSON/],
    ['a table, as JSONL', `|${' a |'.repeat(20_000)}\n| 1 |\n`, 'jsonl', 'usage', /: line 1 is not JSON/],
  ])('is refused for %s, and changes nothing', async (_name, before, format, outcome, message) => {
    writeFileSync(file, before, 'latin1');
    await expect(createFileSink(file, { append: toAppend(format) })).rejects.toMatchObject({
      outcome,
      message: expect.stringMatching(message),
    });
    expect(readFileSync(file, 'latin1')).toBe(before);
  });

  it('finds the last line and the header of a large file', async () => {
    writeFileSync(
      file,
      `\ufeff{"a":"${'x'.repeat(200_000)}"}\n${'{"a":1}\n'.repeat(20_000)}{"a":"${'x'.repeat(200_000)}"}`,
    );
    await place('{}', { append: {} });
    expect(read().endsWith('x"}\n{}')).toBe(true);
    writeFileSync(file, `"a","${'b'.repeat(100_000)}"\r\n${'1,"2\n3"\r\n'.repeat(20_000)}`);
    const append = { header: ['a', 'b'.repeat(100_000)] };
    const rows = await createFileSink(file, { append });
    expect(rows).toMatchObject({ lineEnd: '\r\n' });
    await rows.abandon();
  });

  it('the rows of every day have one header', async () => {
    const layout = entityLayout(['=city']);
    for (const name of ['=Monday', 'Tuesday']) {
      const plan = { shape: 'list', append: true, isNew: false, isDelimiterFixed: false } as const;
      const rows = await openRows(context, { ...plan, file, format: 'csv', layout }, async () => {});
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
