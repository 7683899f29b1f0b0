import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { readUnfinished } from '../unfinished.ts';
import { answerFile, garbledFile } from './answers.ts';
import { readChainTo } from './chain.ts';
import { leadsFile } from './leads.ts';
import { type IndexContext, openIndex, thinIndex } from './operation-index.ts';
import { rowsFile } from './rows.ts';
import { folderOf, readOperation, toOwnHint } from './stored.ts';

const dayMs = 86_400_000;
/** Days. The service forgets a key after one; for as long as the journal is there, nothing is bought twice unseen. */
export const keptDays = { answers: 7, operations: 30 } as const;

const answerFiles = [
  leadsFile,
  rowsFile,
  ...[answerFile, garbledFile].flatMap((name) => [name, `${name}.part`]),
];

export interface Pruned {
  readonly operation_id: string;
  readonly time: string | null;
  readonly command: string | null;
  readonly removed: 'answer' | 'operation';
}

/**
 * Removes answers and leads older than 7 days and operations older than 30, but none that a process is at work on, and nothing
 * that an unfinished operation can go on with. `failed` gets each that can't be removed; the others are. Throws
 * LocalIoError.
 */
export async function prune(
  context: IndexContext,
  failed: (error: LocalIoError) => void,
  isOld: IsOld = byClock(context.clock.now()),
): Promise<Pruned[]> {
  const { state } = context.directories;
  const unfinished = new Set<string>();
  for await (const operation of readUnfinished(context, () => {})) {
    if (operation.isReaderGone) continue;
    for (const one of await readChainTo(context, operation)) unfinished.add(one.operationId);
  }
  const pruned: Pruned[] = [];
  const begun = [...(await openIndex(context)).newest()].flatMap((line) =>
    'begun' in line ? [line.begun] : [],
  );
  for (const { op: operationId, run, time: known } of begun.reverse()) {
    // Of one that can't be read, only the time of its folder is known.
    const changed =
      known === '' ? await stat(folderOf(state, operationId)).catch(() => undefined) : undefined;
    const time = changed?.mtime.toISOString() ?? known;
    const isNeeded = unfinished.has(operationId) || isLocked(folderOf(state, operationId));
    if (isNeeded || !isOld(operationId, time, keptDays.answers)) continue;
    try {
      const isGone = isOld(operationId, time, keptDays.operations);
      const one = await pruneOne(state, operationId, isGone, run !== undefined);
      if (one !== undefined) pruned.push(one);
    } catch (error) {
      const folder = folderOf(state, operationId);
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
  const gone = new Set(pruned.flatMap((one) => (one.removed === 'operation' ? [one.operation_id] : [])));
  if (gone.size > 0) await thinIndex(context, (operationId) => !gone.has(operationId)).catch(() => undefined);
  return pruned;
}

type IsOld = (operationId: string, time: string, days: number) => boolean;

function byClock(now: Date): IsOld {
  return (_, time, days) => now.getTime() - Date.parse(time) > days * dayMs;
}

/** By the clock, and by the days on which something was begun since: a clock that was ahead once makes nothing old. */
async function byDays(context: IndexContext): Promise<IsOld> {
  const isOldByClock = byClock(context.clock.now());
  const later = new Map<string, number>();
  const days = new Set<string>();
  for (const line of (await openIndex(context)).newest()) {
    if (!('begun' in line)) continue;
    later.set(line.begun.op, days.size);
    days.add(line.begun.time.slice(0, 10));
  }
  return (operationId, time, some) =>
    isOldByClock(operationId, time, some) && (later.get(operationId) ?? 0) >= some;
}

/** Undefined when there is nothing to remove. Throws what the file system throws. */
async function pruneOne(
  stateDir: string,
  operationId: string,
  isGone: boolean,
  isNamed: boolean,
): Promise<Pruned | undefined> {
  const folder = folderOf(stateDir, operationId);
  const operation = await readOperation(stateDir, operationId).catch(() => undefined);
  // The answers of a named run are what keeps its rows from being bought again.
  const names = isGone || isNamed ? [] : await readdir(folder);
  const old = names.filter((name) => answerFiles.includes(name));
  for (const name of old) await rm(join(folder, name), { force: true });
  if (isGone) await rm(folder, { recursive: true, force: true });
  else if (old.length === 0) return undefined;
  const { time = null, command = null } = operation?.entries[0] ?? {};
  return { operation_id: operationId, time, command, removed: isGone ? 'operation' : 'answer' };
}

/** The same as `prune`, but at most once a day; a failure is ignored. */
export async function pruneIfDue(context: IndexContext): Promise<void> {
  const now = context.clock.now();
  const stamp = join(context.directories.state, 'pruned');
  try {
    const last = Date.parse(await readFile(stamp, 'utf8').catch(() => ''));
    if (Math.abs(now.getTime() - last) < dayMs) return;
    await writeWhole(stamp, now.toISOString());
    // Nothing is old on the first day.
    if (!Number.isNaN(last)) await prune(context, () => {}, await byDays(context));
  } catch {
    // What could not be removed today is removed tomorrow, or named by `history prune`.
  }
}
