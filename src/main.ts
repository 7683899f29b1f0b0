import { getRandomValues, randomUUID } from 'node:crypto';
import { existsSync, fstatSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createChunkLoader } from './chunk-loader.ts';
import type { Clock } from './clock.ts';
import type { Context, Directories, Keychain, OutputStream } from './context.ts';
import type { Outcome } from './errors.ts';

declare const LEADPIPE_VERSION: string;

/** How long a stopped run may take to put away what arrived. */
const stopMs = 900;

/** npx and timeout pass on a signal that the terminal has sent to everyone already: it comes twice, and is one. */
const sameSignalMs = 200;

/** What help is written for. */
const usualWidth = 80;

/** The commands that are run often: what is compiled of them is kept. */
const often = [
  'balance',
  'completion',
  'contact',
  'enrich',
  'extract',
  'history',
  'mcp',
  'research',
  'search',
  'task',
];

const argv = process.argv.slice(2);
const chunkLoader = createChunkLoader(join(import.meta.dirname, 'chunks'), process.getBuiltinModule);

// Asked for often; it should cost what starting Node costs.
const known = findText();
if (known === undefined) run();
else print(known);

/** `process.stdout` is a stream, whose parts take a while to load; a pipe that is full needs them. */
function print(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(1, bytes, written);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EAGAIN') return void failToPrint(code);
    process.stdout.on('error', (later: NodeJS.ErrnoException) => failToPrint(later.code));
    process.stdout.write(bytes.subarray(written));
  }
}

async function failToPrint(code: string | undefined): Promise<void> {
  const { exitCodeOf } = await import('./cli/start.ts');
  process.exitCode = exitCodeOf(code === 'EPIPE' ? 'reader_closed' : 'local_io');
}

/** What is printed without running a command; undefined where one has to run. */
function findText(): string | undefined {
  const [first, ...rest] = argv;
  const last = argv.at(-1);
  if (argv.length === 1 && (first === '--version' || first === '-V')) return `${LEADPIPE_VERSION}\n`;
  const isOption = last === '--help' || last === '-h';
  if (first !== undefined && first !== 'help' && !isOption) return undefined;
  // Elsewhere the lines are filled anew.
  if (isDevice(1) && process.stdout.isTTY && process.stdout.columns !== usualWidth) return undefined;
  const stored = readFileSync(join(import.meta.dirname, 'help.json'), 'utf8');
  const helps = new Map<string, string>(Object.entries(JSON.parse(stored)));
  if (first !== 'help') return helps.get(argv.slice(0, -1).join(' '));
  return helps.get(argv.join(' ')) ?? helps.get(rest.join(' '));
}

function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}

async function run(): Promise<void> {
  const stop = new AbortController();
  const env = takeEnvironment();
  const { default: envPaths } = await import('env-paths');
  const directories = toDirectories(env, envPaths('leadpipe', { suffix: '' }));
  const compiled = compiledFile(directories.state);
  if (compiled !== undefined) chunkLoader.open(compiled);
  const {
    createClock,
    createKeychain,
    createZone,
    exitCodeOf,
    isRegularFile,
    isStdoutClosed,
    reportThrown,
    runProgram,
    setUsualFlags,
    writePrivate,
  } = await import('./cli/start.ts');
  const halt = createHalt(exitCodeOf, stop);
  process.on('SIGINT', () => halt('interrupted'));
  process.on('SIGTERM', () => halt('terminated'));
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') halt('reader_closed');
  });
  // Nobody can be told when stderr is gone.
  process.stderr.on('error', () => {});
  const script = `${import.meta.dirname}/keychain-main.cjs`;
  const keychain = createKeychain({ script, env, signal: stop.signal });
  const system = { zone: createZone(), isStdoutClosed: isStdoutClosed(), isRegularFile, signal: stop.signal };
  const context = createContext(env, keychain, directories, createClock(monotonic), system);
  process.on('uncaughtException', (error) => process.exit(reportThrown(context, error, argv)));
  process.exitCode = await runProgram(context, argv);
  // What fails has not run all that it could.
  if (compiled !== undefined && process.exitCode === 0 && chunkLoader.hasMore()) {
    setUsualFlags();
    // Where it can't be written, the next run takes a little longer.
    await writePrivate(compiled, chunkLoader.toKeep()).catch(() => undefined);
  }
  // A server that could not begin would go on listening.
  if (!isServer(argv)) return;
  process.stdin.destroy();
  // What is written to a client that reads no more is never taken.
  setTimeout(() => process.exit(), stopMs).unref();
}

