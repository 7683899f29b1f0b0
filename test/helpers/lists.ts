import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { runInProcess } from './fake-context.ts';
import { pathIn } from './machine.ts';
import { type RowService, type RowServiceOptions, startRowService } from './row-service.ts';
import { bareEnvironment, pointedAt, type Result, temporaryFolder } from './run.ts';

export { ending } from './ending.ts';

/** A service that keeps books, and a machine with nothing on it: new for each test of a file that imports this. */
export let service: RowService;
export let cwd: string;
export let env: Record<string, string>;

beforeEach(async () => {
  const home = temporaryFolder();
  cwd = join(home, 'work');
  mkdirSync(cwd);
  env = bareEnvironment(home);
  await serve({});
});

export async function serve(options: RowServiceOptions): Promise<void> {
  await service?.close();
  service = await startRowService(options);
  setEnv(pointedAt(service.url));
}

export function setEnv(more: Readonly<Record<string, string>>): void {
  env = { ...env, ...more };
}

export const write = (name: string, text: string | Buffer): void => writeFileSync(join(cwd, name), text);
export const read = (name: string): string => readFileSync(pathIn(cwd, name), 'utf8');
/** In this process; those of `run` and `start` are the built command. */
export const leadpipe = (args: readonly string[], stdin = '', more: Readonly<Record<string, string>> = {}) =>
  runInProcess(args, { env: { ...env, ...more }, cwd, stdin });
export const contacts = (...args: string[]): Promise<Result> => leadpipe(['contact', 'email', ...args]);
/** What was paid for, sorted. */
export const paid = (): string[] =>
  [...service.charged.values()]
    .map((body) => JSON.parse(body))
    .map(({ objective, entity_context, target }) => objective ?? entity_context ?? target)
    .sort();
export const operationsFolder = (): string => join(env.LEADPIPE_STATE_DIR ?? '', 'operations');
