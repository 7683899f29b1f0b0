import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { LocalIoError, outputChanged } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { fail } from '../files/write-failure.ts';

/**
 * How the .part is opened. `new`: one that is there is somebody else's, and goes to another name beside it. `anew`: what stands in it
 * is ours, and is written again from the start. `at`: it is gone on with behind so many bytes.
 */
export type Opening = 'new' | { readonly anew: true } | { readonly at: number };

/** A link in the place of a .part would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Opens the .part; `named` is what the user calls it, `path` the file that it is for. Throws LocalIoError. */
export function openPart(
  path: string,
  part: string,
  named: string,
  opening: Opening,
  warn: (line: string) => void,
): Promise<FileHandle> {
  if (opening === 'new') return openNew(path, part, named, warn);
  return openAgain(part, named, 'at' in opening ? opening.at : undefined);
}

/** Makes way for a new .part: what another run has left there goes to another name beside it; one without a row is removed. */
async function openNew(
  path: string,
  part: string,
  named: string,
  warn: (line: string) => void,
): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(part, 'wx+');
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return fail(path, error);
    }
    const { size } = await lstat(part).catch((error) => fail(named, error));
    if (size === 0) await rm(part).catch((error) => fail(named, error));
    else
      warn(
        `${named} held rows of an earlier run. They are now in ${named}.${await moveToFreeName(part, named)}.`,
      );
  }
}

/** Returns the first number behind its name that nobody has. */
async function moveToFreeName(part: string, named: string): Promise<number> {
  for (let number = 1; ; number++) {
    try {
      await moveWithoutReplacing(part, `${part}.${number}`);
      return number;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return fail(`${named}.${number}`, error);
    }
  }
}

/** A rename would replace what has the name already; some file systems have no links. */
async function moveWithoutReplacing(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    const isTaken = await lstat(to).then(
      () => true,
      () => false,
    );
    if (isTaken) throw Object.assign(new Error(`${to} already exists`), { code: 'EEXIST' });
    return await rename(from, to);
  }
  await rm(from);
}

/** Our own .part, which may not be there where nothing in it counts. */
async function openAgain(part: string, named: string, length: number | undefined): Promise<FileHandle> {
  const flags = constants.O_RDWR | noFollow | (length ? 0 : constants.O_CREAT);
  const handle = await open(part, flags, 0o666).catch((error) => gone(named, error));
  const { size } = await handle.stat();
  if (size >= (length ?? 0)) return handle;
  await handle.close();
  throw changed(`${named} has ${size} bytes, but the run had written ${length}: it was changed since`);
}

function gone(named: string, error: unknown): never {
  if (codeOf(error) === 'ELOOP') throw new LocalIoError(`can't write ${named}: it is a symbolic link`);
  if (codeOf(error) !== 'ENOENT') return fail(named, error);
  throw changed(`${named} is gone: it held the rows of the earlier run`, error);
}

/** The error of a file that is not as it was left. */
export function changed(message: string, cause?: unknown): LocalIoError {
  return new LocalIoError(message, { type: outputChanged, ...(cause === undefined ? {} : { cause }) });
}
