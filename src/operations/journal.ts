import { createHash } from 'node:crypto';
import { chmod, type FileHandle, mkdir, open, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TaskState } from '../contract/types.ts';
import { ConfigurationError, LocalIoError, type Outcome } from '../errors.ts';

/** What is about to be done. Nothing is sent whose intent is not on disk. */
export interface Intent {
  readonly type: 'intent';
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly command: string;
  /** The key and the exact body of the POST; absent when nothing is bought. */
  readonly idempotency_key?: string;
  readonly body?: string;
  /** The task, where it is known beforehand. */
  readonly leads_search_id?: string;
  readonly profile: string | null;
  readonly origin: string;
  /** Short and salted with the operation ID: tells keys apart, and nothing more. The key itself is never kept. */
  readonly key_fingerprint: string;
  /** Absolute path of the output file. */
  readonly output: string | null;
  /** What else shapes the output. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A line of the journal; names are the wire's. */
export type JournalEntry =
  | Intent
  | { readonly type: 'created'; readonly leads_search_id: string; readonly request_id: string | null }
  | {
      readonly type: 'page';
      readonly pts: number;
      readonly count: number;
      readonly next: number;
      readonly ready_count: number;
      readonly state: TaskState | null;
      /** Bytes of the output file that are on the disk; null when the output has none. */
      readonly output_length: number | null;
    }
  /** There is nothing left to do. */
  | {
      readonly type: 'terminal';
      readonly outcome: Outcome;
      readonly state: TaskState | null;
      readonly ready_count: number | null;
    };

/** The open journal of one operation. */
export interface Journal {
  /** Undefined for one that keeps nothing. */
  readonly operationId: string | undefined;
  /** Resolves when the line is on the disk. Throws LocalIoError. */
  append(entry: JournalEntry): Promise<void>;
  close(): Promise<void>;
}

export interface StoredOperation {
  readonly operationId: string;
  /** All that was written in full, the intent first. */
  readonly entries: readonly [Intent, ...JournalEntry[]];
}

const fileName = 'journal.jsonl';
const linePattern = /^\{"sha256":"([0-9a-f]{16})","entry":(.*)\}$/;

/** Keeps nothing, for --no-history. */
export const noJournal: Journal = { operationId: undefined, append: async () => {}, close: async () => {} };

/** Makes the folder of a new operation (0700, its files 0600, under any umask). Throws LocalIoError. */
export async function createJournal(stateDir: string, operationId: string): Promise<Journal> {
  const folder = join(stateDir, 'operations', operationId);
  const path = join(folder, fileName);
  let handle: FileHandle;
  try {
    await makePrivate(folder);
    handle = await open(path, 'ax', 0o600);
    await handle.chmod(0o600);
    await syncFolder(folder);
    await syncFolder(dirname(folder));
  } catch (error) {
    throw notKept(path, error);
  }
  return {
    operationId,
    async append(entry) {
      try {
        await handle.appendFile(toLine(entry));
        await handle.datasync();
      } catch (error) {
        throw notKept(path, error);
      }
    },
    close: () => handle.close(),
  };
}

/** Every operation of this machine, oldest first. Throws ConfigurationError for a damaged one, LocalIoError. */
export async function readOperations(stateDir: string): Promise<StoredOperation[]> {
  const root = join(stateDir, 'operations');
  const operations: StoredOperation[] = [];
  for (const operationId of (await readOrNothing(() => readdir(root), root)) ?? []) {
    const path = join(root, operationId, fileName);
    const text = await readOrNothing(() => readFile(path, 'utf8'), path);
    const [intent, ...rest] = toEntries(text ?? '', path);
    // A process that was killed before its intent was written has sent nothing.
    if (intent?.type === 'intent') operations.push({ operationId, entries: [intent, ...rest] });
  }
  return operations.sort((a, b) => (a.operationId < b.operationId ? -1 : 1));
}

/** Pure: a line with its checksum. */
export function toLine(entry: JournalEntry): string {
  const text = JSON.stringify(entry);
  return `{"sha256":"${checksumOf(text)}","entry":${text}}\n`;
}

/** Pure: the lines of a journal. A torn last one is ignored; throws ConfigurationError for a bad one before it. */
export function toEntries(text: string, path: string): JournalEntry[] {
  const lines = text.split('\n');
  // What follows the last line end was never finished.
  lines.pop();
  const entries: JournalEntry[] = [];
  for (const [index, line] of lines.entries()) {
    const [, checksum, entry = ''] = linePattern.exec(line) ?? [];
    if (checksum === checksumOf(entry)) entries.push(JSON.parse(entry));
    else if (index < lines.length - 1) {
      throw new ConfigurationError(
        `line ${index + 1} of ${path} is damaged`,
        'Move its folder away to go on without this operation; leadpipe has changed nothing.',
      );
    }
  }
  return entries;
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A umask can take rights from what `mkdir` makes, and from nothing else. */
async function makePrivate(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makePrivate(dirname(folder));
    // Once: some file systems say the same of a folder whose parent is there.
    await makeOne(folder);
  }
}

async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, 0o700);
    await chmod(folder, 0o700);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** The new name survives a power cut. Not every system can do that, and then it is no error. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function readOrNothing<T>(read: () => Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const code = codeOf(error);
    // A file among the folders is not ours.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new LocalIoError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function notKept(path: string, error: unknown): LocalIoError {
  const why = error instanceof Error ? error.message : String(error);
  return new LocalIoError(`cannot keep a record of this operation in ${path}: ${why}`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
