import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Context } from '../../context.ts';
import type { LeadpipeError } from '../../errors.ts';
import { type HeldLock, LockLostError, withFolderLock } from '../../files/folder-lock.ts';
import { fromCheckedLine, noFollow, toCheckedLine } from '../../files/line-log.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { type Operation, readOperation } from '../operation.ts';
import { listOperations } from './folders.ts';
import { type IndexLine, toIndexLine } from './index-lines.ts';
import { type Entries, readEntries, readIntent } from './journal-file.ts';

export type IndexKey = 'op' | 'like' | 'same' | 'output' | 'run' | 'key' | 'task';

export type OperationIndex = ReturnType<typeof toIndex>;

export type IndexContext = Pick<Context, 'clock' | 'directories' | 'pid' | 'random'>;

/** Throws where an operation that can cost this much must not begin. Nothing else begins meanwhile. */
export type Admit = (index: OperationIndex, worst: number) => void;

const what = 'the index of operations';
const newline = 0x0a;
/** How many bytes are read to find the last line: no line is nearly as long. */
const longestTail = 1 << 16;

function fileOfIndex(stateDir: string): string {
  return join(stateDir, 'index', 'operations.jsonl');
}

/**
 * Reads the index. Where it is missing or damaged, it is made again from the journals, and stored if possible. Throws LocalIoError where
 * the journals can't be read.
 */
export async function openIndex(context: IndexContext): Promise<OperationIndex> {
  const { state } = context.directories;
  const stored = await readStored(state, 'all');
  if (stored !== undefined) return toIndex(stored);
  const made = changing(context, (lock) => readOrMake(state, 'all', lock));
  return toIndex(await made.catch(async () => ({ bytes: toBytes(await readJournals(state)) })));
}

/**
 * Adds a line at the end. It is on the disk when this resolves, unless it `isLate`, since the journal has it then. `check` sees the index
 * before, and no other process adds to it meanwhile. Throws what `check` and the file system throw.
 */
