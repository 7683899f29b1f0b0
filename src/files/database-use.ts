import { readFile, stat } from 'node:fs/promises';
import { LeadpipeError } from '../errors.ts';

/* Finds other users of a SQLite database. Node can't take or query SQLite's locks, so this looks for traces of them (docs/decisions.md). */

/** The bytes that SQLite locks: PENDING_BYTE and the 511 after it. A write lock on any of them means a writer. */
const [pending, lastShared] = [0x40000000, 0x40000000 + 511];

/** The sign of another program that uses a database. */
export type Use = 'journal' | 'wal' | 'writer' | 'reader';

/** Undefined if there is no sign of use. Locks can be seen on Linux only, and not those of other machines or containers. */
export async function useOf(path: string): Promise<Use | undefined> {
  const sizes = await Promise.all(
    ['-journal', '-wal'].map((end) =>
      stat(path + end).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const [journal = 0, wal = 0] = sizes;
  // A journal that begins with a zero is finished; SQLite only keeps the file.
  if (journal > 0 && (await readFile(`${path}-journal`).catch(() => undefined))?.[0] !== 0) return 'journal';
  if (wal > 0) return 'wal';
  const found = await stat(path).catch(() => undefined);
  const locks = found && (await readFile('/proc/locks', 'utf8').catch(() => ''));
  let use: Use | undefined;
  for (const line of locks?.split('\n') ?? []) {
    const [, kind, inode, from, to] =
      /^\d+:\s+(?:POSIX|OFDLCK)\s+\S+\s+(READ|WRITE)\s+\S+\s+[\da-f]+:[\da-f]+:(\d+)\s+(\d+)\s+(\d+|EOF)/.exec(
        line,
      ) ?? [];
    // The device number can differ, for example in a container, so only the inode is compared.
    if (inode !== String(found?.ino) || Number(from) > lastShared) continue;
    if (to !== 'EOF' && Number(to) < pending) continue;
    if (kind === 'WRITE') return 'writer';
    use = 'reader';
  }
  return use;
}

/** The error of a database that can't be read or written now. `path` is what the user calls it. */
export function inUseError(path: string, use: Use): LeadpipeError {
  const [words, hint] = {
    journal: [
      `${path} is being written by another program, or one was killed while it wrote`,
      `Wait for it. If none is running, open the database once with that program: it repairs it (${path}-journal).`,
    ],
    wal: [
      `${path} has changes that are not in the file yet (${path}-wal): another program has it open, or was killed`,
      'Close that program, or have it write the changes into the file: PRAGMA wal_checkpoint(TRUNCATE).',
    ],
    writer: [`another program has locked ${path} to write it`, 'Wait for it, or close that program.'],
    reader: [`another program is reading ${path}`, 'Wait for it, or close that program.'],
  }[use];
  return new LeadpipeError('temporary', words ?? '', {
    charged: 'no',
    ...(hint === undefined ? {} : { hint }),
  });
}
