import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Context } from '../../context.ts';
import type { LeadpipeError } from '../../errors.ts';
import { withFolderLock } from '../../files/folder-lock.ts';
import { fromCheckedLine, noFollow, toCheckedLine } from '../../files/line-log.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { listOperations } from './folders.ts';
import { type IndexLine, toIndexLine } from './index-lines.ts';
import { readIntent, readOperation, type StoredOperation } from './stored.ts';

export type IndexKey = 'op' | 'like' | 'same' | 'output' | 'run' | 'key' | 'task';

export interface OperationIndex {
  /** The lines with this value, newest first. */
  find(key: IndexKey, value: string): Generator<IndexLine>;
  newest(): Generator<IndexLine>;
}

export type IndexContext = Pick<Context, 'clock' | 'directories' | 'pid' | 'random'>;

/** Throws where an operation that can cost this much must not begin. Nothing else begins meanwhile. */
export type Admit = (index: OperationIndex, worst: number) => void;

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
  const bytes = await readWhole(state);
  if (bytes !== undefined) return toIndex(bytes);
  const lines = toBytes(await readStored(state));
  await changing(context, async () => {
    // Another process may have made it meanwhile, and may have added to it.
    if ((await readWhole(state)) === undefined) await writeWhole(fileOfIndex(state), lines);
  }).catch(() => undefined);
  return toIndex((await readWhole(state)) ?? lines);
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
  await changing(context, async () => {
    const toEnd = (bytes: Buffer) => ({ size: bytes.length, crc: crc32(bytes) });
    let known = check && (await readWhole(state));
    let end = check ? known && toEnd(known) : await endOf(state);
    if (end === undefined) {
      known = toBytes(await readStored(state));
      await writeWhole(fileOfIndex(state), known);
      end = toEnd(known);
    }
    if (known !== undefined) check?.(toIndex(known));
    const bytes = Buffer.from(toText(line, end.crc));
    const handle = await openFile(state);
    try {
      await handle.truncate(end.size);
      await handle.write(bytes, 0, bytes.length, end.size);
      if (!isLate) await handle.datasync();
    } catch (error) {
      await handle.truncate(end.size).catch(() => undefined);
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
  await changing(context, async () => {
    const bytes = await readWhole(state);
    if (bytes === undefined) return;
    const lines = [...toIndex(bytes).newest()].reverse();
    await writeWhole(fileOfIndex(state), toBytes(lines.filter((line) => keeps(operationOf(line)))));
  });
}

export function operationOf(line: IndexLine): string {
  const [about] = Object.values(line) as { op: string }[];
  return about?.op ?? '';
}

async function changing(context: IndexContext, change: () => Promise<void>): Promise<void> {
  const folder = dirname(fileOfIndex(context.directories.state));
  await withFolderLock(folder, context, 'the index of operations', change);
}

async function openFile(stateDir: string): Promise<FileHandle> {
  return await open(fileOfIndex(stateDir), constants.O_RDWR | noFollow);
}

/**
 * Where the next line goes, and the checksum of everything before it, so that a line costs the same however long the index is. Undefined
 * where the index has to be made again.
 */
async function endOf(stateDir: string): Promise<{ size: number; crc: number } | undefined> {
  const handle = await openFile(stateDir).catch(() => undefined);
  try {
    const { size = 0 } = (await handle?.stat()) ?? {};
    const tail = Buffer.alloc(Math.min(size, longestTail));
    await handle?.read(tail, 0, tail.length, size - tail.length);
    const last = lastLineIn(tail);
    if (last === undefined) return undefined;
    const crc = crc32(tail.subarray(last.start, last.end), last.before);
    return { size: size - tail.length + last.end, crc };
  } finally {
    await handle?.close();
  }
}

/** All complete lines; undefined where there is no index, or where a byte has changed. */
async function readWhole(stateDir: string): Promise<Buffer | undefined> {
  const flag = constants.O_RDONLY | noFollow;
  const bytes = await readFile(fileOfIndex(stateDir), { flag }).catch(() => Buffer.alloc(0));
  const last = lastLineIn(bytes);
  return last?.before === crc32(bytes.subarray(0, last?.start)) ? bytes.subarray(0, last?.end) : undefined;
}

/** The last complete line, and the checksum of everything before it. What an incomplete line says was never sent. */
function lastLineIn(bytes: Buffer): { start: number; end: number; before: number } | undefined {
  const end = bytes.lastIndexOf(newline) + 1;
  const start = end < 2 ? 0 : bytes.lastIndexOf(newline, end - 2) + 1;
  const line = toLine(bytes.toString('utf8', start, Math.max(start, end - 1)));
  return line && { start, end, before: line.before };
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
  return toCheckedLine('index', `{"before":${before},"value":${JSON.stringify(line)}}`);
}

function toLine(text: string): { readonly before: number; readonly value: StoredLine } | undefined {
  const found = fromCheckedLine(text);
  return found?.member === 'index' ? JSON.parse(found.text) : undefined;
}

function toIndex(bytes: Buffer): OperationIndex {
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
    find: (key, value) => linesWith(`${JSON.stringify(key)}:${JSON.stringify(value)}`),
    // All lines have this. In a text, its quotes would be escaped.
    newest: () => linesWith(',"value":{'),
  };
}

/** The operations of some kinds, newest first. `damaged` gets those that can't be read. Throws LocalIoError. */
export async function* readNewest(
  context: IndexContext,
  isMeant: (kind: string) => boolean,
  damaged: (error: LeadpipeError) => void = () => {},
): AsyncGenerator<StoredOperation> {
  for (const line of (await openIndex(context)).newest()) {
    if (!('begun' in line) || !isMeant(line.begun.kind)) continue;
    const found = await readOperation(context.directories.state, line.begun.op).catch(damaged);
    if (found !== undefined) yield found;
  }
}

/** The operations that have this task, oldest first. Throws LocalIoError. */
export async function readOfTask(context: IndexContext, leadsSearchId: string): Promise<StoredOperation[]> {
  const operations: StoredOperation[] = [];
  for (const line of (await openIndex(context)).find('task', leadsSearchId)) {
    const op = 'begun' in line ? line.begun.op : 'created' in line ? line.created.op : '';
    const found = await readOperation(context.directories.state, op).catch(() => undefined);
    if (found !== undefined) operations.unshift(found);
  }
  return operations;
}

/** The kind of an operation of which nothing can be read. */
export const damagedKind = 'damaged';

/** The lines of all journals, in the order of the times in their IDs: no better order is known. */
async function readStored(stateDir: string): Promise<IndexLine[]> {
  const lines: IndexLine[] = [];
  const continues = new Map<string, string>();
  for (const op of await listOperations(stateDir)) {
    // The intent of a damaged journal can mostly be read, and must not be missing from the index.
    const operation = await readOperation(stateDir, op).catch(() => readIntent(stateDir, op));
    if (operation === null) {
      lines.push({ begun: { op, kind: damagedKind, time: '', origin: '', like: '' } });
      continue;
    }
    for (const entry of operation?.entries ?? []) {
      if (entry.type === 'continued') continues.set(entry.operation_id, op);
      const line = await toIndexLine(op, entry, operation?.entries ?? []);
      const first = continues.get(op);
      if (line === undefined) continue;
      lines.push(
        'begun' in line && first !== undefined ? { begun: { ...line.begun, continues: first } } : line,
      );
    }
  }
  return lines;
}
