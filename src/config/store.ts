import { statSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { withFolderLock } from '../files/folder-lock.ts';
import { syncFolder } from '../files/private-folder.ts';
import { isObject } from '../json/object.ts';

export type StoreContext = Pick<Context, 'directories' | 'pid' | 'clock' | 'random'>;

type Content = Record<string, unknown>;

/** The settings, and beside them the keys, each with `.json` behind in the config directory. */
type StoreName = 'config' | 'credentials';

/** Where the settings of all profiles are. */
export const settingsPath = (configDir: string): string => join(configDir, 'config.json');
/** Where it stands in which store each key is, and the keys if they are in this file. */
export const keysPath = (configDir: string): string => join(configDir, 'credentials.json');
const paths = { config: settingsPath, credentials: keysPath };

/** A missing file is an empty object. Throws ConfigurationError for one that can't be read or understood, and changes nothing. */
export async function readStore(folder: string, name: StoreName): Promise<Content> {
  const path = paths[name](folder);
  try {
    // Without a file, `conf` would make the folder, and loading it takes as long as starting Node.
    return statSync(path, { throwIfNoEntry: false }) === undefined ? {} : (await open(folder, name)).store;
  } catch (error) {
    // Under a home that is no directory, as of users that only run services, there are no settings.
    if (codeOf(error) === 'ENOTDIR') return {};
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
  const path = paths[name](folder);
  try {
    await withFolderLock(folder, context, 'the settings', async () => {
      if ((await lstat(path).catch(() => undefined))?.isSymbolicLink()) {
        // `conf` would write a key, or settings, to wherever it leads.
        throw new ConfigurationError(
          `${path} is a symbolic link, and leadpipe does not write through links`,
          'Put a regular file in its place. Nothing was changed.',
        );
      }
      // What a killed process was writing, which may hold a key: nobody else writes while the lock is ours.
      for (const left of await readdir(folder)) {
        if (/\.json\.(?:part$|tmp-)/.test(left)) await rm(join(folder, left), { force: true });
      }
      const opened = await open(folder, name);
      opened.store = change(opened.store);
      await syncFolder(folder);
    });
  } catch (cause) {
    if (cause instanceof LeadpipeError) throw cause;
    throw new LocalIoError(`can't write ${path}: ${(cause as Error).message}`, { charged: 'no', cause });
  }
}

/** `conf` with its defaults that would lose a key, let others read it, or quote it, changed. */
async function open(folder: string, name: StoreName): Promise<{ store: Content }> {
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
    deserialize: (text) => parse(text, paths[name](folder)),
    serialize: (content) => `${JSON.stringify(content, null, 2)}\n`,
  });
}

/** Throws ConfigurationError that does not quote the file, which can hold a key, as the error of `JSON.parse` does. */
function parse(text: string, path: string): Content {
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    content = undefined;
  }
  // `conf` would take an array for an empty object. U+FFFD is what could not be decoded.
  if (isObject(content) && !text.includes('\ufffd')) return content;
  throw new ConfigurationError(
    `${path} is not a JSON object in UTF-8`,
    'Repair or remove it. leadpipe did not change it.',
  );
}