export async function addToIndex(
  context: IndexContext,
  line: IndexLine,
  check: ((index: OperationIndex) => void) | undefined,
  isLate = false,
): Promise<void> {
  const { state } = context.directories;
  await changing(context, async (lock) => {
    const known = await readOrMake(state, check ? 'all' : 'end', lock);
    check?.(toIndex(known));
    const bytes = Buffer.from(toText(line, known.crc));
    const handle = await open(fileOfIndex(state), constants.O_RDWR | noFollow);
    try {
      lock.confirm();
      await handle.truncate(known.size);
      await handle.write(bytes, 0, bytes.length, known.size);
      if (!isLate) await handle.datasync();
    } catch (error) {
      if (!(error instanceof LockLostError)) await handle.truncate(known.size).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
  });
}

export async function thinIndex(
  context: IndexContext,
  keeps: (operationId: string) => boolean,
): Promise<void> {
  const { state } = context.directories;
  await changing(context, async (lock) => {
    const stored = await readStored(state, 'all');
    if (stored === undefined) return;
    const lines = [...toIndex(stored).newest()].reverse();
    await writeWhole(fileOfIndex(state), toBytes(lines.filter((line) => keeps(line.op))), what, lock);
  });
}

async function changing<T>(context: IndexContext, change: (lock: HeldLock) => Promise<T>): Promise<T> {
  const folder = dirname(fileOfIndex(context.directories.state));
  return await withFolderLock(folder, context, what, change);
}

/** As `readStored`; where the index has to be made again, that is done. Throws LocalIoError. */
async function readOrMake(stateDir: string, part: 'all' | 'end', lock: HeldLock): Promise<Stored> {
  const stored = await readStored(stateDir, part);
  if (stored !== undefined) return stored;
  const bytes = toBytes(await readJournals(stateDir));
  await writeWhole(fileOfIndex(stateDir), bytes, what, lock);
  return { bytes, size: bytes.length, crc: crc32(bytes) };
}

/** What is stored, without an incomplete last line: what that says was never sent. */
interface Stored {
  /** All lines, or the last ones. */
  readonly bytes: Buffer;
  /** Where the next line goes, and the checksum of everything before it. */
  readonly size: number;
  readonly crc: number;
}

/**
 * Reads all lines, or only the `end`, so that adding a line costs the same however long the index is. Undefined where the index has to be
 * made again: where there is none, or where a byte of what was read has changed.
 */
async function readStored(stateDir: string, part: 'all' | 'end'): Promise<Stored | undefined> {
  const flags = constants.O_RDONLY | noFollow;
  const handle = await open(fileOfIndex(stateDir), flags).catch(() => undefined);
  try {
    const { size = 0 } = (await handle?.stat()) ?? {};
    const bytes = Buffer.alloc(part === 'all' ? size : Math.min(size, longestTail));
    const from = size - bytes.length;
    await handle?.read(bytes, 0, bytes.length, from);
    const end = bytes.lastIndexOf(newline) + 1;
    const start = end < 2 ? 0 : bytes.lastIndexOf(newline, end - 2) + 1;
    const before = toLine(bytes.toString('utf8', start, Math.max(start, end - 1)))?.before;
    if (before === undefined || (from === 0 && before !== crc32(bytes.subarray(0, start)))) return undefined;
    const crc = crc32(bytes.subarray(start, end), before);
    return { bytes: bytes.subarray(0, end), size: from + end, crc };
  } finally {
    await handle?.close();
  }
}

/** The first line is about the index itself, so that an index without operations has a line, too. */
type StoredLine = IndexLine | { readonly index: 1 };

function toBytes(lines: readonly IndexLine[]): Buffer {
  let crc = 0;
  const texts = [{ index: 1 } as const, ...lines].map((line) => {
    const text = toText(line, crc);
    crc = crc32(text, crc);
    return text;
  });
  return Buffer.from(texts.join(''));
}

/** Each line has the checksum of everything before it, so that the last line alone shows damage anywhere. */
function toText(line: StoredLine, before: number): string {
  return toCheckedLine('line', `{"before":${before},"value":${JSON.stringify(line)}}`);
}

function toLine(text: string): { readonly before: number; readonly value: StoredLine } | undefined {
  const found = fromCheckedLine(text);
  return found?.member === 'line' ? JSON.parse(found.text) : undefined;
}

function toIndex({ bytes }: Pick<Stored, 'bytes'>) {
  /** The lines that contain this text, newest first. */
  function* linesWith(wanted: string): Generator<IndexLine> {
    for (let at = bytes.lastIndexOf(wanted); at !== -1; ) {
      const start = bytes.lastIndexOf(newline, at) + 1;
      const line = toLine(bytes.toString('utf8', start, bytes.indexOf(newline, start)))?.value;
      if (line !== undefined && !('index' in line)) yield line;
      at = start === 0 ? -1 : bytes.lastIndexOf(wanted, start - 1);
    }
  }
  return {
    /** The lines with this value, newest first. */
    find: (key: IndexKey, value: string) => linesWith(`${JSON.stringify(key)}:${JSON.stringify(value)}`),
    // All lines have this. In a text, its quotes would be escaped.
    newest: () => linesWith(',"value":{'),
  };
}

/** The operations of some kinds, newest first. `damaged` gets those that can't be read. Throws LocalIoError. */
export async function* readNewest(
  context: IndexContext,
  isMeant: (kind: string) => boolean,
  damaged: (error: LeadpipeError) => void = () => {},
): AsyncGenerator<Operation> {
  for (const line of (await openIndex(context)).newest()) {
    if (line.is !== 'begun' || !isMeant(line.kind)) continue;
    const found = await readOperation(context.directories.state, line.op).catch(damaged);
    if (found !== undefined) yield found;
  }
}

/** The operations that have this task, oldest first. Throws LocalIoError. */
export async function readOfTask(context: IndexContext, leadsSearchId: string): Promise<Operation[]> {
  const operations: Operation[] = [];
  for (const line of (await openIndex(context)).find('task', leadsSearchId)) {
    const found = await readOperation(context.directories.state, line.op).catch(() => undefined);
    if (found !== undefined) operations.unshift(found);
  }
  return operations;
}

/** The kind of an operation of which nothing can be read. */
export const damagedKind = 'damaged';

/** The lines of all journals, in the order of the times in their IDs: no better order is known. */
async function readJournals(stateDir: string): Promise<IndexLine[]> {
  const lines: IndexLine[] = [];
  for (const op of await listOperations(stateDir)) {
    // The intent of a damaged journal can mostly be read, and must not be missing from the index.
    const entries = await readEntries(stateDir, op).catch(async () => [await readIntent(stateDir, op)]);
    for (const entry of entries ?? []) {
      if (entry === undefined) {
        lines.push({ is: 'begun', op, kind: damagedKind, time: '', origin: '', like: '' });
        continue;
      }
      const line = await toIndexLine(op, entry, (entries ?? []) as Entries);
      if (line !== undefined) lines.push(line);
    }
  }
  return lines;
}
