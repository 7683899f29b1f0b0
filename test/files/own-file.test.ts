import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  blocksOf,
  copyInto,
  createTemporaryFile,
  isPartName,
  linesIn,
  removeTemporaryFile,
  renameOverTarget,
  type TemporaryFile,
} from '../../src/files/own-file.ts';
import { bundle } from '../helpers/bundle.ts';
import { canMount, temporaryFolder } from '../helpers/run.ts';

let folder: string;
let target: string;
const handles: FileHandle[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  target = join(folder, 'leads.csv');
});
afterEach(async () => {
  for (const handle of handles.splice(0)) await handle.close();
});

async function opened(path: string, flags: string): Promise<FileHandle> {
  const handle = await open(path, flags);
  handles.push(handle);
  return handle;
}

/** Makes a file of a run's own; each name is told before, and `before` may do something with it. */
async function make(before: (path: string, nth: number) => void = () => {}, rights?: number) {
  const announced: string[] = [];
  const announce = async (path: string): Promise<void> => void before(path, announced.push(path));
  const own = await createTemporaryFile(target, announce, rights);
  handles.push(own.handle);
  return { own, announced };
}

const kindOf = (path: string): string => {
  const found = lstatSync(path);
  return found.isSymbolicLink() ? 'link' : found.isFIFO() ? 'fifo' : found.isDirectory() ? 'folder' : 'file';
};

