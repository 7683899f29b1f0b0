import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { answerFile, garbledFile } from './answers.ts';
import { folderOf, listOperations, readOperation, toOwnHint } from './journal.ts';
import { leadsFile } from './leads.ts';
import { rowsFile } from './rows.ts';

const dayMs = 86_400_000;
/** Days. The service forgets a key after one; for as long as the journal is there, nothing is bought twice unseen. */
export const keptDays = { answers: 7, operations: 30 } as const;

export interface Pruned {
  readonly operation_id: string;
  /** Null where the journal can't be read. */
  readonly time: string | null;
  readonly command: string | null;
  readonly removed: 'answer' | 'operation';
}

/**
 * Removes answers and leads older than 7 days and operations older than 30, but none that a process is at work on.
 * `failed` is told of each that can't be removed; the others are. Throws LocalIoError.
 */
export async function prune(
  stateDir: string,
  now: Date,
  failed: (error: LocalIoError) => void,
): Promise<Pruned[]> {
  const pruned: Pruned[] = [];
  for (const operationId of await listOperations(stateDir)) {
    try {
      const one = await pruneOne(stateDir, operationId, now);
      if (one !== undefined) pruned.push(one);
    } catch (error) {
      const folder = folderOf(stateDir, operationId);
      const { code, message } = error as NodeJS.ErrnoException;
      // Another process has removed it.
      if (code === 'ENOENT') continue;
      failed(
        new LocalIoError(`can't remove old operations in ${folder}: ${message}`, {
          cause: error,
          ...(code === 'EACCES' ? { hint: toOwnHint(folder) } : {}),
        }),
      );
    }
  }
  return pruned;
}

/** Undefined when there is nothing to remove. Throws what the file system throws. */
async function pruneOne(stateDir: string, operationId: string, now: Date): Promise<Pruned | undefined> {
  const folder = folderOf(stateDir, operationId);
  const intent = await readOperation(stateDir, operationId).then(
    (operation) => operation?.entries[0],
    () => undefined,
  );
  const begun = intent === undefined ? await changedAt(folder) : Date.parse(intent.time);
  const days = (now.getTime() - begun) / dayMs;
  if (!(days > keptDays.answers) || (await isLocked(folder))) return undefined;
  const what = { operation_id: operationId, time: intent?.time ?? null, command: intent?.command ?? null };
  if (days > keptDays.operations) {
    await rm(folder, { recursive: true, force: true });
    return { ...what, removed: 'operation' };
  }
  return (await removeAnswers(folder)) ? { ...what, removed: 'answer' } : undefined;
}

/** The same as `prune`, but at most once a day; a failure is ignored. */
export async function pruneIfDue(stateDir: string, now: Date): Promise<void> {
  const stamp = join(stateDir, 'pruned');
  try {
    const last = Date.parse(await readFile(stamp, 'utf8').catch(() => ''));
    if (Math.abs(now.getTime() - last) < dayMs) return;
    await writeWhole(stamp, now.toISOString());
    // Nothing is old on the first day.
    if (!Number.isNaN(last)) await prune(stateDir, now, () => {});
  } catch {
    // What could not be removed today is removed tomorrow, or named by `history prune`.
  }
}

async function removeAnswers(folder: string): Promise<boolean> {
  const old = (await entriesOf(folder)).filter((name) =>
    [leadsFile, rowsFile, answerFile, garbledFile, `${answerFile}.part`, `${garbledFile}.part`].includes(
      name,
    ),
  );
  for (const name of old) await rm(join(folder, name), { force: true });
  return old.length > 0;
}

async function changedAt(folder: string): Promise<number> {
  return (await stat(folder)).mtimeMs;
}

async function entriesOf(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
