import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Context } from '../../context.ts';
import type { Outcome } from '../../errors.ts';
import { awaitLock } from '../../files/folder-lock.ts';
import { makePrivateFolder } from '../../files/private-folder.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { fromCheckedLine, toCheckedLine } from './checked-lines.ts';

/** What is known of an operation without its journal. What stands here only finds it: its journal decides. */
export interface Begun {
  readonly op: string;
  readonly kind: string;
  readonly time: string;
  /** Where it is bought. */
  readonly origin: string;
  /** Of the request: the same for the same order from the same service. */
  readonly like: string;
  /** Of the request, the output file and its form; absent without a file. */
  readonly same?: string;
  /** Of the output file. */
  readonly output?: string;
  /** Of the name of a run, and what its rows are sent. */
  readonly run?: string;
  /** Of the idempotency key. */
  readonly key?: string;
  /** The task, where it is known beforehand. */
  readonly task?: string;
  /** Begun by an agent's call. */
  readonly tool?: true;
  /** The search that it is the rest of. */
  readonly continues?: string;
  /** The credits that it can cost at most, as far as that was known. */
  readonly worst?: number;
}

/** A line of the index. The order of the lines is the order of the operations, whatever a clock says. */
export type IndexLine =
  | { readonly begun: Begun }
  /** The service has named the task. */
  | { readonly created: { readonly op: string; readonly task: string } }
  /** It is gone on with, into this file. */
  | { readonly opened: { readonly op: string; readonly output: string } }
  /** It can cost more than was counted: a list that is gone on with. */
  | { readonly reserved: { readonly op: string; readonly time: string; readonly worst: number } }
  /** How it ended. What was set aside for it at most counts as this from then on. */
  | {
      readonly ended: {
        readonly op: string;
        readonly outcome: Outcome;
        readonly same?: string;
        readonly worst?: number;
      };
    };

/** What an operation can be looked for by. */
export type IndexKey = 'op' | 'like' | 'same' | 'output' | 'run' | 'key' | 'task';

export interface OperationIndex {
  /** The lines that name this, the newest first. */
  find(key: IndexKey, value: string): Generator<IndexLine>;
  /** All of them, the newest first. */
  newest(): Generator<IndexLine>;
}

export type IndexContext = Pick<Context, 'clock' | 'directories' | 'pid' | 'random'>;

/** Throws where something that costs this much must not begin; nothing else begins meanwhile. */
export type Admit = (index: OperationIndex, worst: number) => void;

/** Makes the lines of all that is stored, in the best order that is known. */
export type ReadStored = (stateDir: string) => Promise<IndexLine[]>;

const newline = 0x0a;
/** Bytes in which the last line stands: no line is near as long. */
const longestTail = 1 << 16;

function folderOfIndex(stateDir: string): string {
  return join(stateDir, 'index');
}

function fileOfIndex(stateDir: string): string {
  return join(folderOfIndex(stateDir), 'operations.jsonl');
}

/**
 * The index as it stands. Where it is missing or damaged, it is made anew from what is stored, and kept where that can be.
 * Throws LocalIoError where what is stored can't be read.
 */
export async function readIndex(context: IndexContext, readStored: ReadStored): Promise<OperationIndex> {
  const { state } = context.directories;
  const bytes = await readWhole(state);
  if (bytes !== undefined) return toIndex(bytes);
  const lines = toBytes(await readStored(state));
  await changing(context, async () => {
    // Another process may have made it meanwhile, and have added to it.
    if ((await readWhole(state)) === undefined) await writeWhole(fileOfIndex(state), lines);
  }).catch(() => undefined);
  return toIndex((await readWhole(state)) ?? lines);
}

/**
 * Adds a line at the end, on the disk when it resolves, unless it `isLate`: then its journal has it already. `check` sees what
 * stands there, and nothing else is added meanwhile. Throws what `check` throws, and what the file system throws.
 */
