import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The indexes of the demonstration's leads take up to a second to build and never change. They are in the folder of the local service, so each local
 * service of a test run starts with the indexes that others have built.
 */
const shared = (): string => join(tmpdir(), 'catalogues');

/** Gives a local service that is about to start in this folder the indexes there are. */
export function lendIndexes(folder: string): void {
  linkIndexes(shared(), folder);
}

/** Keeps the indexes that a local service has made. */
export function keepIndexes(folder: string): void {
  linkIndexes(folder, shared());
}

function linkIndexes(from: string, to: string): void {
  for (const name of namesIn(from)) {
    try {
      // Not `recursive`: Node never returns where the parent can't have folders, as in /proc.
      for (const one of [dirname(dirname(to)), dirname(to), to]) {
        if (!existsSync(one)) mkdirSync(one, { mode: 0o700 });
      }
      linkSync(join(from, name), join(to, name));
    } catch {
      // It exists already, was removed meanwhile, or the disk is full: the local service then builds its own.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^demonstration-\w+\.db$/.test(name));
  } catch {
    return [];
  }
}
