import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError } from '../errors.ts';
import { syncFolder } from '../files/private-folder.ts';
import type { JsonText } from '../json/text.ts';

/** Where an operation's folder holds the whole answer, as the service sent it. */
export const answerFile = 'answer.json';
/** What came instead of an answer: it may hold what was paid for. */
export const garbledFile = 'answer.garbled';

/** Resolves when the answer is on the disk under its name: all of it, or nothing. Throws LocalIoError. */
export async function storeAnswer(folder: string, text: string, file = answerFile): Promise<void> {
  const path = join(folder, file);
  const part = `${path}.part`;
  try {
    const handle = await open(part, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
    await syncFolder(folder);
  } catch (error) {
    throw new LocalIoError(`cannot store the answer in ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Undefined when there is none (any more). Throws LocalIoError. */
export async function readAnswer(folder: string): Promise<JsonText | undefined> {
  const path = join(folder, answerFile);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new LocalIoError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}
