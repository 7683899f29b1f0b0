import { statSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreContext } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import { codeOf } from '../files/error-code.ts';
import { reasonOf } from '../files/write-failure.ts';
import { isObject } from '../json/object.ts';

type Content = Record<string, unknown>;

/** The files of the config directory, without `.json`: the settings and the keys. */
type StoreName = 'config' | 'credentials';

/** The file with the settings of all profiles. */
export const settingsPath = (configDir: string): string => join(configDir, 'config.json');
/** The file that says in which store each key is, and that holds the keys of the file store. */
export const keysPath = (configDir: string): string => join(configDir, 'credentials.json');
const paths = { config: settingsPath, credentials: keysPath };

const elsewhere =
  'Make its folder readable and writable for this user, or set LEADPIPE_CONFIG_DIR to another folder.';

/**
 * Reads a file; a missing one is an empty object. Throws ConfigurationError for one that can't be read or understood, and changes nothing.
 */
export async function readStore(folder: string, name: StoreName): Promise<Content> {
  const path = paths[name](folder);
  try {
    // Without a file, `conf` would make the folder, and loading it takes as long as starting Node.
    return statSync(path, { throwIfNoEntry: false }) === undefined ? {} : (await open(folder, name)).store;
  } catch (error) {
    // The home of a service user may not be a directory: then there are no settings.
    if (codeOf(error) === 'ENOTDIR') return {};
    if (error instanceof LeadpipeError) throw error;
    throw new ConfigurationError(`can't read ${path}: ${reasonOf(error)}`, elsewhere, error);
  }
}

/**
 * Changes a store under the lock of its folder, so that no process overwrites another's change. `change` returns the new content. Throws
 * ConfigurationError (nothing is changed) for an invalid file or a symbolic link, LocalIoError, and `temporary` if another process keeps the
 * lock.
 */
export async function changeStore(
  context: StoreContext,
  name: StoreName,
  change: (content: Readonly<Content>) => Content,
): Promise<void> {
  const folder = context.directories.config;
  const path = paths[name](folder);
  // Nearly all runs only read it.
  const [{ withFolderLock }, { syncFolder }] = await Promise.all([
    import('../files/folder-lock.ts'),
    import('../files/private-folder.ts'),
  ]);
  try {
    await withFolderLock(folder, context, 'the settings', async () => {
      if ((await lstat(path).catch(() => undefined))?.isSymbolicLink()) {
        // `conf` would write a key, or settings, to the target of the link.
        throw new ConfigurationError(
          `${path} is a symbolic link, and leadpipe does not write through links`,
          'Put a regular file in its place. Nothing was changed.',
        );
      }
      // Remove temporary files of killed processes, which may hold a key. No other process writes during the lock.
      for (const left of await readdir(folder)) {
        if (/\.json\.(?:part$|tmp-)/.test(left)) await rm(join(folder, left), { force: true });
      }
      const opened = await open(folder, name);
      opened.store = change(opened.store);
      await syncFolder(folder);
    });
  } catch (cause) {
    if (cause instanceof LeadpipeError) throw cause;
    const isMounted = codeOf(cause) === 'EBUSY';
    const why = isMounted ? "it is a mount point, so it can't be replaced" : reasonOf(cause);
    const hint = isMounted ? 'Mount its folder instead, or change the file outside the mount.' : elsewhere;
    throw new LocalIoError(`can't write ${path}: ${why}`, { hint, charged: 'no', cause });
  }
}

/** Opens `conf` with safe options: its defaults could lose a key, let others read it, or quote it in an error. */
async function open(folder: string, name: StoreName): Promise<{ store: Content }> {
  const { default: Conf } = await import('conf');
  return new Conf<Content>({
    cwd: folder,
    configName: name,
    // The default is 0644.
    configFileMode: 0o600,
    // Names of settings contain dots.
    accessPropertiesByDotNotation: false,
    // A damaged file is repaired by its owner: it may hold the only copy of a key.
    clearInvalidConfig: false,
    deserialize: (text) => parse(text, paths[name](folder)),
    serialize: (content) => `${JSON.stringify(content, null, 2)}\n`,
  });
}

/** Throws a ConfigurationError that does not quote the file, which may hold a key. The error of `JSON.parse` would. */
function parse(text: string, path: string): Content {
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    content = undefined;
  }
  // `conf` would take an array for an empty object. U+FFFD stands for bytes that are not UTF-8.
  if (isObject(content) && !text.includes('\ufffd')) return content;
  throw new ConfigurationError(
    `${path} is not a JSON object in UTF-8`,
    'Repair or remove it. leadpipe did not change it.',
  );
}
