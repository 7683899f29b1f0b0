import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from './error-code.ts';

const causes: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large',
  EIO: 'input/output error',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
  EBUSY: 'it is in use',
  ETXTBSY: 'it is in use',
};

/** The error of a failed write. A closed reader has a type of its own, since nothing is wrong on this machine. */
export function writeFailure(name: string, error: unknown): LeadpipeError {
  const code = codeOf(error);
  if (code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED') {
    return readerClosed(error);
  }
  if (code === 'ENOENT') {
    const { path } = error as NodeJS.ErrnoException;
    // Some file systems, such as /proc, report that a new file does not exist.
    if (path !== undefined && existsSync(dirname(path))) {
      return new LocalIoError(`can't write ${name}: no file can be made there`, { cause: error });
    }
    // A symbolic link may lead to a folder that does not exist.
    const folder = existsSync(dirname(name)) ? dirname(path ?? name) : dirname(name);
    const words = `can't write ${name}: the folder ${folder} does not exist`;
    return new LocalIoError(words, { hint: 'Create it, or write to another file.', cause: error });
  }
  return new LocalIoError(`can't write ${name}: ${reasonOf(error)}`, { cause: error });
}

export function readerClosed(cause?: unknown): LeadpipeError {
  return new LeadpipeError('reader_closed', 'the reader of the output has gone away', { cause });
}

export function fail(name: string, error: unknown): never {
  throw writeFailure(name, error);
}

export function readFailure(name: string, error: unknown): LocalIoError {
  return new LocalIoError(`can't read ${name}: ${reasonOf(error)}`, { cause: error });
}

/** The prefix of SQLite's messages. */
const sqliteCode = /^SQLITE_\w+: sqlite3 result code \d+: /;

/** Pure: why a file could not be read or written, in plain words. */
export function reasonOf(error: unknown): string {
  return (
    causes[codeOf(error) ?? ''] ??
    (error instanceof Error ? error.message.replace(sqliteCode, '') : String(error))
  );
}
