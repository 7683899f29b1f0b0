import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { LocalIoError, outputChanged } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { noFollow } from '../files/line-log.ts';
import type { Opening } from '../files/target.ts';
import { fail } from '../files/write-failure.ts';

/** Opens the .part of `path`, to be read and added to; `named` is what the user calls it. Throws LocalIoError. */
export async function openPart(
  path: string,
  part: string,
  named: string,
  opening: Opening,
  warn: (line: string) => void,
): Promise<FileHandle> {
  if (opening === 'new') {
    await makeWay(part, named, warn).catch((error) => fail(named, error));
    return await open(part, 'ax+').catch((error) => fail(path, error));
  }
  const length = 'at' in opening ? opening.at : 0;
  const flags = constants.O_RDWR | constants.O_APPEND | noFollow | (length > 0 ? 0 : constants.O_CREAT);
  const handle = await open(part, flags, 0o666).catch((error) => {
    if (codeOf(error) === 'ELOOP') throw new LocalIoError(`can't write ${named}: it is a symbolic link`);
    if (codeOf(error) !== 'ENOENT') return fail(named, error);
    throw changed(`${named} is gone: it held the rows of the earlier run`, error);
  });
  const { size } = await handle.stat();
  if (size >= length) return handle;
  await handle.close();
  throw changed(`${named} has ${size} bytes, but the run had written ${length}: it was changed since`);
}

/** What another run has left there goes to the next free name beside it; a .part without a row is removed. */
async function makeWay(part: string, named: string, warn: (line: string) => void): Promise<void> {
  const sizeOf = (path: string): Promise<number | undefined> =>
    lstat(path).then(
      ({ size }) => size,
      () => undefined,
    );
  if (!(await sizeOf(part))) return await rm(part, { force: true });
  let number = 1;
  while ((await sizeOf(`${part}.${number}`)) !== undefined) number++;
  await rename(part, `${part}.${number}`);
  warn(`${named} held rows of an earlier run. They are now in ${named}.${number}.`);
}

/** The error of a file that is not as it was left. */
export function changed(message: string, cause?: unknown): LocalIoError {
  return new LocalIoError(message, { type: outputChanged, ...(cause === undefined ? {} : { cause }) });
}
