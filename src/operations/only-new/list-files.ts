import { hash } from 'node:crypto';
import { constants, writeSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorDetails, LeadpipeError, LocalIoError } from '../../errors.ts';
import { awaitLock, isLocked } from '../../files/folder-lock.ts';
import { makePrivateFolder, syncFolder } from '../../files/private-folder.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { folderOf, readOrNothing } from '../journal/stored.ts';
import type { Shop } from '../purchase.ts';
import { type Delivered, folded, toDelivered, toDeliveredLine } from './list-lines.ts';

/*
 * Each list has a folder, and each run a file of its own in it, which nobody else writes: two runs at once can't lose each
 * other's leads, and no run waits for another while it streams. When there are many, those of runs that are over become one.
 * What a list remembers does not go with the history, which forgets leads after some days.
 */

/** What earlier runs that are over have become. */
const foldedFile = 'folded.jsonl';
const ending = '.jsonl';
/** So many files of runs are left as they are. */
const mostRuns = 20;
const { O_RDWR, O_APPEND, O_CREAT } = constants;
/** A link in its place would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Told of each line that can't be read. */
export type Damaged = (what: string) => void;

/** Where a list is. The fictional leads of the local service are no one's: they have lists apart, so that they exclude no real ones. */
export function folderOfList(stateDir: string, list: string, origin: string): string {
  const place = origin === 'local' ? 'local' : 'remote';
  return join(stateDir, 'lists', hash('sha256', `${place}\n${list}`).slice(0, 16));
}

/** What every run of a list has delivered, the oldest first. Throws LocalIoError. */
export async function readList(folder: string, damaged: Damaged): Promise<Delivered[]> {
  const lines: Delivered[] = [];
  // The folded file comes last: what is folded meanwhile is then read twice, and not missed.
  const runs = (await namesIn(folder)).filter((name) => name !== foldedFile);
  for (const name of [...runs, foldedFile]) lines.push(...(await readLines(join(folder, name), damaged)));
  // The IDs of operations are in the order of time.
  return lines.sort((a, b) =>
    a.operation_id < b.operation_id ? -1 : a.operation_id > b.operation_id ? 1 : 0,
  );
}

/** The folders of all lists. Throws LocalIoError. */
export async function listFolders(stateDir: string): Promise<string[]> {
  const root = join(stateDir, 'lists');
  return (await entriesOf(root)).map((name) => join(root, name));
}

/** The file of one run. */
export interface RunFile {
  /** Returns when the leads are with the system: they survive this process. Throws LocalIoError. */
  append(delivered: Delivered): void;
  /** Resolves when they survive a power cut. Throws LocalIoError. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file of an operation, whose journal this process has locked. Throws LocalIoError, and `temporary` as `awaitLock`. */
export async function openRunFile({ context }: Shop, folder: string, operationId: string): Promise<RunFile> {
  const path = join(folder, `${operationId}${ending}`);
  const unkept = (error: unknown, details?: ErrorDetails): LeadpipeError => {
    if (error instanceof LeadpipeError) return error;
    const why = (error as Error).message;
    return new LocalIoError(`can't store the delivered leads in ${path}: ${why}`, {
      cause: error,
      ...details,
    });
  };
  const fail = (error: unknown): never => {
    throw unkept(error);
  };
  const handle = await openLocked(context, folder, path).catch((error: unknown) => {
    throw unkept(error, { charged: 'no', facts: { is: 'no_journal' } });
  });
  return {
    append(delivered) {
      const bytes = Buffer.from(toDeliveredLine(delivered));
      try {
        if (writeSync(handle.fd, bytes) < bytes.length) throw new Error('no space left on the device');
      } catch (error) {
        fail(error);
      }
    },
    sync: () => handle.datasync().catch(fail),
    close: () => handle.close(),
  };
}

async function openLocked(context: Shop['context'], folder: string, path: string): Promise<FileHandle> {
  await makePrivateFolder(folder);
  // Nobody folds the file of a run that begins to write it.
  const lock = await awaitLock(folder, context, 'the list of these leads');
  try {
    await foldOver(context.directories.state, folder);
    const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | noFollow, 0o600);
    try {
      await handle.chmod(0o600);
      // Behind a line that is torn, another one would be damage.
      const bytes = await handle.readFile();
      await handle.truncate(bytes.lastIndexOf('\n') + 1);
      await syncFolder(folder);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  } finally {
    lock.release();
  }
}

/** Makes one file of those whose runs are over, when they are many; of damaged ones nothing is changed. Under the lock. */
async function foldOver(stateDir: string, folder: string): Promise<void> {
  const runs = (await namesIn(folder)).filter((name) => name !== foldedFile);
  if (runs.length < mostRuns) return;
  const over = runs.filter((name) => !isLocked(folderOf(stateDir, name.slice(0, -ending.length))));
  const paths = [foldedFile, ...over.sort()].map((name) => join(folder, name));
  const lines: Delivered[] = [];
  let isDamaged = false;
  for (const path of paths) {
    lines.push(
      ...(await readLines(path, () => {
        isDamaged = true;
      })),
    );
  }
  if (isDamaged) return;
  await writeWhole(join(folder, foldedFile), folded(lines).map(toDeliveredLine).join(''));
  for (const path of paths.slice(1)) await rm(path, { force: true });
}

async function readLines(path: string, damaged: Damaged): Promise<Delivered[]> {
  const text = await readOrNothing(() => readFile(path, 'utf8'), path);
  return toDelivered(text ?? '', (line) => damaged(`line ${line} of ${path} is damaged`));
}

async function namesIn(folder: string): Promise<string[]> {
  return (await entriesOf(folder)).filter((name) => name.endsWith(ending));
}

async function entriesOf(folder: string): Promise<string[]> {
  return (await readOrNothing(() => readdir(folder), folder)) ?? [];
}
