import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '../../digest.ts';
import type { Charged, Outcome } from '../../errors.ts';
import type { HeldLock } from '../../files/folder-lock.ts';
import {
  fromCheckedLine,
  isOnOneLine,
  type LogLine,
  notStored,
  openLog,
  openLogToRead,
  readLog,
  toCheckedLine,
} from '../../files/line-log.ts';
import { type JsonText, JsonView, objectOf, stringOf } from '../../json/text.ts';
import { damaged } from './entries.ts';
import { spareFile } from './journal-file.ts';

/** The file in a list's folder with its rows: each intent, and each answer or failure, in the order of arrival. */
export const rowsFile = 'rows.jsonl';

export type RowEnd =
  | { readonly state: 'answered'; readonly answer: JsonText; readonly requestId: string | undefined }
  | {
      readonly state: 'failed' | 'unknown';
      readonly outcome: Outcome;
      readonly message: string;
      readonly requestId: string | undefined;
      readonly charged: Charged;
      /** The unreadable answer, which may be paid for. */
      readonly body?: string | undefined;
      /** The key of the request whose answer was lost. */
      readonly key?: string | undefined;
    };

/** The line with the answer to a request or, without one, the last line about the request; and its state. */
interface StoredLine {
  readonly state: RowEnd['state'] | 'sent';
  /** Bytes. */
  readonly offset: number;
  readonly length: number;
  /** Whether a row of this run has asked for it. */
  seen: boolean;
}

/** Pure: a digest of the exact body of a request: the rows of a list of 100,000 have to fit into memory. */
export function toRowId(body: string): bigint {
  return BigInt(`0x${digestOf(body)}`);
}

export type KnownRows = NonNullable<Awaited<ReturnType<typeof openRowsOfOther>>>;

export type StoredRows = Awaited<ReturnType<typeof openStoredRows>>;

