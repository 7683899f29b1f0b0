import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dayMs } from '../clock.ts';
import type { StoreContext } from '../context.ts';
import type { LocalIoError } from '../errors.ts';
import { withFolderLock } from '../files/folder-lock.ts';
import { writeAtomically } from '../files/whole-file.ts';

/** As `prune`: keeps what is needed to resume, and the costs of what is removed. Loads its code late, since most runs prune nothing. */
export async function pruneOld(context: StoreContext, failed: (error: LocalIoError) => void, byDays = false) {
  const { prune } = await import('./journal/retention.ts');
  const { readNeeded } = await import('./known-operations.ts');
  const { rememberCosts } = await import('./report/remember.ts');
  const remember = (past: readonly string[]) => rememberCosts(context, past, byDays);
  return await prune(context, await readNeeded(context), failed, remember, byDays);
}

/**
 * At most once a day, stores the time under this name in the state folder, and returns the time that was there: NaN at first. Returns undefined
 * if less than a day has passed. Throws LocalIoError.
 */
async function takeDay(context: StoreContext, name: 'pruned' | 'price-said'): Promise<number | undefined> {
  const now = context.clock.now();
  const stamp = join(context.directories.state, name);
  const last = Date.parse(await readFile(stamp, 'utf8').catch(() => ''));
  if (Math.abs(now.getTime() - last) < dayMs) return undefined;
  await withFolderLock(context.directories.state, context, 'the time', (lock) =>
    writeAtomically(stamp, now.toISOString(), 'the time', lock),
  );
  return last;
}

/** Whether a missing price was not mentioned within a day. It counts as mentioned now. */
export async function isPriceDue(context: StoreContext): Promise<boolean> {
  return (await takeDay(context, 'price-said').catch(() => undefined)) !== undefined;
}

/** Prunes at most once a day; ignores a failure. */
export async function pruneIfDue(context: StoreContext): Promise<void> {
  try {
    const last = await takeDay(context, 'pruned');
    // Nothing is old on the first day.
    if (last === undefined || Number.isNaN(last)) return;
    await pruneOld(context, () => {}, true);
  } catch {
    // What can't be removed today is tried again tomorrow, or reported by `history prune`.
  }
}