describe('a file of a run’s own', () => {
  it('is announced before it is made, and is empty, for this user as for others', async () => {
    const { own, announced } = await make((path) => expect(() => lstatSync(path)).toThrow('ENOENT'));
    expect(announced).toEqual([own.path]);
    expect(own.path).toMatch(/\/leads\.csv\.[a-z]{6}\.part$/);
    await own.handle.appendFile('rows');
    expect(readFileSync(own.path, 'utf8')).toBe('rows');
    const others = await make(undefined, 0o600);
    expect(lstatSync(others.own.path).mode & 0o777).toBe(0o600);
    expect(lstatSync(own.path).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  it.skipIf(process.platform === 'win32').each<[what: string, plant: (path: string) => void]>([
    ['file', (path) => writeFileSync(path, 'of another')],
    ['link', (path) => symlinkSync(join(folder, 'elsewhere'), path)],
    ['folder', (path) => mkdirSync(path)],
    ['fifo', (path) => execFileSync('mkfifo', [path])],
  ])('is never one that is there already: a %s', async (what, plant) => {
    const { own, announced } = await make((path, nth) => (nth < 3 ? plant(path) : undefined));
    expect(announced).toHaveLength(3);
    expect(announced[2]).toBe(own.path);
    await own.handle.appendFile('rows');
    // They are as they were, and nothing came through the link.
    for (const one of announced.slice(0, 2)) {
      expect(kindOf(one)).toBe(what);
      if (what === 'file') expect(readFileSync(one, 'utf8')).toBe('of another');
    }
    expect(readdirSync(folder).sort()).toEqual(announced.map((path) => path.slice(folder.length + 1)).sort());
  });

  it('is not made where its name can’t be written down', async () => {
    const stop = (): never => {
      throw new Error('disk full');
    };
    await expect(make(stop)).rejects.toThrow('disk full');
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['/a/leads.csv.abcdef.part', true],
    ['/a/leads.csv.abcde.part', false],
    ['/a/leads.csv.abcdefg.part', false],
    ['/a/leads.csv.ABCDEF.part', false],
    ['/a/leads.csv.abc.ef.part', false],
    ['/a/leads.csv.part', false],
    ['/a/leads.csv.abcdef.part.csv', false],
    ['/a/other.csv.abcdef.part', false],
    ['/a/leads.csvxabcdef.part', false],
    ['leads.csv.abcdef.part', false],
  ])('can be %s: %s', (path, isOne) => expect(isPartName('/a/leads.csv', path)).toBe(isOne));
});

describe('the name of a file of a run’s own', () => {
  const place = (own: TemporaryFile) => renameOverTarget(own, target);
  const readTarget = () => readFileSync(target, 'utf8');

  async function withRows(): Promise<TemporaryFile> {
    writeFileSync(target, 'old');
    const { own } = await make();
    await own.handle.appendFile('rows');
    return own;
  }

  it('leads to its place', async () => {
    const own = await withRows();
    expect(await place(own)).toBe(true);
    expect([readTarget(), readdirSync(folder)]).toEqual(['rows', ['leads.csv']]);
    // It has another name now.
    await removeTemporaryFile(own);
    expect(await place(own)).toBe(false);
    expect(readTarget()).toBe('rows');
  });

  it('is removed, and need not be there', async () => {
    const own = await withRows();
    await removeTemporaryFile(own);
    await removeTemporaryFile(own);
    expect([readTarget(), readdirSync(folder)]).toEqual(['old', ['leads.csv']]);
    expect(await place(own)).toBe(false);
  });

  it.each<[what: string, exchange: (path: string, moved: string) => void]>([
    ['file', (path) => writeFileSync(path, 'of another')],
    ['link', (path, moved) => symlinkSync(moved, path)],
    ['folder', (path) => mkdirSync(path)],
  ])('is not used if it belongs to another %s', async (what, exchange) => {
    const own = await withRows();
    const moved = `${own.path}.moved`;
    renameSync(own.path, moved);
    exchange(own.path, moved);
    expect(await place(own)).toBe(false);
    await removeTemporaryFile(own);
    expect([readTarget(), kindOf(own.path), readFileSync(moved, 'utf8')]).toEqual(['old', what, 'rows']);
  });

  it('is used where the file has got another name beside it', async () => {
    const own = await withRows();
    linkSync(own.path, `${own.path}.kept`);
    expect(await place(own)).toBe(true);
    expect([readTarget(), readFileSync(`${own.path}.kept`, 'utf8')]).toEqual(['rows', 'rows']);
  });
});

/** Bytes that are not the same anywhere. */
const bytesOf = (length: number) =>
  Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, (_, at) => at).buffer).subarray(0, length);

describe('the bytes of a file', () => {
  const sizes = [0, 1, 4096, (1 << 20) - 1, 1 << 20, 3 * (1 << 20) + 17];
  const source = () => join(folder, 'source');

  it.each(sizes)('are all copied: %d', async (size) => {
    writeFileSync(source(), bytesOf(size));
    const from = await opened(source(), 'r');
    const to = await opened(join(folder, 'copy'), 'ax+');
    // It does not matter how far it was read.
    await from.read(Buffer.alloc(1), 0, 1);
    await copyInto(from, to);
    expect(readFileSync(join(folder, 'copy')).equals(bytesOf(size))).toBe(true);
    await to.appendFile('rows');
    expect(lstatSync(join(folder, 'copy')).size).toBe(size + 4);
    expect(readFileSync(source()).equals(bytesOf(size))).toBe(true);
  });

  it('come from the open file, even if its name has changed', async () => {
    writeFileSync(source(), bytesOf(10_000));
    const [from, to] = [await opened(source(), 'r'), await opened(join(folder, 'copy'), 'ax+')];
    renameSync(join(folder, 'copy'), join(folder, 'moved'));
    rmSync(source());
    for (const name of ['source', 'copy']) writeFileSync(join(folder, name), 'of another');
    await copyInto(from, to);
    expect(readFileSync(join(folder, 'moved')).equals(bytesOf(10_000))).toBe(true);
    for (const name of ['source', 'copy'])
      expect(readFileSync(join(folder, name), 'utf8')).toBe('of another');
  });

  it.runIf(canMount())('are copied without /proc, too', async () => {
    const worker = await bundle(join(import.meta.dirname, 'copy-worker.ts'));
    const bytes = bytesOf(3 * (1 << 20) + 17);
    writeFileSync(source(), bytes);
    const line = 'mount -t tmpfs none /proc && exec "$0" "$@"';
    const all = [process.execPath, worker, source(), join(folder, 'copy')];
    execFileSync('unshare', ['-m', 'sh', '-c', line, ...all]);
    const digest = (some: Buffer) => createHash('sha256').update(some).digest('hex');
    expect(digest(readFileSync(join(folder, 'copy')))).toBe(digest(bytes));
  });

  it.each([
    [0, undefined, 17],
    [5, undefined, 12],
    [0, 17, 17],
    [5, 9, 4],
    [5, 99, 12],
    [5, 5, 0],
    [20, undefined, 0],
  ])('are read from %d to %s', async (from, to, length) => {
    writeFileSync(source(), bytesOf(17));
    const read: Buffer[] = [];
    for await (const block of blocksOf(await opened(source(), 'r'), from, to)) read.push(block);
    expect(Buffer.concat(read).equals(bytesOf(17).subarray(from, from + length))).toBe(true);
  });

  it.each(sizes)('are read in blocks: %d', async (size) => {
    writeFileSync(source(), bytesOf(size));
    const read: Buffer[] = [];
    for await (const block of blocksOf(await opened(source(), 'r'))) read.push(block);
    expect(Buffer.concat(read).equals(bytesOf(size))).toBe(true);
    expect(Math.max(0, ...read.map(({ length }) => length))).toBeLessThanOrEqual(1 << 20);
  });

  it.each<[says: string, text: string, lines: readonly string[]]>([
    ['nothing', '', []],
    ['one', 'a\n', ['a']],
    // It is not whole.
    ['one and a part', 'a\nb', ['a']],
    ['empty ones', '\n\na\n', ['', '', 'a']],
    [
      'one over several blocks, cut within a character',
      `${'漢'.repeat(800_000)}\né\n`,
      ['漢'.repeat(800_000), 'é'],
    ],
  ])('are lines: %s', async (_, text, lines) => {
    writeFileSync(source(), text);
    const read: string[] = [];
    for await (const line of linesIn(await opened(source(), 'r'))) read.push(line);
    expect(read.length === lines.length && read.every((line, at) => line === lines[at])).toBe(true);
  });
});

it('a copy keeps the rights of the file that it is made in', async () => {
  const at = temporaryFolder();
  writeFileSync(join(at, 'from'), 'x', { mode: 0o644 });
  writeFileSync(join(at, 'to'), '', { mode: 0o600 });
  const [from, to] = [await open(join(at, 'from')), await open(join(at, 'to'), 'a+')];
  await copyInto(from, to);
  await from.close();
  await to.close();
  expect(statSync(join(at, 'to')).mode & 0o777).toBe(0o600);
});
