import { fstatSync, mkdirSync, readFileSync, type Stats, statSync, writeSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { exitCodeOf } from './cli/exit-codes.ts';
import { createClock } from './clock.ts';
import { createKeychain } from './config/keychain.ts';
import type { Context, OutputStream } from './context.ts';
import type { Outcome } from './errors.ts';

declare const LEADPIPE_VERSION: string;

/** How long a stopped run may take to put away what arrived. */
const stopMs = 900;

/** npx and timeout pass on a signal that the terminal has sent to everyone already: it comes twice, and is one. */
const sameSignalMs = 200;

/** What help is written for. */
const usualWidth = 80;

const output = 'standard output';

const argv = process.argv.slice(2);

// Asked for often; it should cost what starting Node costs.
const known = findText();
if (known === undefined) run();
else print(known);

/** What is printed without running a command: the version, and every help as the build has written it, for the usual width. */
function findText(): string | undefined {
  const [first, ...rest] = argv;
  const last = argv.at(-1) ?? '-h';
  if (argv.length === 1 && /^(?:--version|-V|-v)$/.test(last)) return `${LEADPIPE_VERSION}\n`;
  if (first !== 'help' && last !== '--help' && last !== '-h') return undefined;
  // Elsewhere the lines are filled anew.
  // A terminal is a character device, and that is quicker to tell.
  if (statOf(1)?.isCharacterDevice() && process.stdout.isTTY && process.stdout.columns !== usualWidth)
    return undefined;
  const stored = JSON.parse(readFileSync(`${import.meta.dirname}/help.json`, 'utf8'));
  const helps = new Map<string, string>(Object.entries(stored));
  if (first !== 'help') return helps.get(argv.slice(0, -1).join(' '));
  return helps.get(argv.join(' ')) ?? helps.get(rest.join(' '));
}

/** `process.stdout` takes a while to make; a pipe that is full needs it. */
function print(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(1, bytes, written);
  } catch {
    process.stdout.on('error', async (error) => {
      const { outcome, words } = (await import('./files/write-failure.ts')).writeFailure(output, error);
      process.exitCode = exitCodeOf(outcome);
      if (outcome !== 'reader_closed') process.stderr.write(`error: ${words}\n`);
    });
    process.stdout.write(bytes.subarray(written));
  }
}

async function run(): Promise<void> {
  const stop = new AbortController();
  const env = { ...process.env };
  // Crash reports and other processes are given what stays behind.
  delete process.env.LEADPIPE_API_KEY;
  const { default: envPaths } = await import('env-paths');
  const paths = envPaths('leadpipe', { suffix: '' });
  keepCompiled(paths.cache);
  const { reportThrown, runProgram } = await import('./cli/program.ts');
  const patience = { ms: stopMs };
  const halt = createHalt(stop, patience);
  process.on('SIGINT', () => halt('interrupted'));
  process.on('SIGTERM', () => halt('terminated'));
  let unwritten: Error | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') halt('reader_closed');
    else unwritten ??= error;
  });
  // Nobody can be told when stderr is gone.
  process.stderr.on('error', () => {});
  const context: Context = {
    get stdin() {
      return { stream: process.stdin, isTerminal: process.stdin.isTTY === true };
    },
    stdout: toOutput(process.stdout, 1, isStdoutClosed()),
    stderr: toOutput(process.stderr, 2, false),
    fetch: globalThis.fetch,
    clock: createClock(monotonic),
    // That of TZ, else of the system.
    zone: { minutesFromUtc: (time) => -time.getTimezoneOffset() },
    env,
    directories: {
      config: env.LEADPIPE_CONFIG_DIR || paths.config,
      // env-paths calls the XDG state directory `log`, which on other platforms is one.
      state: env.LEADPIPE_STATE_DIR || (process.platform === 'linux' ? paths.log : paths.data),
    },
    keychain: createKeychain(`${import.meta.dirname}/keychain-main.cjs`, env, stop.signal),
    ids: { idempotencyKey: () => `lp-${crypto.randomUUID()}`, operationId },
    random: Math.random,
    signal: stop.signal,
    patience,
    version: LEADPIPE_VERSION,
    nodeVersion: process.versions.node,
    pid: process.pid,
  };
  process.on('uncaughtException', async (error) => process.exit(await reportThrown(context, error, argv)));
  process.exitCode = await runProgram(context, argv);
  if (isServer(argv)) {
    // One that could not begin would go on listening.
    process.stdin.destroy();
    // What is written to a client that reads no more is never taken.
    return void setTimeout(() => process.exit(), stopMs).unref();
  }
  // Whatever was written without waiting: nobody has it who may need it.
  await new Promise((resolve) => process.stdout.write('', resolve));
  if (unwritten !== undefined && process.exitCode === 0) {
    const { writeFailure } = await import('./files/write-failure.ts');
    process.exitCode = await reportThrown(context, writeFailure(output, unwritten), argv);
  }
}

/**
 * Has Node, where it can (22.8), keep what it compiles of the command. What lies in the folder is run, so it is used only
 * where no other user can write to it.
 */
function keepCompiled(folder: string): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache === undefined) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode, uid } = statSync(folder);
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOurs) enableCompileCache(folder);
  } catch {
    // Where nothing can be kept, each run takes a little longer.
  }
}

/** Whether the words start the server that talks on standard input. */
function isServer([command, ...words]: readonly string[]): boolean {
  return command === 'mcp' && !words.some((word) => /^(?:-h|--help|--http(?:=.*)?)$/.test(word));
}

/** As `performance.now()`, which takes longer to load than most of what is timed with it. */
function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Milliseconds, then 25 random bits, in an alphabet that sorts as numbers do. */
function operationId(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `op_${Date.now().toString(32).padStart(9, '0')}${(random >>> 7).toString(32).padStart(5, '0')}`;
}

/** What ends the run: gently the first time, at once the second time, and never later than its patience. */
function createHalt(stop: AbortController, patience: { readonly ms: number }): (outcome: Outcome) => void {
  let stopped: { readonly by: Outcome; readonly at: number } | undefined;
  const exit = (): never => process.exit(stopped && exitCodeOf(stopped.by));
  return (outcome) => {
    if (stopped !== undefined) {
      if (outcome === 'reader_closed' || monotonic() - stopped.at < sameSignalMs) return;
      exit();
    }
    stopped = { by: outcome, at: monotonic() };
    stop.abort(outcome);
    const { at } = stopped;
    // How much time is left can change: what is waited for has come, or is waited for from now on.
    const guard = (): unknown => (monotonic() - at < patience.ms ? setTimeout(guard, 50).unref() : exit());
    guard();
  };
}

function toOutput(stream: NodeJS.WriteStream, descriptor: number, isClosed: boolean): OutputStream {
  return {
    stream,
    isClosed,
    isTerminal: stream.isTTY === true,
    get isFile() {
      return statOf(descriptor)?.isFile() ?? false;
    },
    get columns() {
      return stream.columns as number | undefined;
    },
  };
}

/**
 * Whether standard output was closed when the process began. Node opens /dev/null in its place, for reading and writing; a
 * shell that is told to throw the output away opens it for writing alone. Only Linux can tell. Where another program started
 * us with a /dev/null of that kind, it looks the same.
 */
function isStdoutClosed(): boolean {
  try {
    if (fstatSync(1).rdev !== statSync('/dev/null').rdev) return false;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & 3) === 2;
  } catch {
    return false;
  }
}

function statOf(descriptor: number): Stats | undefined {
  try {
    return fstatSync(descriptor);
  } catch {
    return undefined;
  }
}
