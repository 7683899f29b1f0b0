import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError } from '../errors.ts';
import { changeFile } from '../files/whole-file.ts';
import { readJsonObject } from './settings.ts';

export type StoreContext = Pick<Context, 'directories' | 'pid' | 'clock' | 'random'>;

type Content = Readonly<Record<string, unknown>>;

/**
 * Changes a JSON file of the config directory. `change` returns what it holds from now on. Throws ConfigurationError for
 * a file that can't be understood or is a symbolic link, which is left as it is, LocalIoError, and `temporary` when
 * another process does not give up the lock.
 */
export async function changePrivateStore(
  context: StoreContext,
  file: string,
  change: (content: Content) => Content,
): Promise<void> {
  const path = join(context.directories.config, file);
  try {
    await changeFile(context, path, 'the settings', async () => {
      await refuseLink(path);
      return `${JSON.stringify(change(await readJsonObject(path)), null, 2)}\n`;
    });
  } catch (error) {
    if (error instanceof LeadpipeError) throw error;
    throw new LocalIoError(`can't write ${path}: ${(error as Error).message}`, {
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
    `${path} is a symbolic link, and leadpipe does not write through links`,
    'Put a regular file in its place. Nothing was changed.',
  );
}
