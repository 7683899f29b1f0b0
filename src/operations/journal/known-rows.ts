import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Charged, ConfigurationError, LocalIoError, type Outcome } from '../../errors.ts';
import { type JsonText, JsonView, stringOf } from '../../json/text.ts';
import { fromCheckedLine } from './checked-lines.ts';
import { createDigests, type Digests, type Place, type RowState } from './digests.ts';

/** Where the folder of a list holds its rows: each intent, and each answer or failure, in the order of arrival. */
export const rowsFile = 'rows.jsonl';

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

/** What is known of the rows of a list. */
export interface KnownRows {
  /** Whether nothing was ever about to be sent. */
  isEmpty(): boolean;
  /** What is known of a request; undefined when it was never about to be sent. */
  stateOf(digest: bigint): RowState | undefined;
  /** Marks a request as asked for by a row of this run; whether another row has asked for it before. */
  see(digest: bigint): boolean;
  /** The key that a request without an answer was sent with, or was about to be sent with. Throws LocalIoError. */
  keyOf(digest: bigint): Promise<string | undefined>;
  /** How a request ended. Throws ConfigurationError for a damaged line, LocalIoError. */
  endOf(digest: bigint): Promise<RowEnd>;
  close(): Promise<void>;
}

/** What is known of rows, counted line by line. */
export function createKnown() {
  const digests = createDigests();
  const counts = { answered: 0, sent: 0 };
  return {
    digests,
    counts,
    put(digest: bigint, state: RowState, place: { offset: number; length: number }, seen: boolean) {
      const before = digests.get(digest);
      counts.answered += Number(state === 'answered') - Number(before?.state === 'answered');
      // Each key is written down once before it is sent; what failed was refused for nothing.
      counts.sent += Number(state === 'sent') - Number(state === 'failed');
      digests.set(digest, { state, ...place, seen: seen || before?.seen === true });
    },
  };
}

/** The last lines of requests, read where they stand. */
export function toKnownRows(handle: FileHandle, path: string, { get, set, values }: Digests): KnownRows {
  async function viewAt(place: Place): Promise<JsonView> {
    const bytes = Buffer.alloc(place.length);
    await handle.read(bytes, 0, place.length, place.offset).catch((error) => notStored(path, error));
    const found = fromCheckedLine(bytes.toString('utf8'));
    if (found === undefined) throw damaged(undefined, path);
    return new JsonView(found.text);
  }
  return {
    isEmpty: () => values().next().done === true,
    stateOf: (digest) => get(digest)?.state,
    see(digest) {
      const place = get(digest);
      if (place !== undefined && !place.seen) set(digest, { ...place, seen: true });
      return place?.seen === true;
    },
    async keyOf(digest) {
      const place = get(digest);
      return place?.state === 'sent' ? stringOf((await viewAt(place)).member('key')) : undefined;
    },
    async endOf(digest) {
      const place = get(digest);
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
    close: () => handle.close(),
  };
}

/** What another operation has stored of its rows, which it may add to meanwhile; undefined where nothing is there. Throws as `openStoredRows`. */
export async function openRowsOfOther(folder: string): Promise<KnownRows | undefined> {
  const path = join(folder, rowsFile);
  if (!(await hasRows(folder))) return undefined;
  const handle = await open(path, 'r').catch((error) => notStored(path, error));
  const { digests, put } = createKnown();
  for await (const { line, number, ...place } of linesOf(handle)) {
    const entry = toEntry(line);
    if (entry === undefined) {
      await handle.close();
      throw damaged(number, path);
    }
    put(entry.digest, entry.state, place, false);
  }
  return toKnownRows(handle, path, digests);
}

/** How many rows of a list have an answer, and how many may have been charged. Throws LocalIoError. */
export async function countRows(folder: string): Promise<{ answered: number; sent: number }> {
  const { counts, put } = createKnown();
  if (!(await hasRows(folder))) return counts;
  const handle = await open(join(folder, rowsFile), 'r');
  try {
    for await (const { line, number: _, ...place } of linesOf(handle)) {
      const entry = toEntry(line);
      if (entry !== undefined) put(entry.digest, entry.state, place, false);
    }
  } finally {
    await handle.close();
  }
  return counts;
}

/** Whether answers of rows are there (still). */
export async function hasRows(folder: string): Promise<boolean> {
  return await stat(join(folder, rowsFile)).then(
    () => true,
    () => false,
  );
}

/** The answers as they came, in the order in which they did, with the request ID (JSON) of each. Throws LocalIoError. */
export async function* readStoredAnswers(
  folder: string,
): AsyncGenerator<{ readonly answer: JsonText; readonly requestId: JsonText }> {
  const handle = await open(join(folder, rowsFile), 'r');
  try {
    for await (const { line } of linesOf(handle)) {
      const found = fromCheckedLine(line);
      if (found?.member !== 'answered') continue;
      const view = new JsonView(found.text);
      const answer = view.member('answer') ?? 'null';
      yield { answer: stringOf(answer) ?? answer, requestId: view.member('request_id') ?? 'null' };
    }
  } finally {
    await handle.close();
  }
}

/** Its whole lines. Not readline: that takes U+2028 for the end of a line. */
export async function* linesOf(
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

export function toEntry(line: string): { digest: bigint; state: RowState } | undefined {
  const found = fromCheckedLine(line);
  const [, digest] = /^\{"digest":"(\d+)"/.exec(found?.text ?? '') ?? [];
  return digest === undefined ? undefined : { digest: BigInt(digest), state: found?.member as RowState };
}

export async function restOf(handle: FileHandle, from: number): Promise<string> {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(size - from);
  await handle.read(bytes, 0, bytes.length, from);
  return bytes.toString('utf8');
}

export function notStored(path: string, error: unknown): never {
  if (error instanceof LocalIoError) throw error;
  throw new LocalIoError(`can't store rows in ${path}: ${(error as Error).message}`, { cause: error });
}

export function damaged(line: number | undefined, path: string): ConfigurationError {
  return new ConfigurationError(
    `${line === undefined ? 'the last line' : `line ${line}`} of ${path} is damaged`,
    'To continue without this list, move its folder elsewhere. leadpipe did not change it.',
  );
}
