import { readFile, stat } from 'node:fs/promises';
import { LeadpipeError } from '../errors.ts';

/* Who uses a database of SQLite. Node can neither take nor ask for SQLite's locks, so they are looked for (docs/decisions.md). */

/** The bytes that SQLite locks (its PENDING_BYTE and the 511 after it). With the first of them, or the shared ones for writing, it writes. */
const [pending, lastShared] = [0x40000000, 0x40000000 + 511];

/** What a database and the files beside it show of other programs. */
export type Use = 'journal' | 'wal' | 'writer' | 'reader';

/** Undefined where nothing shows a user. A lock is seen on Linux only, and not that of another machine or container. */
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
  // A journal that begins with zeros has been dealt with, and only its file is kept.
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
    // The number of the device may be another one there, in a container for example.
    if (inode !== String(found?.ino) || Number(from) > lastShared) continue;
    if (to !== 'EOF' && Number(to) < pending) continue;
    if (kind === 'WRITE') return 'writer';
    use = 'reader';
  }
  return use;
}

/** The error of a database that can't be read or written now. `path` is what the user calls it. */
export function inUse(path: string, use: Use): LeadpipeError {
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
