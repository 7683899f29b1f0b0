import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LocalIoError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { reasonOf } from '../../files/write-failure.ts';

/** Refuses a name that contains a path, which could lead out of the folder of operations. */
export function isOperationId(text: string): boolean {
  return /^[\w-]+$/.test(text);
}

export function folderOf(stateDir: string, operationId: string): string {
  return join(stateDir, 'operations', operationId);
}

/** The IDs of everything that looks like an operation, oldest first. Throws LocalIoError. */
export async function listOperations(stateDir: string): Promise<string[]> {
  const root = join(stateDir, 'operations');
  return ((await readOrNothing(() => readdir(root), root)) ?? []).filter(isOperationId).sort();
}

/** Undefined where there is no such file or folder. Throws LocalIoError. */
export async function readOrNothing<T>(read: () => Promise<T>, path: string): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const code = codeOf(error);
    // A file in place of a folder is not ours.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new LocalIoError(`can't read ${path}: ${reasonOf(error)}`, {
      cause: error,
      ...(code === 'EACCES' ? { hint: toOwnHint(dirname(path)) } : {}),
    });
  }
}

/** Pure: what to do about a folder that only another user may read. */
export function toOwnHint(folder: string): string {
  return `It may belong to another user, for example after a run with sudo. To make it yours: sudo chown -R "$USER" '${folder}'\nTo use another folder, set LEADPIPE_STATE_DIR.`;
}
