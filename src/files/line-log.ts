import { constants, createReadStream, ftruncateSync, rmSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { digestOf } from '../digest.ts';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { codeOf } from './error-code.ts';
import type { HeldLock } from './folder-lock.ts';
import { noFollow } from './own-file.ts';
import { syncFolder } from './private-folder.ts';
import { reasonOf } from './write-failure.ts';

/*
 * A file that only grows: lines of JSON, each with a checksum. Journals, rows, leads, the index and lists are such files. If a process is
 * killed, only the last line can be incomplete; every other line is as it was written, or is known to be damaged.
 */

/** The content of a line: a value and its name. */
export interface LineContent {
  readonly member: string;
  readonly text: JsonText;
}

/** A line and its place in the file. */
export interface LogLine {
  /** From 1. */
  readonly number: number;
  /** Start and length of the line in bytes; the length does not include the line end. */
  readonly offset: number;
  readonly length: number;
  /** Undefined where it is damaged. */
  readonly content: LineContent | undefined;
}

const checksums = {
  sha256: digestOf,
  crc32: (text: string) => crc32(text).toString(16).padStart(8, '0'),
};

const linePattern = /^\{"(sha256|crc32)":"([0-9a-f]+)","([a-z]+)":(.*)\}$/s;

/** Pure: a JSON value with its checksum as one line, with its line end: `{"sha256":"…","entry":…}`. */
export function toCheckedLine(member: string, text: JsonText): string {
  return `{"sha256":"${checksums.sha256(text)}","${member}":${text}}\n`;
}

/**
 * Pure: as above, for logs of up to a million lines. This checksum takes a third of the time. It finds all damage to a few adjacent bytes, and
 * misses one in four billion other cases.
 */
export function toCrc32Line(member: string, text: JsonText): string {
  return `{"crc32":"${checksums.crc32(text)}","${member}":${text}}\n`;
}

/** Pure: whether a text has no line ends. A regular expression would take ten times as long. */
export function isOnOneLine(text: string): boolean {
  return !text.includes('\n') && !text.includes('\r');
}

/** Pure: the content of a line (without its line end); undefined when it is damaged. */
export function fromCheckedLine(line: string): LineContent | undefined {
  const [, kind, checksum, member = '', text = ''] = linePattern.exec(line) ?? [];
  return kind && checksum === checksums[kind as keyof typeof checksums](text) ? { member, text } : undefined;
}

/** Pure: the content of each line, undefined for a damaged one. Leaves out an incomplete last line: what it says was never done. */
export function checkedLines(text: string): (LineContent | undefined)[] {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const content = lines.map(fromCheckedLine);
  return isTorn(rest) ? content : [...content, undefined];
}

/** Whether the end of a file is a line that was cut off, and not a complete one with a damaged line end. */
function isTorn(rest: string): boolean {
  return fromCheckedLine(rest.slice(0, -1)) === undefined;
}

/** As above, for a large file. Not readline, which takes U+2028 for a line end. Throws LocalIoError. */
export async function* readLog(path: string): AsyncGenerator<LogLine> {
  // A line can be as long as an answer, so its pieces are only joined once.
  let pieces: Buffer[] = [];
  let offset = 0;
  let number = 0;
  try {
    for await (const piece of createReadStream(path, {
      highWaterMark: 256 * 1024,
    }) as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
        const line = Buffer.concat([...pieces, piece.subarray(from, end)]);
        const { length } = line;
        yield { number: ++number, offset, length, content: fromCheckedLine(line.toString()) };
        pieces = [];
        offset += length + 1;
        from = end + 1;
      }
      if (from < piece.length) pieces.push(piece.subarray(from));
    }
  } catch (error) {
    throw new LocalIoError(`can't read ${path}: ${(error as Error).message}`, { cause: error });
  }
  const rest = Buffer.concat(pieces);
  if (!isTorn(rest.toString())) yield { number: number + 1, offset, length: rest.length, content: undefined };
}

/** Removes the spare file to make room on a full disk. If this fails, the next write reports it. */
function removeSpare(spare: string | undefined): void {
  try {
    if (spare !== undefined) rmSync(spare, { force: true });
  } catch {}
}

function noSpace(): Error {
  return Object.assign(new Error('no space left on the device'), { code: 'ENOSPC' });
}

/** Pure: the error of something that can't be stored. Errors of leadpipe stay as they are. */
export function notStored(what: string, path: string, error: unknown): LeadpipeError {
  if (error instanceof LeadpipeError) return error;
  const why = codeOf(error) === 'ELOOP' ? 'it is a symbolic link' : reasonOf(error);
  return new LocalIoError(`can't store ${what} in ${path}: ${why}`, { cause: error });
}

/** State of a log when it was read. Logs only grow, so if none of this has changed, the lines are the same. */
export interface LogState {
  readonly ino: number;
  readonly mtimeMs: number;
  /** Bytes. */
  readonly size: number;
  /** The end of its last whole line. */
  readonly end: number;
}

/** Pure: whether a log is as it was when it was read. */
export function isUnchanged(known: LogState, found: Omit<LogState, 'end'>): boolean {
  return known.size === found.size && known.mtimeMs === found.mtimeMs && known.ino === found.ino;
}