export async function addToIndex(
  context: IndexContext,
  line: IndexLine,
  readStored: ReadStored,
  {
    check,
    isLate = false,
  }: { readonly check?: ((index: OperationIndex) => void) | undefined; readonly isLate?: boolean } = {},
): Promise<void> {
  const { state } = context.directories;
  await changing(context, async () => {
    let end = await endOf(state);
    let known = check === undefined ? undefined : await readWhole(state);
    if (end === undefined || (check !== undefined && known === undefined)) {
      known = toBytes(await readStored(state));
      await writeWhole(fileOfIndex(state), known);
      end = { size: known.length, crc: crc32(known) };
    }
    if (known !== undefined) check?.(toIndex(known));
    const bytes = Buffer.from(toText(line, end.crc));
    const handle = await openIndex(state);
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

/** Writes the index anew with the lines that `keeps` is true of. */
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

/** Pure: the operation that a line tells of. */
export function operationOf(line: IndexLine): string {
  const [about] = Object.values(line) as { op: string }[];
  return about?.op ?? '';
}

async function changing(context: IndexContext, change: () => Promise<void>): Promise<void> {
  const folder = folderOfIndex(context.directories.state);
  await makePrivateFolder(folder);
  const lock = await awaitLock(folder, context, 'the index of operations');
  try {
    await change();
  } finally {
    lock.release();
  }
}

async function openIndex(stateDir: string): Promise<FileHandle> {
  return await open(fileOfIndex(stateDir), constants.O_RDWR | (constants.O_NOFOLLOW ?? 0));
}

/** Where the next line goes, and the checksum of all in front of it. Undefined where the index has to be made anew. */
async function endOf(stateDir: string): Promise<{ size: number; crc: number } | undefined> {
  const handle = await openIndex(stateDir).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    const tail = Buffer.alloc(Math.min(size, longestTail));
    await handle.read(tail, 0, tail.length, size - tail.length);
    // A line that was never finished tells of nothing that was sent.
    const end = tail.lastIndexOf(newline) + 1;
    const line = tail.subarray(end < 2 ? end : tail.lastIndexOf(newline, end - 2) + 1, end);
    const before = toLine(line.toString('utf8', 0, line.length - 1))?.before;
    return before === undefined ? undefined : { size: size - tail.length + end, crc: crc32(line, before) };
  } finally {
    await handle.close();
  }
}

/** All whole lines; undefined where there is no index, or a byte of it is not what was written. */
async function readWhole(stateDir: string): Promise<Buffer | undefined> {
  const found = await readFile(fileOfIndex(stateDir)).catch(() => undefined);
  const bytes = found?.subarray(0, found.lastIndexOf(newline) + 1);
  if (bytes === undefined || bytes.length === 0) return undefined;
  const start = bytes.lastIndexOf(newline, bytes.length - 2) + 1;
  const before = toLine(bytes.toString('utf8', start, bytes.length - 1))?.before;
  return before === crc32(bytes.subarray(0, start)) ? bytes : undefined;
}

/** A line about the index itself comes first: one of nothing is there too. */
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

/** Each line has the checksum of all in front of it, so that one look at the last finds damage anywhere. */
function toText(line: StoredLine, before: number): string {
  return toCheckedLine('index', `{"before":${before},"value":${JSON.stringify(line)}}`);
}

function toLine(text: string): { readonly before: number; readonly value: StoredLine } | undefined {
  const found = fromCheckedLine(text);
  return found?.member === 'index' ? JSON.parse(found.text) : undefined;
}

function toIndex(bytes: Buffer): OperationIndex {
  const lineAt = (position: number): { readonly start: number; readonly lines: IndexLine[] } => {
    const start = position < 0 ? 0 : bytes.lastIndexOf(newline, position) + 1;
    const line = toLine(bytes.toString('utf8', start, bytes.indexOf(newline, start)))?.value;
    return { start, lines: line === undefined || 'index' in line ? [] : [line] };
  };
  return {
    *find(key, value) {
      const wanted = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
      for (let at = bytes.lastIndexOf(wanted); at !== -1; ) {
        const { start, lines } = lineAt(at);
        yield* lines;
        at = start === 0 ? -1 : bytes.lastIndexOf(wanted, start - 1);
      }
    },
    *newest() {
      for (let end = bytes.length; end > 0; ) {
        const { start, lines } = lineAt(end - 2);
        yield* lines;
        end = start;
      }
    },
  };
}
