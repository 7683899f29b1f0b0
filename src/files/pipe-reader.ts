import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { every } from '../clock.ts';

/** Polling interval, in milliseconds. */
const pollMs = 1000;

/**
 * Calls `gone` when the pipe at `descriptor` has lost its last reader. The system reports that only on a write, and a run may have nothing to write
 * for an hour. Works on Linux only. A reader whose files can't be seen (`| sudo tee`) counts as present.
 */
export function watchPipeReader(descriptor: number, gone: () => void): void {
  const pipe = linkOf(`/proc/self/fd/${descriptor}`);
  if (pipe === undefined || !pipe.startsWith('pipe:')) return;
  let known = readersOf(pipe).next().value;
  if (known === undefined) return;
  const stop = every(pollMs, () => {
    if (known !== undefined && stillReads(known, pipe)) return;
    known = readersOf(pipe).next().value;
    if (known !== undefined) return;
    stop();
    gone();
  });
}

interface Reader {
  /** The folder of its process. */
  readonly process: string;
  /** The path of its descriptor. */
  readonly at: string;
}

function stillReads({ at, process }: Reader, pipe: string): boolean {
  const link = linkOf(at);
  // If it now runs as another user, its files are hidden, and it may still read.
  return link === undefined ? isHidden(process) : link === pipe;
}

function* readersOf(pipe: string): Generator<Reader, undefined> {
  const own = Number(linkOf('/proc/self'));
  const distance = (pid: string): number => Math.abs(Number(pid) - own);
  const pids = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  // Nearest PIDs first: the programs of a pipeline are started one after the other.
  for (const pid of pids.sort((one, other) => distance(one) - distance(other))) {
    const process = `/proc/${pid}`;
    for (const descriptor of namesIn(`${process}/fd`)) {
      const at = `${process}/fd/${descriptor}`;
      if (linkOf(at) === pipe && isReading(`${process}/fdinfo/${descriptor}`)) yield { process, at };
    }
  }
  return undefined;
}

/** Whether a descriptor is open for reading. The flags are octal; their last two bits are 1 if it is write-only. */
function isReading(info: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(info, 'latin1'))?.[1] ?? '1';
    return (Number.parseInt(flags, 8) & 3) !== 1;
  } catch {
    return false;
  }
}

function isHidden(process: string): boolean {
  try {
    readdirSync(`${process}/fd`);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
