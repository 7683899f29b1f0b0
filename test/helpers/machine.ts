import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FakeOptions, historyOf, runInProcess } from './fake-context.ts';
import { type Answer, startFaultServer } from './fault-server.ts';
import { bareEnvironment, pointedAt, resultOf, start, temporaryFolder } from './run.ts';
import { withoutLetters } from './run-parts.ts';
import type { Words } from './words.ts';

export type Machine = ReturnType<typeof createMachine>;

/** A user's machine: an empty folder to work in, settings and state beside it, and the service that it knows, if any. */
export function createMachine(url?: string, key?: string) {
  const home = temporaryFolder();
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  const env: Record<string, string> = { ...bareEnvironment(home), ...(url && pointedAt(url, key)) };
  const pathOf = (name: string): string => pathIn(cwd, name);
  const begin = (line: Words, more: Readonly<Record<string, string>> = {}, stdin = '') =>
    start(line, { env: { ...env, ...more }, cwd, stdin });
  return {
    cwd,
    env,
    state: join(home, 'state'),
    pathOf,
    read: (name: string) => readFileSync(pathOf(name), 'utf8'),
    write: (name: string, text: string) => writeFileSync(pathOf(name), text),
    /** The files of the folder, in order: temporary files of runs as `<file>.part`. */
    files: () => readdirSync(cwd).map(withoutLetters).sort(),
    /** Starts the built command there without reading its output. */
    start: begin,
    /** Runs the built command there to its end. */
    run: (...args: Parameters<typeof begin>) => resultOf(begin(...args)),
    /** Runs the program there, in this process. */
    leadpipe: (line: Words, { env: more, ...options }: FakeOptions = {}) =>
      runInProcess(line, { env: { ...env, ...more }, cwd, ...options }),
    /** What `history`, with these arguments, prints there. */
    history: async (...args: string[]) => (await historyOf(env, ...args)).records,
  };
}

/** A file by its name. The temporary file of a run, whose name has six letters more, is found as `<file>.part`. */
export function pathIn(folder: string, name: string): string {
  const parts = readdirSync(folder).filter((one) => withoutLetters(one) === name && one !== name);
  return resolve(folder, parts[0] ?? name);
}

/** A machine with a service of its own that gives this answer. If it is only a text, the connection is closed after it. */
export async function machineWith(answer: Answer | string | Buffer, key?: string) {
  const server = await startFaultServer(
    typeof answer === 'function' ? answer : (socket) => void socket.end(answer),
  );
  return { ...server, ...createMachine(server.url, key) };
}
