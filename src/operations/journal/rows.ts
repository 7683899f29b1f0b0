import { constants, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from '../../errors.ts';
import { objectOf } from '../../json/text.ts';
import { isTorn, toCheckedLine } from './checked-lines.ts';
import type { RowState } from './digests.ts';
import {
  createKnown,
  damaged,
  type KnownRows,
  linesOf,
  notStored,
  type RowEnd,
  restOf,
  rowsFile,
  toEntry,
  toKnownRows,
} from './known-rows.ts';

/** What is about to be sent. */
export interface RowIntent {
  readonly number: number;
  readonly line: number;
  readonly digest: bigint;
  readonly key: string;
  /** The exact bytes. */
  readonly body: string;
}

/** The rows of a list, in one file that only grows. */
export interface StoredRows extends KnownRows {
  /** How many requests have an answer. */
  answered(): number;
  /** How many requests were sent and may have been charged: not those that were refused for nothing. */
  sent(): number;
  /** Answers that no row of this run has asked for. */
  unseen(): number;
  /** When it returns, it survives this process, and when it resolves, a power cut. Throws LocalIoError. */
  intend(intent: RowIntent): Promise<void>;
  /** The same for the end of a request. */
  settle(digest: bigint, number: number, end: RowEnd): Promise<void>;
}

/**
 * Opens the rows of a list, new or begun. A torn last line is cut off. Throws ConfigurationError, LocalIoError.
 */
export async function openStoredRows(folder: string): Promise<StoredRows> {
  const path = join(folder, rowsFile);
  const fail = (error: unknown): never => notStored(path, error);
  const noFollow = constants.O_NOFOLLOW ?? 0;
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow;
  const handle = await open(path, flags, 0o600).catch(fail);
  const { counts, digests, put } = createKnown();
  let end = 0;
  try {
    await handle.chmod(0o600);
    for await (const { line, offset, length, number } of linesOf(handle)) {
      const entry = toEntry(line);
      if (entry === undefined) throw damaged(number, path);
      put(entry.digest, entry.state, { offset, length }, false);
      end = offset + length + 1;
    }
    if (!isTorn(await restOf(handle, end))) throw damaged(undefined, path);
    await handle.truncate(end);
  } catch (error) {
    await handle.close();
    throw error instanceof ConfigurationError ? error : fail(error);
  }

  /** Who waits for the disk, which takes all lines at once: one after the other they would take much longer. */
  let waiting: { done: () => void; failed: (error: unknown) => void }[] = [];
  let writing: Promise<void> | undefined;
  let failure: unknown;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      // An answer that has come makes room for the intent of another row: both lines go together.
      await new Promise((resolve) => setImmediate(resolve));
      const some = waiting;
      waiting = [];
      try {
        if (failure !== undefined) throw failure;
        await handle.datasync();
        for (const { done } of some) done();
      } catch (error) {
        failure ??= error;
        for (const { failed } of some) failed(error);
      }
    }
    writing = undefined;
  }

  /** When it returns, the line survives this process; when it resolves, a power cut. */
  async function append(digest: bigint, state: RowState, text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const place = { offset: end, length: bytes.length - 1 };
    try {
      if (failure !== undefined) throw failure;
      if (writeSync(handle.fd, bytes) < bytes.length) throw new Error('no space left on the device');
    } catch (error) {
      // A line added to an incomplete one would make both unreadable.
      failure ??= error;
      fail(error);
    }
    end += bytes.length;
    await new Promise<void>((done, failed) => {
      waiting.push({ done, failed });
      writing ??= flush();
    }).catch(fail);
    put(digest, state, place, true);
  }

  return {
    ...toKnownRows(handle, path, digests),
    answered: () => counts.answered,
    sent: () => counts.sent,
    unseen() {
      let count = 0;
      for (const { seen, state } of digests.values()) count += Number(!seen && state === 'answered');
      return count;
    },
    intend({ number, line, digest, key, body }) {
      const entry = objectOf([
        ['digest', `"${digest}"`],
        ['row', String(number)],
        ['line', String(line)],
        ['key', JSON.stringify(key)],
        ['body', body],
      ]);
      return append(digest, 'sent', toCheckedLine('sent', entry));
    },
    settle(digest, number, ended) {
      const about = [
        ['digest', `"${digest}"`],
        ['row', String(number)],
        ['request_id', JSON.stringify(ended.requestId ?? null)],
      ] as const;
      if (ended.state === 'answered') {
        // An answer on several lines is kept as a text of JSON, so that no byte is lost.
        const { answer } = ended;
        const kept = /[\n\r]/.test(answer) ? JSON.stringify(answer) : answer;
        return append(digest, 'answered', toCheckedLine('answered', objectOf([...about, ['answer', kept]])));
      }
      const { outcome, message, charged, brought } = ended;
      const said = Object.entries({ outcome, message, charged, ...(brought ? { brought } : {}) });
      const more = said.map(([name, value]) => [name, JSON.stringify(value)] as const);
      return append(digest, ended.state, toCheckedLine(ended.state, objectOf([...about, ...more])));
    },
    async close() {
      await writing;
      await handle.close();
    },
  };
}