/** The state of each request in the rows file at `path`; `file` returns it once it is open. */
function createKnownRows(path: string, file: () => FileHandle) {
  const digests = new Map<bigint, StoredLine>();
  const counts = { answered: 0, sent: 0 };

  function put(digest: bigint, place: StoredLine): void {
    const before = digests.get(digest);
    const { state } = place;
    // Each key is stored once before it is sent. A failure means that it was refused and cost nothing.
    counts.sent += Number(state === 'sent') - Number(state === 'failed');
    // A later line of another process about this request is about its own attempt, which the service refused.
    if (before?.state === 'answered') {
      before.seen ||= place.seen;
      return;
    }
    counts.answered += Number(state === 'answered');
    place.seen ||= before?.seen === true;
    digests.set(digest, place);
  }

  async function viewAt({ length, offset }: StoredLine): Promise<JsonView> {
    const bytes = Buffer.alloc(length);
    await file()
      .read(bytes, 0, length, offset)
      .catch((error) => {
        throw notStored('rows', path, error);
      });
    const content = fromCheckedLine(bytes.toString('utf8'));
    if (content === undefined) throw damaged(undefined, path, 'this list');
    return new JsonView(content.text);
  }

  return {
    put,
    /** Takes what a line says. Throws ConfigurationError for a damaged one. */
    take({ length, number, offset, content }: LogLine): void {
      const [, digest] = /^\{"digest":"(\d+)"/.exec(content?.text ?? '') ?? [];
      if (digest === undefined) throw damaged(number, path, 'this list');
      put(BigInt(digest), { length, offset, state: content?.member as StoredLine['state'], seen: false });
    },
    answered: () => counts.answered,
    /** How many requests were sent and may have been charged. */
    sent: () => counts.sent,
    isEmpty: () => digests.size === 0,
    /** Answers that no row of this run has asked for. */
    unseen: () => [...digests.values()].filter(({ seen, state }) => !seen && state === 'answered').length,
    /** The state of a request; undefined if it was never about to be sent. */
    stateOf: (digest: bigint) => digests.get(digest)?.state,
    /** Marks a request as asked for by a row of this run. Returns whether another row has asked for it before. */
    see(digest: bigint): boolean {
      const place = digests.get(digest);
      const before = place?.seen === true;
      if (place !== undefined) place.seen = true;
      return before;
    },
    /**
     * The key with which a request without an answer was sent, or was about to be sent. Throws ConfigurationError for a damaged line,
     * LocalIoError.
     */
    async keyOf(digest: bigint): Promise<string> {
      const place = digests.get(digest);
      const key = place && stringOf((await viewAt(place)).member('key'));
      if (key === undefined) throw damaged(undefined, path, 'this list');
      return key;
    },
    /** How a request ended. Throws ConfigurationError for a damaged line, LocalIoError. */
    async endOf(digest: bigint): Promise<RowEnd> {
      const place = digests.get(digest);
      if (place === undefined || place.state === 'sent') throw damaged(undefined, path, 'this list');
      const view = await viewAt(place);
      const requestId = stringOf(view.member('request_id'));
      if (place.state === 'answered') return { state: 'answered', answer: answerIn(view), requestId };
      const { outcome, message, charged } = JSON.parse(view.text);
      return { state: place.state, outcome, message, charged, requestId };
    },
  };
}

/** Opens the rows of a list, new or begun; `lock` is that of the list. Throws ConfigurationError, LocalIoError, LockLostError. */
export async function openStoredRows(folder: string, lock: HeldLock) {
  const path = join(folder, rowsFile);
  const known = createKnownRows(path, () => log.handle);
  const log = await openLog(path, 'any', 'rows', lock, known.take);
  let full: unknown;

  /** On a full disk, answers that are in progress get the room of the spare file: they are paid for. Nothing more is intended then. */
  function add(line: string): number {
    try {
      return log.append(line);
    } catch (error) {
      full = error;
      return log.append(line, join(folder, spareFile));
    }
  }

  async function append(
    digest: bigint,
    state: StoredLine['state'],
    members: readonly (readonly [string, JsonText])[],
  ): Promise<void> {
    const line = toCheckedLine(state, objectOf([['digest', `"${digest}"`], ...members]));
    const offset = state === 'sent' ? log.append(line) : add(line);
    // Known before the sync: the next run finds the line even if the sync fails.
    known.put(digest, { offset, length: Buffer.byteLength(line) - 1, state, seen: true });
    await log.sync();
  }

  return {
    ...known,
    /**
     * Stores the exact `body` that is about to be sent. It survives a kill of this process when this returns, and a power cut when this
     * resolves. Throws LocalIoError.
     */
    async intend(
      digest: bigint,
      row: { number: number; line: number },
      key: string,
      body: string,
    ): Promise<void> {
      if (full !== undefined) throw full;
      await append(digest, 'sent', [
        ['row', String(row.number)],
        ['line', String(row.line)],
        ['key', JSON.stringify(key)],
        ['body', body],
      ]);
    },
    /** Stores the end of a request, with the same guarantees. */
    settle(digest: bigint, number: number, { state, requestId, ...ended }: RowEnd): Promise<void> {
      const members = Object.entries(ended).flatMap(([name, value]): [string, JsonText][] => {
        if (value === undefined) return [];
        // An answer on several lines is stored as a JSON string, so that no byte is lost.
        return [[name, name === 'answer' && isOnOneLine(value) ? value : JSON.stringify(value)]];
      });
      return append(digest, state, [
        ['row', String(number)],
        ['request_id', JSON.stringify(requestId ?? null)],
        ...members,
      ]);
    },
    close: log.close,
  };
}

/** The rows that another operation has stored, and may add to meanwhile; undefined where there are none. Throws as `openStoredRows`. */
export async function openRowsOfOther(folder: string) {
  if (!hasRows(folder)) return undefined;
  const path = join(folder, rowsFile);
  const known = createKnownRows(path, () => log.handle);
  const log = await openLogToRead(path, 'rows', known.take);
  return { ...known, close: log.close };
}

/**
 * How many rows of a list have an answer, how many of these have found something, and how much by `foundIn`, and how many rows may have been
 * charged, as far as they can be read. Throws LocalIoError.
 */
export async function countRows(folder: string, foundIn: (answer: JsonText) => number = () => 0) {
  const { take, answered, sent } = createKnownRows('', () => {
    throw new Error('rows that are only counted');
  });
  let [found, items] = [0, 0];
  if (hasRows(folder)) {
    for await (const line of readLog(join(folder, rowsFile))) {
      if (line.content === undefined) continue;
      const before = answered();
      take(line);
      if (answered() === before) continue;
      const count = foundIn(answerIn(new JsonView(line.content.text)));
      items += count;
      found += Number(count > 0);
    }
  }
  return { answered: answered(), found, items, sent: sent() };
}

export function hasRows(folder: string): boolean {
  return existsSync(join(folder, rowsFile));
}

/** The answers as the service sent them, in the order of arrival, each with its request ID (JSON). Throws LocalIoError. */
export async function* readStoredAnswers(
  folder: string,
): AsyncGenerator<{ readonly answer: JsonText; readonly requestId: JsonText }> {
  for await (const { content } of readLog(join(folder, rowsFile))) {
    if (content?.member !== 'answered') continue;
    const view = new JsonView(content.text);
    yield { answer: answerIn(view), requestId: view.member('request_id') ?? 'null' };
  }
}

function answerIn(view: JsonView): JsonText {
  const answer = view.member('answer') ?? 'null';
  return stringOf(answer) ?? answer;
}
