import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { dayMs } from '../../clock.ts';
import type { StoreContext } from '../../context.ts';
import { LeadpipeError, LocalIoError } from '../../errors.ts';
import { lockFolder } from '../../files/folder-lock.ts';
import { folderOf, toOwnHint } from './folders.ts';
import type { Begun } from './index-lines.ts';
import { journalFile } from './journal-file.ts';
import { damagedKind, filterIndex, openIndex } from './operation-index.ts';
import { garbledFile, receivedFile } from './received.ts';
import { rowsFile } from './stored-rows.ts';

/** Days. The service forgets a key after one day. As long as the journal is here, nothing is bought twice by accident. */
export const keptDays = { answers: 7, operations: 30, costs: 400 } as const;

const answerFiles = [receivedFile, rowsFile, garbledFile, `${garbledFile}.part`];

interface Pruned {
  readonly operation_id: string;
  readonly time: string | null;
  readonly command: string | null;
  readonly removed: 'answer' | 'operation';
}

/**
 * Removes answers and leads older than 7 days and operations older than 30, except those in use, and those that are `needed` because they can
 * be resumed. With `byDays`, the age counts only if operations were begun on as many later days, so that a wrong clock removes nothing.
 * `remember` stores the costs of operations before they are removed; if it fails, none is removed. `failed` gets each failure. Throws
 * LocalIoError.
 */
export async function prune(
  context: StoreContext,
  needed: ReadonlySet<string>,
  failed: (error: LocalIoError) => void,
  remember: (operationIds: readonly string[]) => Promise<void>,
  byDays = false,
): Promise<Pruned[]> {
  const { state } = context.directories;
  const days = new Set<string>();
  const begun: (Begun & { readonly later: number })[] = [];
  for (const line of (await openIndex(context)).newest()) {
    if (line.is !== 'begun') continue;
    begun.push({ ...line, later: days.size });
    days.add(line.time.slice(0, 10));
  }
  const isOlder = (begunAt: number, later: number, some: number): boolean =>
    context.clock.now().getTime() - begunAt > some * dayMs && (!byDays || later >= some);
  const going = begun.filter(({ later, op, time }) => {
    return !needed.has(op) && isOlder(Date.parse(time), later, keptDays.operations);
  });
  let isRemembered = true;
  await remember(going.map(({ op }) => op).reverse()).catch((error: LocalIoError) => {
    isRemembered = false;
    failed(error);
  });
  const pruned: Pruned[] = [];
  for (const { kind, later, op, run, time } of begun.reverse()) {
    const folder = folderOf(state, op);
    try {
      // For an operation that can't be read, only the time of its folder is known.
      const begunAt = time === '' ? (await stat(folder)).mtimeMs : Date.parse(time);
      if (needed.has(op) || !isOlder(begunAt, later, keptDays.answers)) continue;
      const isGone = isRemembered && isOlder(begunAt, later, keptDays.operations);
      // The answers of a named run prevent that its rows are bought again.
      const names = isGone || run !== undefined ? [] : await readdir(folder);
      const old = names.filter((name) => answerFiles.includes(name));
      if (!isGone && old.length === 0) continue;
      const lock = await lockFolder(folder, context.pid, 'this operation');
      try {
        for (const name of old) await rm(join(folder, name), { force: true });
        // Without a journal it is no longer an operation, so no process begins to work on it.
        if (isGone) await rm(join(folder, journalFile), { force: true });
      } finally {
        lock.release();
      }
      if (isGone) await rm(folder, { recursive: true, force: true });
      const command = kind === damagedKind ? null : kind;
      const removed = isGone ? 'operation' : 'answer';
      pruned.push({ operation_id: op, time: time || null, command, removed });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // Another process has removed it, or works on it.
      if (code === 'ENOENT' || (error instanceof LeadpipeError && error.outcome === 'temporary')) continue;
      const hint = code === 'EACCES' ? toOwnHint(folder) : undefined;
      failed(
        new LocalIoError(`can't remove old operations in ${folder}: ${message}`, { cause: error, hint }),
      );
    }
  }
  const gone = new Set(pruned.flatMap((one) => (one.removed === 'operation' ? [one.operation_id] : [])));
  if (gone.size > 0)
    await filterIndex(context, (operationId) => !gone.has(operationId)).catch(() => undefined);
  return pruned;
}