/** Whether the words start the server that talks on standard input. */
function isServer([command, ...words]: readonly string[]): boolean {
  return command === 'mcp' && !words.some((word) => /^(?:-h|--help|--http(?:=.*)?)$/.test(word));
}

/**
 * Where the command keeps what V8 compiles of it: in the state directory, which is private. Where nothing was ever kept,
 * nothing is.
 */
function compiledFile(state: string): string | undefined {
  const [command = ''] = argv;
  if (!often.includes(command) || !existsSync(state)) return undefined;
  return join(state, 'compiled', `${process.version}-${process.arch}`, command);
}

/** As `performance.now()`, which takes longer to load than most of what is timed with it. */
function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** The environment without the API key stays behind: crash reports and other processes are given it. */
function takeEnvironment(): Context['env'] {
  const env = { ...process.env };
  delete process.env.LEADPIPE_API_KEY;
  return env;
}

/** The rest of what the process has. */
type System = Pick<Context, 'zone' | 'signal'> & {
  readonly isStdoutClosed: boolean;
  readonly isRegularFile: (descriptor: number) => boolean;
};

function createContext(
  env: Context['env'],
  keychain: Keychain,
  directories: Directories,
  clock: Clock,
  { zone, signal, isStdoutClosed, isRegularFile }: System,
): Context {
  return {
    get stdin() {
      return { stream: process.stdin, isTerminal: process.stdin.isTTY === true };
    },
    stdout: toOutput(process.stdout, { isClosed: isStdoutClosed, isFile: () => isRegularFile(1) }),
    stderr: toOutput(process.stderr, { isClosed: false, isFile: () => isRegularFile(2) }),
    fetch: globalThis.fetch,
    clock,
    zone,
    env,
    directories,
    keychain,
    ids: { idempotencyKey: () => `lp-${randomUUID()}`, operationId },
    random: Math.random,
    signal,
    version: LEADPIPE_VERSION,
    nodeVersion: process.versions.node,
    pid: process.pid,
  };
}

/** Milliseconds, then 25 random bits, in an alphabet that sorts as numbers do. */
function operationId(): string {
  const [random = 0] = getRandomValues(new Uint32Array(1));
  return `op_${Date.now().toString(32).padStart(9, '0')}${(random >>> 7).toString(32).padStart(5, '0')}`;
}

/** What ends the run: gently the first time, at once the second time, and never later than `stopMs`. */
function createHalt(
  exitCodeOf: (outcome: Outcome) => number,
  stop: AbortController,
): (outcome: Outcome) => void {
  let stopped: { readonly by: Outcome; readonly at: number } | undefined;
  const exit = (): never => process.exit(stopped && exitCodeOf(stopped.by));
  return (outcome) => {
    if (stopped !== undefined) {
      if (outcome === 'reader_closed' || monotonic() - stopped.at < sameSignalMs) return;
      exit();
    }
    stopped = { by: outcome, at: monotonic() };
    stop.abort(outcome);
    setTimeout(exit, stopMs).unref();
  };
}

function toOutput(
  stream: NodeJS.WriteStream,
  is: { readonly isClosed: boolean; isFile(): boolean },
): OutputStream {
  return {
    stream,
    isClosed: is.isClosed,
    isTerminal: stream.isTTY === true,
    get isFile() {
      return is.isFile();
    },
    get columns() {
      return stream.columns as number | undefined;
    },
  };
}

/** The XDG directories, or the platform's own, unless the environment names others. */
function toDirectories(
  env: Context['env'],
  paths: { config: string; data: string; log: string },
): Directories {
  return {
    config: env.LEADPIPE_CONFIG_DIR || paths.config,
    // env-paths calls the XDG state directory `log`, which on other platforms is one.
    state: env.LEADPIPE_STATE_DIR || (process.platform === 'linux' ? paths.log : paths.data),
  };
}
