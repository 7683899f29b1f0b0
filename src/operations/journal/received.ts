import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from '../../errors.ts';
import type { HeldLock } from '../../files/folder-lock.ts';
import {
  isOnOneLine,
  type LineContent,
  type LogState,
  openLog,
  readLog,
  toCrc32Line,
} from '../../files/line-log.ts';
import { writeAtomically } from '../../files/whole-file.ts';
import type { JsonText, Records } from '../../json/text.ts';

/**
 * The file in an operation's folder with what it has received, as the service sent it, one record on each line, in the order of arrival: the
 * leads of a search, the pages of a task, or the one answer. The rows of a list are in a file of their own (stored-rows.ts).
 */
export const receivedFile = 'received.jsonl';
/** The file with an unreadable answer, which may be paid for. */
export const garbledFile = 'answer.garbled';

/** Enough for a table to find its widths, and few enough to hold in memory. */
const recordsAtOnce = 100;

/**
 * The member names of a line: for a record on one line, and for a record on several lines, which is stored as a JSON string so that no byte
 * is lost. A dropped lead was not new for its list.
 */
const members = { delivered: ['record', 'text'], dropped: ['dropped', 'droppedtext'] } as const;

export interface ReceivedRecord {
  readonly text: JsonText;
  /** Whether it was delivered, and not dropped on this machine. */
  readonly isNew: boolean;
}

export type ReceivedLog = Awaited<ReturnType<typeof openReceived>>;

/**
 * Opens the received records of an operation, to add to them. `lock` is the operation's lock. `known` is the state that `readReceived` returned:
 * the file is cut off after it. Throws LocalIoError, LockLostError.
 */
export async function openReceived(folder: string, lock: HeldLock, known?: LogState) {
  const log = await openLog(join(folder, receivedFile), 'any', 'what arrives', lock, undefined, known);
  return {
    /**
     * When it returns, the records survive this process. Leads that are not new are stored as dropped, since they are paid for, too. Throws
     * LocalIoError.
     */
    append(records: Records, isNew?: readonly boolean[]): void {
      const lines = records.map((record, index) => {
        const [plain, escaped] = members[isNew?.[index] === false ? 'dropped' : 'delivered'];
        return isOnOneLine(record)
          ? toCrc32Line(plain, record)
          : toCrc32Line(escaped, JSON.stringify(record));
      });
      log.append(lines.join(''));
    },
    /** Resolves when everything that was added survives a power cut. */
    sync: log.sync,
    close: log.close,
  };
}

/** The size in bytes; undefined if nothing is stored (any more). */
export async function sizeOfReceived(folder: string): Promise<number | undefined> {
  return await stat(join(folder, receivedFile)).then(
    ({ size }) => size,
    () => undefined,
  );
}

/**
 * Yields the first `max` records in batches; none if nothing is stored (any more). Leaves out an incomplete last line, which was never printed,
 * and damaged lines, whose number and path `damaged` gets. Returns the state of the file up to there; undefined without a file. Throws what
 * `damaged` throws, LocalIoError.
 */
export async function* readReceived(
  folder: string,
  damaged: (line: number, path: string) => void,
  max = Number.POSITIVE_INFINITY,
): AsyncGenerator<ReceivedRecord[], LogState | undefined> {
  const path = join(folder, receivedFile);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  let records: ReceivedRecord[] = [];
  let [count, end] = [0, 0];
  for await (const { content, length, number, offset } of readLog(path)) {
    if (count === max) break;
    count++;
    const record = content && toRecord(content);
    if (record === undefined) damaged(number, path);
    else records.push(record);
    end = offset + length + 1;
    if (records.length < recordsAtOnce) continue;
    yield records;
    records = [];
  }
  if (records.length > 0) yield records;
  const { ino, mtimeMs, size } = found;
  return { ino, mtimeMs, size, end: Math.min(end, size) };
}

/** For a stored record that can't be read, where the rest would look complete without it. */
export function throwDamaged(line: number, path: string): never {
  throw new ConfigurationError(`line ${line} of ${path} is damaged`, { is: 'damaged_leads' });
}

function toRecord({ member, text }: LineContent): ReceivedRecord | undefined {
  for (const [state, [plain, escaped]] of Object.entries(members)) {
    const isNew = state === 'delivered';
    if (member === plain) return { text, isNew };
    if (member === escaped) return { text: JSON.parse(text) as string, isNew };
  }
  return undefined;
}

/** How many readable records were delivered, and how many were dropped on this machine. Throws LocalIoError. */
export async function countReceived(folder: string): Promise<{ delivered: number; excluded: number }> {
  let [delivered, excluded] = [0, 0];
  for await (const records of readReceived(folder, () => {})) {
    for (const { isNew } of records) isNew ? delivered++ : excluded++;
  }
  return { delivered, excluded };
}

/** The one answer, as the service sent it; undefined when there is none, or no longer. Throws ConfigurationError for a damaged one, LocalIoError. */
export async function readAnswer(folder: string): Promise<JsonText | undefined> {
  const damaged = (_: number, path: string): never => {
    throw new ConfigurationError(
      `the answer in ${path} is damaged`,
      "It can't be shown any more. leadpipe did not change it.",
    );
  };
  for await (const [record] of readReceived(folder, damaged, 1)) return record?.text;
  return undefined;
}

/** Stores an unreadable answer. Returns its path. Throws LocalIoError. */
export async function storeGarbled(folder: string, text: string, lock: HeldLock): Promise<string> {
  const path = join(folder, garbledFile);
  await writeAtomically(path, text, 'the answer', lock);
  return path;
}
