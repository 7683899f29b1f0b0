import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepIndexes, lendIndexes } from './demonstration.ts';
import { toWords, type Words } from './words.ts';

export const command = join(import.meta.dirname, '../../bin/leadpipe.js');

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Whether a local service must build its own indexes, as on a new machine. */
  readonly isFirst?: boolean;
}

export interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder of its own, gone when the tests are. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadpipe-test-'));
  folders.push(folder);
  return folder;
}

/** The environment of a user who has nothing: no settings, no state, no key. */
export function bareEnvironment(folder = temporaryFolder()): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    LEADPIPE_CONFIG_DIR: join(folder, 'config'),
    LEADPIPE_STATE_DIR: join(folder, 'state'),
  };
}

/** Lends the indexes of others to the local service that these words start, if any; returns what keeps its own. */
export function copyIndexesTo(args: readonly string[], env: Readonly<Record<string, string>>): () => void {
  const { LEADPIPE_STATE_DIR: state = '' } = env;
  if (state === '' || !(args.includes('--local') || args[0] === 'serve')) return () => {};
  const folder = join(state, 'local-service');
  lendIndexes(folder);
  return () => keepIndexes(folder);
}

/** Whether this user may mount something where no other process sees it. */
export const canMount = (): boolean =>
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

/** Starts the built command without reading its output. */
export function start(line: Words, options: RunOptions = {}): ChildProcessWithoutNullStreams {
  const args = toWords(line);
  const env: Record<string, string> = { ...bareEnvironment(), ...options.env };
  const keep = options.isFirst === true ? undefined : copyIndexesTo(args, env);
  const child = spawn(process.execPath, [command, ...args], {
    env,
    cwd: options.cwd ?? temporaryFolder(),
    stdio: 'pipe',
  });
  if (keep !== undefined) child.on('exit', keep);
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  return child;
}

/** Gathers what a command prints until it ends. */
export function resultOf(child: ChildProcessWithoutNullStreams): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ stdout, stderr, code }));
  });
}

/** Runs the built command to its end. */
export function run(line: Words, options?: RunOptions): Promise<Result> {
  return resultOf(start(line, options));
}

/** Runs a shell script, started `through` another program; `leadpipe` is the built command. */
export function inShell(
  script: string,
  { env, cwd }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
  ...through: readonly string[]
): Promise<Result> {
  const leadpipe = `leadpipe() { '${process.execPath}' '${command}' "$@"; }; ${script}`;
  const [program = '', ...args] = [...through, 'bash', '-c', leadpipe];
  const keep = copyIndexesTo(script.split(' '), env);
  const child = spawn(program, args, { env, cwd, stdio: 'pipe' });
  child.on('exit', keep);
  child.stdin.end();
  return resultOf(child);
}

/** The environment that points the command at a server. */
export function pointedAt(url: string, key = 'test-key-0123456789'): Record<string, string> {
  return { LEADPIPE_BASE_URL: url, LEADPIPE_API_KEY: key };
}

/** Polls with every turn of the event loop until a condition is true. The timeout of the test limits it. */
export async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setImmediate(resolve));
}
