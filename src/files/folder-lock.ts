import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';

/** The right to change what is in a folder; a process that dies loses it. */
export interface FolderLock {
  release(): Promise<void>;
}

/** How long a short change may be kept waiting by others, in milliseconds. */
const patienceMs = 30_000;

/**
 * As `lockFolder`, but waits for a living process to finish, for a change that takes moments. Throws `temporary` when
 * that takes longer than half a minute.
 */
export async function awaitLock(
  folder: string,
  { pid, clock, random }: Pick<Context, 'pid' | 'clock' | 'random'>,
  what: string,
): Promise<FolderLock> {
  const deadline = clock.monotonic() + patienceMs;
  for (;;) {
    try {
      return await lockFolder(folder, pid, what);
    } catch (error) {
      const taken = error instanceof LeadpipeError && error.outcome === 'temporary';
      if (!taken || clock.monotonic() > deadline) throw error;
    }
    await new Promise<void>((resolve) => clock.after(5 + 20 * random(), resolve));
  }
}

/**
 * Takes the lock of a folder, or throws `temporary` at once, naming the process that has it; `what` is what that
 * process is at work on.
 *
 * The lock is the folder `lock` with one file in it, named after its owner. It is taken by renaming a prepared folder
 * onto it, which the system refuses unless it is absent or empty; so of any number of processes one wins. A dead
 * owner's file is removed by its own, never repeated name: nobody who saw the dead one can remove a living one's.
 */
export async function lockFolder(folder: string, pid: number, what: string): Promise<FolderLock> {
  const owner = `${pid}.${(await startOf(pid)) ?? ''}.${randomUUID()}`;
  const held = join(folder, 'lock');
  const ready = join(folder, `lock-${owner}`);
  await clearDeadOwners(folder);
  await mkdir(ready, 0o700);
  await writeFile(join(ready, owner), '', { mode: 0o600 });
  while (!(await moved(ready, held))) {
    const others = await entriesOf(held);
    for (const other of others) {
      if (await isAlive(other)) {
        await rm(ready, { recursive: true, force: true });
        throw isTaken(other, what);
      }
      await unlink(join(held, other)).catch(ignoreMissing);
    }
    // Windows does not rename onto an empty folder. It is left alone when someone has moved in.
    await rmdir(held).catch(ignoreMissing);
  }
  return {
    async release() {
      await unlink(join(held, owner)).catch(ignoreMissing);
      await rmdir(held).catch(ignoreMissing);
    },
  };
}

/** Whether a living process has the lock. */
export async function isLocked(folder: string): Promise<boolean> {
  for (const owner of await entriesOf(join(folder, 'lock')).catch(() => []))
    if (await isAlive(owner)) return true;
  return false;
}

function isTaken(owner: string, what: string): LeadpipeError {
  const pid = owner.split('.')[0];
  return new LeadpipeError('temporary', `process ${pid} is at work on ${what}`, {
    type: 'operation_locked',
    charged: 'no',
    retryable: true,
    hint: `Wait until it has ended, or stop it: kill ${pid}`,
  });
}

/** Whether the process that made an owner's name is still there. A later process with the same pid is not it. */
export async function isAlive(owner: string): Promise<boolean> {
  const [pidText, start] = owner.split('.');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    getPriority(pid);
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ESRCH') return false;
  }
  const startNow = await startOf(pid);
  return startNow === undefined || start === undefined || start === '' || start === startNow;
}

/** When a process began, where the system tells it (Linux); a zombie is as good as gone. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  // The second field is the name, in brackets, and may hold spaces and brackets.
  const fields = text?.replace(/^.*\) /s, '').split(' ');
  return fields?.[0] === 'Z' ? 'gone' : fields?.[19];
}

async function clearDeadOwners(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('lock-')) continue;
    if (!(await isAlive(name.slice('lock-'.length)))) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}

async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(code)) return false;
    throw error;
  }
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    // Taken for an empty one, it would be waited for without end.
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw error;
}
