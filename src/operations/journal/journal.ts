import { constants, writeSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LeadpipeError, LocalIoError, UsageError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { type FolderLock, lockFolder, lockLost } from '../../files/folder-lock.ts';
import { makePrivateFolder, syncFolder } from '../../files/private-folder.ts';
import { damaged, type Intent, type JournalEntry, toEntries, toLine } from './entries.ts';

export type { Intent, JournalEntry } from './entries.ts';

/** The open journal of one operation. */
export interface Journal {
  /** Undefined for one that keeps nothing. */
  readonly operationId: string | undefined;
  /** Resolves when the lines are on the disk, together. Throws LocalIoError. */
  append(...entries: readonly JournalEntry[]): Promise<void>;
  /** Returns when the line is with the system: it survives this process, and is on the disk with the next `append`. Throws LocalIoError. */
  note(entry: JournalEntry): void;
  close(): Promise<void>;
  /** Removes all of it, where nothing was sent and nothing is to be said of it; it has no ID any more. */
  discard(): Promise<void>;
}

export interface StoredOperation {
  readonly operationId: string;
  /** All that was written in full, the intent first. */
  readonly entries: readonly [Intent, ...JournalEntry[]];
}

const fileName = 'journal.jsonl';
/** A link in its place would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Every operation of this machine. */
export interface StoredOperations {
  /** Oldest first. */
  readonly operations: readonly StoredOperation[];
  /** Why others can't be read, an error each, which names the file. */
  readonly damages: readonly LeadpipeError[];
}

/** Keeps nothing, for --no-history. */
export const noJournal: Journal = {
  operationId: undefined,
  append: async () => {},
  note() {},
  close: async () => {},
  discard: async () => {},
};

/**
 * Makes the folder of a new operation (0700, its files 0600, under any umask), locked until the journal is closed.
 * Throws LocalIoError.
 */
export async function createJournal(stateDir: string, operationId: string, pid: number): Promise<Journal> {
  const folder = folderOf(stateDir, operationId);
  const path = join(folder, fileName);
  try {
    await makePrivateFolder(folder);
    const lock = await lockFolder(folder, pid, 'this operation');
    const handle = await open(path, 'ax', 0o600).catch(releasing(lock));
    await handle.chmod(0o600);
    await Promise.all([syncFolder(folder), syncFolder(dirname(folder))]);
    return toJournal(operationId, path, handle, lock);
  } catch (error) {
    throw notKept(path, error);
  }
}

/**
 * Opens the journal of an operation of this machine to go on with it, locked until it is closed. A torn last line is
 * cut off. Throws `temporary`, naming the process, when another one is at work on it; `not_found` when there is no
 * such operation; ConfigurationError for a damaged one, LocalIoError.
 */
export async function openJournal(
  stateDir: string,
  operationId: string,
  pid: number,
): Promise<{ readonly journal: Journal; readonly operation: StoredOperation }> {
  const folder = folderOf(stateDir, operationId);
  const path = join(folder, fileName);
  const known = isOperationId(operationId) && (await readOrNothing(() => readFile(path), path)) !== undefined;
  if (!known) throw toUnknownOperation(operationId, await listOperations(stateDir));
  let lock: FolderLock | undefined;
  try {
    lock = await lockFolder(folder, pid, 'this operation');
    const text = await readFile(path, 'utf8');
    const [intent, ...rest] = toEntries(text, path);
    if (intent?.type !== 'intent')
      throw new UsageError(`operation ${operationId} has no record of a request: nothing was bought`);
    const handle = await open(path, constants.O_WRONLY | constants.O_APPEND | noFollow);
    const journal = toJournal(operationId, path, handle, lock);
    await handle.truncate(wholeBytes(text, rest.length + 1)).catch((error: unknown) => {
      return journal.close().then(() => Promise.reject(error));
    });
    return { journal, operation: { operationId, entries: [intent, ...rest] } };
  } catch (error) {
    await lock?.release();
    throw notKept(path, error);
  }
}

function toJournal(operationId: string, path: string, handle: FileHandle, lock: FolderLock): Journal {
  // A line added to an incomplete one would make both unreadable.
  let failure: LeadpipeError | undefined;
  const fail = (error: unknown): never => {
    failure = notKept(path, error);
    throw failure;
  };
  // A way through the thread pool takes several times as long as the write itself.
  const write = (entries: readonly JournalEntry[]): void => {
    if (failure !== undefined) throw failure;
    if (!lock.isHeld()) throw lockLost('this operation');
    const bytes = Buffer.from(entries.map(toLine).join(''));
    try {
      if (writeSync(handle.fd, bytes) < bytes.length) throw new Error('no space left on the device');
    } catch (error) {
      fail(error);
    }
  };
  let isThere = true;
  const close = async (): Promise<void> => {
    if (!isThere) return;
    await handle.close();
    await lock.release();
  };
  return {
    get operationId() {
      return isThere ? operationId : undefined;
    },
    async append(...entries) {
      write(entries);
      await handle.datasync().catch(fail);
    },
    note: (entry) => write([entry]),
    close,
    async discard() {
      await close();
      isThere = false;
      // If this fails, the folder stays: nothing was sent for it, and `prune` removes it later.
      await rm(dirname(path), { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

/** Pure: the error of an ID that this machine doesn't know; typing errors are likelier than lost operations. */
export function toUnknownOperation(operationId: string, known: readonly string[]): LeadpipeError {
  return new LeadpipeError(
    'not_found',
    `there is no operation ${operationId.slice(0, 100)} on this machine`,
    {
      type: 'operation_not_found',
      facts: { is: 'no_operation', operationId, known },
      retryable: false,
    },
  );
}

/** Every operation of this machine. One that can't be read hides no other. Throws LocalIoError. */
export async function readOperations(stateDir: string): Promise<StoredOperations> {
  const operations: StoredOperation[] = [];
  const damages: LeadpipeError[] = [];
  for (const operationId of await listOperations(stateDir)) {
    try {
      const operation = await readOperation(stateDir, operationId);
      if (operation !== undefined) operations.push(operation);
    } catch (error) {
      if (!(error instanceof LeadpipeError)) throw error;
      damages.push(error);
    }
  }
  return { operations, damages };
}

/** The newest operations of this machine, the oldest of them first, without those that can't be read. Throws LocalIoError. */
export async function readNewest(stateDir: string, count: number): Promise<StoredOperation[]> {
  const ids = (await listOperations(stateDir)).slice(-count);
  const operations = await Promise.all(ids.map((id) => readOperation(stateDir, id).catch(() => undefined)));
  return operations.filter((operation) => operation !== undefined);
}

/** The IDs of everything that looks like an operation, oldest first. Throws LocalIoError. */
export async function listOperations(stateDir: string): Promise<string[]> {
  const root = join(stateDir, 'operations');
  return ((await readOrNothing(() => readdir(root), root)) ?? []).filter(isOperationId).sort();
}

/**
 * Undefined when there is no such operation, or it was killed before its intent was written, and so has sent nothing.
 * Throws ConfigurationError for a damaged one, LocalIoError.
 */
export async function readOperation(
  stateDir: string,
  operationId: string,
): Promise<StoredOperation | undefined> {
  const path = join(folderOf(stateDir, operationId), fileName);
  const text = await readOrNothing(() => readFile(path, 'utf8'), path);
  const [intent, ...rest] = toEntries(text ?? '', path);
  // What was bought is stored only behind an intent.
  if (intent === undefined && (await hasBought(folderOf(stateDir, operationId)))) throw damaged(1, path);
  return intent?.type === 'intent' ? { operationId, entries: [intent, ...rest] } : undefined;
}

/** Whether an operation has stored something. Its files are made before they are written to. */
async function hasBought(folder: string): Promise<boolean> {
  const names = (await readOrNothing(() => readdir(folder, { withFileTypes: true }), folder)) ?? [];
  for (const one of names) {
    if (!one.isFile() || one.name === fileName || one.name === 'lock') continue;
    if (((await stat(join(folder, one.name)).catch(() => undefined))?.size ?? 0) > 0) return true;
  }
  return false;
}

/** When the journal of an operation was last written to. Throws LocalIoError. */
export async function lastWritten(stateDir: string, operationId: string): Promise<Date> {
  const path = join(folderOf(stateDir, operationId), fileName);
  return (await readOrNothing(() => stat(path), path))?.mtime ?? new Date(0);
}

/** Undefined where there is no such file or folder. Throws LocalIoError. */
export async function readOrNothing<T>(read: () => Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const code = codeOf(error);
    // A file among the folders is not ours.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new LocalIoError(`can't read ${path}: ${(error as Error).message}`, {
      cause: error,
      ...(code === 'EACCES' ? { hint: toOwnHint(dirname(path)) } : {}),
    });
  }
}

/** A name with a path in it, which could lead out of the folder of operations, is refused. */
function isOperationId(text: string): boolean {
  return /^[\w-]+$/.test(text);
}

/** Where an operation keeps what belongs to it. */
export function folderOf(stateDir: string, operationId: string): string {
  return join(stateDir, 'operations', operationId);
}

function releasing(lock: FolderLock): (error: unknown) => Promise<never> {
  return async (error) => {
    await lock.release();
    throw error;
  };
}

/** The bytes of the first lines. */
function wholeBytes(text: string, lines: number): number {
  return text
    .split('\n')
    .slice(0, lines)
    .reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0);
}

/** Pure: one line about what can't be read, and what to do about it. */
export function toDamageLine({ message, details: { hint } }: LeadpipeError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** Pure: what to do about a folder that only another user may read. */
export function toOwnHint(folder: string): string {
  return `It may belong to another user, for example after a run with sudo. To make it yours: sudo chown -R "$USER" '${folder}'`;
}

function notKept(path: string, error: unknown): LeadpipeError {
  if (error instanceof LeadpipeError) return error;
  const why = codeOf(error) === 'ELOOP' ? 'it is a symbolic link' : messageOf(error);
  return new LocalIoError(`can't store this operation in ${path}: ${why}`, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
