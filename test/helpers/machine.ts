import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bareEnvironment, pointedAt, resultOf, start, temporaryFolder } from './run.ts';

export type Machine = ReturnType<typeof createMachine>;

/** A user's machine: an empty folder to work in, settings and state beside it, and the service that it knows, if any. */
export function createMachine(url?: string, key?: string) {
  const home = temporaryFolder();
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  const env: Record<string, string> = { ...bareEnvironment(home), ...(url && pointedAt(url, key)) };
  const pathOf = (name: string): string => join(cwd, name);
  const begin = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    start(args, { env: { ...env, ...more }, cwd });
  return {
    cwd,
    env,
    state: join(home, 'state'),
    pathOf,
    read: (name: string) => readFileSync(pathOf(name), 'utf8'),
    write: (name: string, text: string) => writeFileSync(pathOf(name), text),
    /** The files of the folder, in order. */
    files: () => readdirSync(cwd).sort(),
    /** Starts the built command there; nobody reads its output yet. */
    start: begin,
    /** Runs the built command there to its end. */
    run: (args: readonly string[], more?: Readonly<Record<string, string>>) => resultOf(begin(args, more)),
  };
}
