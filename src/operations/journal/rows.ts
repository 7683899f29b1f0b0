import { constants, writeSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Charged, ConfigurationError, LocalIoError, type Outcome } from '../../errors.ts';
import { type JsonText, JsonView, objectOf, stringOf } from '../../json/text.ts';
import { fromCheckedLine, isTorn, toCheckedLine } from './checked-lines.ts';
import { createDigests, createRowDigests, type Place, type RowState } from './digests.ts';

/** Where the folder of a list holds its rows: each intent, and each answer or failure, in the order of arrival. */
export const rowsFile = 'rows.jsonl';

/** What is about to be sent. */
export interface RowIntent {
  readonly number: number;
  readonly line: number;
  readonly digest: bigint;
  readonly key: string;
  /** The exact bytes. */
  readonly body: string;
}

/** How the request of a row ended. */
export type RowEnd =
  | { readonly state: 'answered'; readonly answer: JsonText; readonly requestId: string | undefined }
  | {
      readonly state: 'failed' | 'unknown';
      readonly outcome: Outcome;
      readonly message: string;
      readonly requestId: string | undefined;
      readonly charged: Charged;
      /** What came instead of an answer: it may hold what was paid for. */
      readonly brought?: string | undefined;
    };

/** The rows of a list, in one file that only grows. */
export interface StoredRows {
  /** How many requests have an answer. */
  answered(): number;
  /** How many requests may have been charged: those with an answer, and those whose answer is not here. */
  bought(): number;
  /** Bytes of all that is stored. */
  readonly length: number;
  /** Whether what is known of a request was stored in front of this length. */
  isBefore(digest: bigint, length: number): boolean;
  /** Whether the row of this number was another one in an earlier run. */
  isChanged(row: number, digest: bigint): boolean;
  /** What is known of a request; undefined when it was never about to be sent. */
  stateOf(digest: bigint): RowState | undefined;
  /** The key that a request without an answer was sent with, or was about to be sent with. Throws LocalIoError. */
  keyOf(digest: bigint): Promise<string | undefined>;
  /** How a request ended. Throws ConfigurationError for a damaged line, LocalIoError. */
  endOf(digest: bigint): Promise<RowEnd>;
  /** When it returns, it survives this process, and when it resolves, a power cut. Throws LocalIoError. */
  intend(intent: RowIntent): Promise<void>;
  /** The same for the end of a request. */
  settle(digest: bigint, number: number, end: RowEnd): Promise<void>;
  close(): Promise<void>;
}

