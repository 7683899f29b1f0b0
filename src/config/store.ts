import { statSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { awaitLock } from '../files/folder-lock.ts';
import { makePrivateFolder, syncFolder } from '../files/private-folder.ts';
import { isObject } from '../json/object.ts';

export type StoreContext = Pick<Context, 'directories' | 'pid' | 'clock' | 'random'>;

type Content = Record<string, unknown>;

/** What `conf` is used for: two members of it. */
interface Store {
  store: Content;
}

/** The settings, and beside them the keys, each with `.json` behind in the config directory. */
export type StoreName = 'config' | 'credentials';

/** Pure: where a store lies. */
export function storePath(folder: string, name: StoreName): string {
  return join(folder, `${name}.json`);
}

/** A missing file is an empty object. Throws ConfigurationError for one that can't be read or understood, and changes nothing. */
export async function readStore(folder: string, name: StoreName): Promise<Content> {
  const path = storePath(folder, name);
  try {
    // Without a file, `conf` would make the folder, and loading it takes as long as starting Node.
    if (!isThere(path)) return {};
    return (await open(folder, name)).store;
  } catch (error) {
    if (error instanceof LeadpipeError) throw error;
    throw new ConfigurationError(`can't read ${path}: ${(error as Error).message}`, undefined, error);
  }
}

/**
 * Changes a store under the lock of its folder, so that of any number of processes none loses another's change. `change`
 * returns what it holds from now on. Throws ConfigurationError for a file that can't be understood or is a symbolic link,
 * which is left as it is, LocalIoError, and `temporary` when another process does not give up the lock.
 */
export async function changeStore(
  context: StoreContext,
  name: StoreName,
  change: (content: Readonly<Content>) => Content,
): Promise<void> {
  const folder = context.directories.config;
  const path = storePath(folder, name);
  try {
    await makePrivateFolder(folder);
    const lock = await awaitLock(folder, context, 'the settings');
    try {
      await refuseLink(path);
      await clearLeftovers(folder, path);
      const opened = await open(folder, name);
      opened.store = change(opened.store);
      await syncFolder(folder);
    } finally {
      lock.release();
    }
  } catch (error) {
    if (error instanceof LeadpipeError) throw error;
    throw new LocalIoError(`can't write ${path}: ${(error as Error).message}`, {
      charged: 'no',
      cause: error,
    });
  }
}

/** Throws what the file system throws: a file that can't be seen is not one that isn't there. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    // Under a home that is no directory, as of users that only run services, there are no settings.
    if (codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** `conf` with its defaults that would lose a key, let others read it, or quote it, changed. */
async function open(folder: string, name: StoreName): Promise<Store> {
  const { default: Conf } = await import('conf');
  return new Conf<Content>({
    cwd: folder,
    configName: name,
    // It would be 0644.
    configFileMode: 0o600,
    // The names of settings have dots in them.
    accessPropertiesByDotNotation: false,
    // A damaged file is for its owner to repair: it may hold the only copy of a key.
    clearInvalidConfig: false,
    deserialize: (text) => parse(text, storePath(folder, name)),
    serialize: (content) => `${JSON.stringify(content, null, 2)}\n`,
  });
}

/** Throws ConfigurationError that does not quote the file, which can hold a key, as the error of `JSON.parse` does. */
function parse(text: string, path: string): Content {
  const hint = 'Repair or remove it. leadpipe did not change it.';
  // What could not be decoded.
  if (text.includes('\ufffd')) throw new ConfigurationError(`${path} is not UTF-8 text`, hint);
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw new ConfigurationError(`${path} is not valid JSON`, hint);
  }
  // `conf` would take an array for an empty object.
  if (!isObject(content)) throw new ConfigurationError(`${path} is not a JSON object`, hint);
  return content;
}

/** Throws ConfigurationError: `conf` would write a key, or settings, to wherever it leads. */
async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isSymbolicLink()) return;
  throw new ConfigurationError(
    `${path} is a symbolic link, and leadpipe does not write through links`,
    'Put a regular file in its place. Nothing was changed.',
  );
}

/** What a killed process was writing, which may hold a key: nobody else writes while the lock is ours. */
async function clearLeftovers(folder: string, path: string): Promise<void> {
  const own = basename(path);
  const isLeft = (name: string): boolean => name === `${own}.part` || name.startsWith(`${own}.tmp-`);
  for (const name of (await readdir(folder)).filter(isLeft)) await rm(join(folder, name), { force: true });
}