/** A log that is open for adding lines. */
export type LineLog = Awaited<ReturnType<typeof openLog>>;

const appendFlags = constants.O_RDWR | constants.O_APPEND;
const flagsOf = {
  new: appendFlags | constants.O_CREAT | constants.O_EXCL,
  there: appendFlags,
  any: appendFlags | constants.O_CREAT,
} as const;

/** A log that another process may add to meanwhile. `take` gets each line. Throws LocalIoError, and what `take` throws. */
export async function openLogToRead(path: string, what: string, take: (line: LogLine) => void) {
  const { handle } = await openAndRead(path, constants.O_RDONLY, what, take);
  return { handle, close: () => handle.close() };
}

async function openAndRead(
  path: string,
  flags: number,
  what: string,
  take: (line: LogLine) => void,
  known?: LogState,
) {
  const fail = (error: unknown): never => {
    throw notStored(what, path, error);
  };
  const handle = await open(path, flags | noFollow, 0o600).catch(fail);
  try {
    const found = await handle.stat();
    const { size } = found;
    if (known !== undefined && isUnchanged(known, found))
      return { handle, size, end: known.end, wasRead: false };
    /** The end of the last whole line. */
    let end = 0;
    for await (const line of readLog(path)) {
      take(line);
      if (line.offset + line.length < size) end = line.offset + line.length + 1;
    }
    return { handle, size, end, wasRead: true };
  } catch (error) {
    await handle.close();
    return fail(error);
  }
}

/**
 * Opens a log of `what` (0600 under any umask): `new`, `there` (existing) or `any`. `take` gets each line, unless the log is unchanged since the
 * caller read it (`known`). Removes an incomplete last line, which would damage the next one. Nothing is written without the `lock`. Throws
 * LocalIoError and LockLostError, as `append` and `sync` do, and what `take` throws.
 */
export async function openLog(
  path: string,
  which: keyof typeof flagsOf,
  what: string,
  lock: HeldLock,
  take: (line: LogLine) => void = () => {},
  known?: LogState,
) {
  const fail = (error: unknown): never => {
    throw notStored(what, path, error);
  };
  const opened = await openAndRead(path, flagsOf[which], what, take, known);
  const { handle, size, wasRead, end: endOfLines } = opened;
  let end = endOfLines;
  try {
    if (which !== 'there') await handle.chmod(0o600);
    if (end < size) {
      lock.confirm();
      await handle.truncate(end);
    }
    // A new file must also be synced in its folder to survive a power cut.
    if (size === 0) await syncFolder(dirname(path));
  } catch (error) {
    await handle.close();
    fail(error);
  }
  /**
   * After a failure nothing more is added: an incomplete line would damage the next one, and after a failed sync the content of the disk is
   * unknown. On a full disk the incomplete line is cut off, so that the last lines can follow in the room of a spare file.
   */
  let failure: unknown;
  let isFull = false;
  let syncing = Promise.resolve();
  let next: Promise<void> | undefined;

  function tryTruncate(from: number): boolean {
    try {
      ftruncateSync(handle.fd, from);
      return true;
    } catch {
      return false;
    }
  }

  async function syncNow(): Promise<void> {
    await syncing.catch(() => undefined);
    // Everything that is added in this turn of the event loop is synced together.
    await new Promise((resolve) => setImmediate(resolve));
    next = undefined;
    if (failure !== undefined) throw failure;
    syncing = handle.datasync();
    await syncing.catch((error: unknown) => {
      failure ??= error;
      throw error;
    });
  }

  return {
    handle,
    wasRead,
    /** Bytes. */
    size: () => end,
    /**
     * Adds lines; from then on they survive the end of this process. Returns their offset. Synchronous, since the thread pool takes several times as
     * long. On a full disk, the `spare` file is removed to make room.
     */
    append(lines: string, spare?: string): number {
      if (failure !== undefined && !(isFull && spare !== undefined)) fail(failure);
      lock.confirm();
      const from = end;
      let bytes = Buffer.from(lines);
      if (isFull) removeSpare(spare);
      for (let isLast = isFull || spare === undefined; ; isLast = true) {
        try {
          const written = writeSync(handle.fd, bytes);
          if (written === bytes.length) break;
          // Whole lines that fit stay: they may have been paid for.
          const whole = bytes.subarray(0, written).lastIndexOf('\n') + 1;
          end += whole;
          bytes = bytes.subarray(whole);
          throw noSpace();
        } catch (error) {
          isFull = codeOf(error) === 'ENOSPC' && tryTruncate(end);
          if (isLast || !isFull) {
            failure = error;
            fail(error);
          }
          removeSpare(spare);
        }
      }
      [failure, isFull] = [undefined, false];
      end += bytes.length;
      return from;
    },
    /** Removes the lines from this offset on. They were not synced, so nothing may rely on them. */
    removeFrom(from: number): void {
      // If this fails, they stay, and may be gone after a power cut.
      if (tryTruncate(from)) end = from;
    },
    /** Resolves when all lines survive a power cut. Calls that wait at the same time share one sync. */
    sync(): Promise<void> {
      next ??= syncNow();
      return next.catch(fail);
    },
    async close(): Promise<void> {
      await Promise.allSettled([next, syncing]);
      await handle.close();
    },
  };
}