/** Opens the rows of a list, new or begun. A torn last line is cut off. Throws ConfigurationError, LocalIoError. */
export async function openStoredRows(folder: string): Promise<StoredRows> {
  const path = join(folder, rowsFile);
  const fail = (error: unknown): never => {
    if (error instanceof LocalIoError) throw error;
    throw new LocalIoError(`can't store rows in ${path}: ${(error as Error).message}`, { cause: error });
  };
  const noFollow = constants.O_NOFOLLOW ?? 0;
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow;
  const handle = await open(path, flags, 0o600).catch(fail);
  const digests = createDigests();
  const before = createRowDigests();
  let end = 0;
  let answered = 0;
  let bought = 0;
  const put = (digest: bigint, place: Place): void => {
    const before = digests.get(digest)?.state ?? 'failed';
    answered += Number(place.state === 'answered') - Number(before === 'answered');
    bought += Number(place.state !== 'failed') - Number(before !== 'failed');
    digests.set(digest, place);
  };
  try {
    await handle.chmod(0o600);
    for await (const { line, offset, length, number } of linesOf(handle)) {
      const entry = toEntry(line);
      if (entry === undefined) throw damaged(number, path);
      put(entry.digest, { state: entry.state, offset, length });
      before.set(entry.row, entry.digest);
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
    const place = { state, offset: end, length: bytes.length - 1 };
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
    put(digest, place);
  }

  async function viewAt(place: Place): Promise<JsonView> {
    const bytes = Buffer.alloc(place.length);
    await handle.read(bytes, 0, place.length, place.offset).catch(fail);
    const found = fromCheckedLine(bytes.toString('utf8'));
    if (found === undefined) throw damaged(undefined, path);
    return new JsonView(found.text);
  }

  return {
    answered: () => answered,
    bought: () => bought,
    get length() {
      return end;
    },
    isBefore: (digest, length) => (digests.get(digest)?.offset ?? length) < length,
    isChanged: (row, digest) => (before.get(row) ?? digest) !== digest,
    stateOf: (digest) => digests.get(digest)?.state,
    async keyOf(digest) {
      const place = digests.get(digest);
      return place?.state === 'sent' ? stringOf((await viewAt(place)).member('key')) : undefined;
    },
    async endOf(digest) {
      const place = digests.get(digest);
      if (place === undefined || place.state === 'sent') throw damaged(undefined, path);
      const view = await viewAt(place);
      const requestId = stringOf(view.member('request_id'));
      if (place.state === 'answered') {
        const answer = view.member('answer') ?? 'null';
        return { state: 'answered', answer: stringOf(answer) ?? answer, requestId };
      }
      const { outcome, message, charged } = JSON.parse(view.text) as {
        outcome: Outcome;
        message: string;
        charged: Charged;
      };
      return { state: place.state, outcome, message, charged, requestId };
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

/** How many rows have an answer that can be read. Throws LocalIoError. */
export async function countAnsweredRows(folder: string): Promise<number> {
  let answered = 0;
  if (!(await hasRows(folder))) return answered;
  for await (const _ of readStoredAnswers(folder)) answered++;
  return answered;
}

/** Whether answers of rows are there (still). */
export async function hasRows(folder: string): Promise<boolean> {
  return await stat(join(folder, rowsFile)).then(
    () => true,
    () => false,
  );
}

/** The answers, in the order in which they came. Throws LocalIoError. */
export async function* readStoredAnswers(folder: string): AsyncGenerator<JsonText> {
  const handle = await open(join(folder, rowsFile), 'r');
  try {
    for await (const { line } of linesOf(handle)) {
      const found = fromCheckedLine(line);
      if (found?.member !== 'answered') continue;
      const answer = new JsonView(found.text).member('answer') ?? 'null';
      yield stringOf(answer) ?? answer;
    }
  } finally {
    await handle.close();
  }
}

/** Its whole lines. Not readline: that takes U+2028 for the end of a line. */
async function* linesOf(
  file: FileHandle,
): AsyncGenerator<{ line: string; offset: number; length: number; number: number }> {
  const { size } = await file.stat();
  let rest = Buffer.alloc(0);
  let offset = 0;
  let number = 0;
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(256 * 1024), 0, 256 * 1024, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    for (let to = rest.indexOf(10); to !== -1; to = rest.indexOf(10)) {
      yield { line: rest.toString('utf8', 0, to), offset, length: to, number: ++number };
      offset += to + 1;
      rest = rest.subarray(to + 1);
    }
  }
}

function toEntry(line: string): { digest: bigint; row: number; state: RowState } | undefined {
  const found = fromCheckedLine(line);
  const [, digest, row] = /^\{"digest":"(\d+)","row":(\d+)/.exec(found?.text ?? '') ?? [];
  if (digest === undefined) return undefined;
  return { digest: BigInt(digest), row: Number(row), state: found?.member as RowState };
}

async function restOf(handle: FileHandle, from: number): Promise<string> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(size - from);
  await handle.read(bytes, 0, bytes.length, from);
  return bytes.toString('utf8');
}

function damaged(line: number | undefined, path: string): ConfigurationError {
  return new ConfigurationError(
    `${line === undefined ? 'the last line' : `line ${line}`} of ${path} is damaged`,
    'To continue without this list, move its folder elsewhere. leadpipe did not change it.',
  );
}
