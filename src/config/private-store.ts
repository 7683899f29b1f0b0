import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import { awaitLock } from '../files/folder-lock.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import { readJsonObject } from './settings.ts';

export type StoreContext = Pick<Context, 'directories' | 'pid' | 'clock' | 'random'>;

type Content = Readonly<Record<string, unknown>>;

/**
 * Changes a JSON file of the config directory: read, changed and put in place as a whole, 0600, under a lock, so that
 * of any number of processes none loses another's change. `change` returns what the file holds from now on. Throws
 * ConfigurationError for a file that can't be understood or is a symbolic link, which is left as it is, LocalIoError, and
 * `temporary` when another process does not give up the lock.
 */
export async function changePrivateStore(
  context: StoreContext,
  name: 'config' | 'credentials',
  change: (content: Content) => Content,
): Promise<void> {
  const folder = context.directories.config;
  try {
    await makePrivateFolder(folder);
    const lock = await awaitLock(folder, context, 'the settings');
    try {
      const path = join(folder, `${name}.json`);
      await refuseLink(path);
      const content = await readJsonObject(path);
      const { default: Conf } = await import('conf');
      const store = new Conf<Record<string, unknown>>({
        cwd: folder,
        configName: name,
        configFileMode: 0o600,
        accessPropertiesByDotNotation: false,
        serialize: (value) => `${JSON.stringify(value, null, 2)}\n`,
      });
      store.store = change(content);
      await clearDeadWrites(folder, name);
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (error instanceof LeadpipeError) throw error;
    throw new LocalIoError(`cannot write ${join(folder, `${name}.json`)}: ${(error as Error).message}`, {
      charged: 'no',
      cause: error,
    });
  }
}

/** Throws ConfigurationError: a key, or settings, would be written to wherever it leads. */
async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isSymbolicLink()) return;
  throw new ConfigurationError(
    `${path} is a symbolic link, and nothing is written through one`,
    'Change the file that it leads to, or put a file in its place; leadpipe has changed nothing.',
  );
}

/** What a killed process was writing: with the lock held, nobody is. It may hold a key. */
async function clearDeadWrites(folder: string, name: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (file.startsWith(`${name}.json.tmp-`)) await rm(join(folder, file), { force: true });
  }
}
