import type { Stats } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import type { StoreContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { codeOf } from './error-code.ts';
import { writeFailure } from './write-failure.ts';

/**
 * The file that a symbolic link points to, existing or not: that file is replaced, not the link. If its folder does not exist, the path is returned
 * unchanged: `sub/..` can't be shortened without the system.
 */
export async function targetOf(path: string): Promise<string> {
  let at = await inRealFolder(resolve('.'), path);
  for (let links = 0; links < 40; links++) {
    const entry = await lstat(at).catch(() => undefined);
    if (!entry?.isSymbolicLink()) break;
    at = await inRealFolder(dirname(at), await readlink(at));
  }
  return at;
}

async function inRealFolder(from: string, path: string): Promise<string> {
  const whole = isAbsolute(path) ? path : `${from}/${path}`;
  const folder = await realpath(dirname(whole)).catch(() => undefined);
  return folder === undefined ? whole : join(folder, basename(whole));
}

/** Pure: the number of the open descriptor that a path stands for, such as /dev/stdout; undefined for a file. */
export function descriptorOf(path: string): number | undefined {
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path)?.[1];
  const name = { '/dev/stdin': '0', '/dev/stdout': '1', '/dev/stderr': '2' }[path] ?? number;
  return name === undefined ? undefined : Number(name);
}

export async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw writeFailure(path, error);
  }
}

/** Whether it can be read twice. A pipe can't. */
export async function isRegularFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** Whether two names, which need not exist, mean the same regular file, through symbolic or hard links. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  // A folder in a path that does not exist (`sub/..`) could be made at any time.
  if ((a === undefined || b === undefined) && resolve(one) === resolve(other)) return true;
  if (a === undefined && b === undefined) return (await targetOf(one)) === (await targetOf(other));
  return a?.isFile() === true && a.ino === b?.ino && a.dev === b.dev;
}

/** The end of the name of a temporary file, behind that of its output. */
export const temporaryName = /\.[a-z]{6}\.part$/;

/** Throws UsageError for an output in the folders of leadpipe's own settings and records, or with the name of a temporary file. */
export async function checkNotOwn(
  { directories }: Pick<StoreContext, 'directories'>,
  file: string,
): Promise<void> {
  const target = await targetOf(file);
  // The run that such a file belongs to removes it at its end.
  if (temporaryName.test(target))
    throw new UsageError(
      `can't write ${file}: leadpipe gives such names to its temporary files`,
      'Choose another name.',
    );
  for (const name of ['config', 'state'] as const) {
    const folder = await realFolder(() => directories[name]);
    if (folder === undefined || !target.startsWith(folder + sep)) continue;
    throw new UsageError(
      `can't write ${file}: it is in the folder where leadpipe keeps its own ${name === 'config' ? 'settings' : 'records'}`,
      'Write to a file in another folder.',
    );
  }
}

/** Undefined if the folder does not exist, or can't be determined. */
async function realFolder(folderOf: () => string): Promise<string | undefined> {
  try {
    return await realpath(folderOf());
  } catch {
    return undefined;
  }
}
