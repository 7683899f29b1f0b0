import { constants, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { StoreContext } from '../../context.ts';
import { codeOf } from '../../files/error-code.ts';
import { type HeldLock, isLocked, LockLostError, withFolderLock } from '../../files/folder-lock.ts';
import { fromCheckedLine, toCheckedLine } from '../../files/line-log.ts';
import { noFollow } from '../../files/own-file.ts';
import { writeAtomically } from '../../files/whole-file.ts';
import type { JournalEntry } from './entries.ts';
import { folderOf, isOperationId, listOperations } from './folders.ts';
import { type IndexLine, toIndexLine } from './index-lines.ts';
import { createJournals, type Journals, journalFile, spareFile } from './journal-file.ts';

export type IndexKey = 'op' | 'like' | 'same' | 'output' | 'run' | 'key' | 'task';

export type OperationIndex = ReturnType<typeof toIndex>;

/** Throws if the purchase of this line must not begin. No other purchase begins meanwhile. */
export type Admit = (index: OperationIndex, line: IndexLine) => Promise<void>;

const what = 'the index of operations';
const newline = 0x0a;
/** Bytes to read from the end to find the last line: lines are much shorter. */
const longestTail = 1 << 16;

function fileOfIndex(stateDir: string): string {
  return join(stateDir, 'index', 'operations.jsonl');
}

/** A run's view of this machine's records: the index is read once, each journal again only if it has changed. */
export interface Reader {
  readonly openIndex: () => Promise<OperationIndex>;
  readonly journals: Journals;
}

/** `journals` is the cache to use. `mayStore`: whether to store an index that had to be rebuilt. */
export function createReader(
  context: StoreContext,
  journals: Journals = createJournals(context.directories.state),
  mayStore = true,
): Reader {
  let opened: Promise<OperationIndex> | undefined;
  const open = () => (mayStore ? openIndex(context, journals) : readIndex(journals));
  return { openIndex: () => (opened ??= open()), journals };
}

/**
 * Reads the index. Where it is missing, damaged, or older than the journals, it is made again from these, and stored if possible. Throws
 * LocalIoError where the journals can't be read.
 */
export async function openIndex(
  context: StoreContext,
  journals: Journals = createJournals(context.directories.state),
): Promise<OperationIndex> {
  const stored = await readWhole(journals);
  if (stored !== undefined) return toIndex(stored);
  const made = changing(context, (lock) => readOrMake(journals, lock));
  return await made.then(toIndex, () => readIndex(journals));
}

/** As `openIndex`, but locks and stores nothing. */
async function readIndex(journals: Journals): Promise<OperationIndex> {
  return toIndex((await readWhole(journals)) ?? { bytes: toBytes(await readJournals(journals)) });
}

/**
 * Adds the line of an entry that is not in the journal yet; `journalSize` is the length of the journal. The line is on the disk when this
 * resolves. Returns its number. `check` gets the index first, under its lock. Throws what `check` and the file system throw.
 */
export async function addToIndex(
  context: StoreContext,
  line: IndexLine,
  journalSize: number,
  check: ((index: OperationIndex) => Promise<void>) | undefined,
): Promise<number> {
  const { state } = context.directories;
  return await changing(context, async (lock) => {
    const known =
      (check ? undefined : await readStored(state, 'end')) ?? (await readOrMake(createJournals(state), lock));
    await check?.(toIndex(known));
    const number = known.number + 1;
    await addBehind(state, known, [{ number, size: journalSize, value: line }], lock, true);
    return number;
  });
}

/** Adds lines of entries that the journal has. A power cut may lose them, which is noticed when the index is read. */
export async function addRecordedToIndex(
  context: StoreContext,
  lines: readonly IndexLine[],
  journalSize: number,
): Promise<void> {
  const { state } = context.directories;
  await changing(context, async (lock) => {
    const known = (await readStored(state, 'end')) ?? (await readOrMake(createJournals(state), lock));
    const { number } = known;
    const placed = lines.map((value) => ({ number, size: journalSize, value }));
    await addBehind(state, known, placed, lock, false);
  });
}

export async function filterIndex(
  context: StoreContext,
  keeps: (operationId: string) => boolean,
): Promise<void> {
  const { state } = context.directories;
  await changing(context, async (lock) => {
    const stored = await readStored(state, 'all');
    if (stored === undefined) return;
    const lines = [...storedLines(stored.bytes)].reverse();
    const kept = lines.filter(({ value }) => keeps(value.op));
    await writeAtomically(fileOfIndex(state), toBytes(kept), what, lock);
  });
}

async function changing<T>(context: StoreContext, change: (lock: HeldLock) => Promise<T>): Promise<T> {
  const folder = dirname(fileOfIndex(context.directories.state));
  return await withFolderLock(folder, context, what, change);
}

/** Reads the index, or rebuilds and stores it if necessary. Throws LocalIoError. */
async function readOrMake(journals: Journals, lock: HeldLock): Promise<Stored> {
  const stored = await readWhole(journals);
  if (stored !== undefined) return stored;
  const bytes = toBytes(await readJournals(journals));
  await writeAtomically(fileOfIndex(journals.stateDir), bytes, what, lock);
  return toStored(bytes, bytes.length) as Stored;
}

/** The index; undefined where it has to be made again: it is missing, damaged, or older than the journals. */
async function readWhole(journals: Journals): Promise<Stored | undefined> {
  // List the operations before reading the index: each is added to the index before its journal is written, so the index must have it.
  const names = namesOfOperations(journals.stateDir);
  const stored = await readStored(journals.stateDir, 'all');
  return stored === undefined || (await isBehind(journals, stored.bytes, names)) ? undefined : stored;
}

/** Adds lines after the last complete one. */
async function addBehind(
  stateDir: string,
  { crc, size }: Stored,
  lines: readonly Placed[],
  lock: HeldLock,
  isSynced: boolean,
): Promise<void> {
  let before = crc;
  const texts = lines.map((line) => {
    const text = toText({ before, ...line });
    before = crc32(text, before);
    return text;
  });
  const bytes = Buffer.from(texts.join(''));
  const handle = await open(fileOfIndex(stateDir), constants.O_RDWR | noFollow);
  try {
    lock.confirm();
    await handle.truncate(size);
    const { bytesWritten } = await handle.write(bytes, 0, bytes.length, size);
    if (bytesWritten < bytes.length) throw new Error('no space left on the device');
    if (isSynced) await handle.datasync();
  } catch (error) {
    if (!(error instanceof LockLostError)) await handle.truncate(size).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
}

/** The stored index, without an incomplete last line, whose request was never sent. */
interface Stored {
  /** All lines, or the last ones. */
  readonly bytes: Buffer;
  /** The place of the next line, and the checksum of everything before it. */
  readonly size: number;
  readonly crc: number;
  /** The highest sequence number assigned. */
  readonly number: number;
}

/**
 * Undefined if there is no index, or if the part that was read is damaged. `end`: only the last lines, so that adding a line takes the same time for an
 * index of any length.
 */
async function readStored(stateDir: string, part: 'all' | 'end'): Promise<Stored | undefined> {
  const flags = constants.O_RDONLY | noFollow;
  const handle = await open(fileOfIndex(stateDir), flags).catch(() => undefined);
  try {
    const { size = 0 } = (await handle?.stat()) ?? {};
    const bytes = Buffer.alloc(part === 'all' ? size : Math.min(size, longestTail));
    await handle?.read(bytes, 0, bytes.length, size - bytes.length);
    return toStored(bytes, size);
  } finally {
    await handle?.close();
  }
}

/** Pure: parses the last bytes of an index of this size. Undefined if they are damaged. */
function toStored(bytes: Buffer, size: number): Stored | undefined {
  const from = size - bytes.length;
  const end = bytes.lastIndexOf(newline) + 1;
  const start = end < 2 ? 0 : bytes.lastIndexOf(newline, end - 2) + 1;
  const last = toStoredLine(bytes.toString('utf8', start, Math.max(start, end - 1)));
  if (last === undefined || (from === 0 && last.before !== crc32(bytes.subarray(0, start)))) return undefined;
  const crc = crc32(bytes.subarray(start, end), last.before);
  return { bytes: bytes.subarray(0, end), size: from + end, crc, number: last.number };
}

interface StoredLine {
  /** The checksum of everything before it, so that the last line alone shows damage anywhere. */
  readonly before: number;
  /** The highest sequence number of an entry, up to this line. */
  readonly number: number;
  /** The length of the journal in bytes when this was written: a journal that has not grown has nothing new. */
  readonly size: number;
  readonly value: IndexLine;
}

/** A line without the checksum of the lines before it. */
type Placed = Omit<StoredLine, 'before'>;

/** The first line is about the index itself, so that an index without operations has a line, too. */
const firstLine = { number: 0, size: 0, value: { index: 1 } as unknown as IndexLine };

function toBytes(lines: readonly Placed[]): Buffer {
  let [crc, number] = [0, 0];
  const texts = [firstLine, ...lines].map((line) => {
    number = Math.max(number, line.number);
    const text = toText({ before: crc, ...line, number });
    crc = crc32(text, crc);
    return text;
  });
  return Buffer.from(texts.join(''));
}

function toText({ before, number, size, value }: StoredLine): string {
  return toCheckedLine('line', JSON.stringify({ before, number, size, value }));
}

function toStoredLine(text: string): StoredLine | undefined {
  const found = fromCheckedLine(text);
  return found?.member === 'line' ? JSON.parse(found.text) : undefined;
}

/** The start of the value of a line. In a text, these quotes would be escaped. */
const beginOfValue = ',"value":{"is":';

/** The lines that contain this text, newest first. */
function* storedLines(bytes: Buffer, wanted = beginOfValue): Generator<StoredLine> {
  for (let at = bytes.lastIndexOf(wanted); at !== -1; ) {
    const start = bytes.lastIndexOf(newline, at) + 1;
    const line = toStoredLine(bytes.toString('utf8', start, bytes.indexOf(newline, start)));
    if (line !== undefined) yield line;
    at = start === 0 ? -1 : bytes.lastIndexOf(wanted, start - 1);
  }
}

function toIndex({ bytes }: Pick<Stored, 'bytes'>) {
  function* linesWith(wanted?: string): Generator<IndexLine> {
    for (const { value } of storedLines(bytes, wanted)) yield value;
  }
  return {
    /** The lines with this value, newest first. */
    find: (key: IndexKey, value: string) => linesWith(`${JSON.stringify(key)}:${JSON.stringify(value)}`),
    newest: () => linesWith(),
  };
}

/**
 * Whether the journals have entries that the index lacks: it is an older copy, or its last lines were lost. Runs each time the index is read,
 * so it opens only journals that have grown and whose process has ended: a running process adds its own lines.
 */
async function isBehind(journals: Journals, bytes: Buffer, names: readonly string[]): Promise<boolean> {
  const text = bytes.toString('latin1');
  const places = lastPlaces(text);
  for (const op of names) {
    const place = places.get(op);
    // Nothing is added to a journal that is complete.
    if (place !== undefined && text.startsWith(complete, place + op.length)) continue;
    const folder = folderOf(journals.stateDir, op);
    if (place === undefined) {
      if (isOperationId(op) && hasContent(folder)) return true;
      continue;
    }
    const size = Number.parseInt(text.slice(text.lastIndexOf(beginOfSize, place) + beginOfSize.length), 10);
    if (sizeOf(join(folder, journalFile)) <= size || isLocked(folder)) continue;
    const known = [...storedLines(bytes, `${operationPrefix}${op}"`)].map(({ value }) => value.is);
    for (const { value } of linesOf(op, await readableEntries(journals, op))) {
      const at = known.indexOf(value.is);
      if (at === -1) return true;
      known.splice(at, 1);
    }
  }
  return false;
}

const operationPrefix = '"op":"';
const beginOfSize = '"size":';
/** The text after the ID of an operation in the line of its completion. */
const complete = '","outcome":"complete"';

/** The last offset of each operation ID in an index. The lines are not parsed, because there may be many. */
function lastPlaces(text: string): Map<string, number> {
  const places = new Map<string, number>();
  for (let at = text.indexOf(operationPrefix); at !== -1; at = text.indexOf(operationPrefix, at)) {
    at += operationPrefix.length;
    places.set(text.slice(at, text.indexOf('"', at)), at);
  }
  return places;
}

/** In any order. */
function namesOfOperations(stateDir: string): string[] {
  try {
    return readdirSync(join(stateDir, 'operations'));
  } catch {
    // Reading the operations reports the error.
    return [];
  }
}

/** Whether a folder has a file that is not empty. The files of an operation are empty when they are created. */
function hasContent(folder: string): boolean {
  try {
    return readdirSync(folder).some(
      (name) => !['lock', spareFile].includes(name) && sizeOf(join(folder, name)) > 0,
    );
  } catch (error) {
    // The folder of another user can't be read: it may have content.
    return codeOf(error) === 'EACCES';
  }
}

/** Bytes; 0 where there is no such file. */
function sizeOf(path: string): number {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() ? found.size : 0;
  } catch {
    return 0;
  }
}

/** The kind of an unreadable operation. */
export const damagedKind = 'damaged';

/** The lines of all journals, in the order in which they were written down. */
async function readJournals(journals: Journals): Promise<Placed[]> {
  const lines: Placed[] = [];
  for (const op of await listOperations(journals.stateDir)) {
    const folder = folderOf(journals.stateDir, op);
    const size = sizeOf(join(folder, journalFile));
    const found = linesOf(op, await readableEntries(journals, op));
    // One that can't be read must not be missing from the index.
    if (found.length > 0) lines.push(...found.map((line) => ({ ...line, size })));
    else if (hasContent(folder)) lines.push({ number: 0, size, value: toDamaged(op) });
  }
  return lines.sort((a, b) => a.number - b.number);
}

/** Pure: the lines of one journal. A line of an entry without a number gets the number of the entry before it. */
function linesOf(op: string, entries: readonly JournalEntry[]): Omit<Placed, 'size'>[] {
  let number = 0;
  return entries.flatMap((entry) => {
    if ('number' in entry) ({ number = number } = entry);
    const value = toIndexLine(op, entry, entries[0]);
    return value === undefined ? [] : [{ number, value }];
  });
}

function toDamaged(op: string): IndexLine {
  return { is: 'begun', op, kind: damagedKind, time: '', like: '' };
}

/** The entries of a journal up to the first that can't be read. */
async function readableEntries(journals: Journals, op: string): Promise<readonly JournalEntry[]> {
  return (await journals.read(op).catch(() => undefined))?.entries ?? [];
}
