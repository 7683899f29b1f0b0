import { closeSync, fstatSync, mkdirSync, readFileSync, type Stats, statSync, writeSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { isAbsolute } from 'node:path';
import { exitCodeOf } from './cli/exit-codes.ts';
import { createClock } from './clock.ts';
import { createKeychain } from './config/keychain.ts';
import type { Context, OutputStream } from './context.ts';
import type { Outcome } from './errors.ts';

declare const LEADPIPE_VERSION: string;

/** How long a stopped run may take to save what arrived. */
const stopMs = 900;

/** npx and timeout forward a signal that the terminal has already sent to all processes: a second one within this time is ignored. */
const sameSignalMs = 200;

/** The width of the prebuilt help texts. */
const defaultWidth = 80;

const output = 'standard output';

const argv = process.argv.slice(2);

// Version and help are printed often, and should take no longer than starting Node.
const known = findText();
if (known === undefined) run();
else print(known);

/** The text that is printed without running a command: the version, or a help text that the build prepared for the default width. */
function findText(): string | undefined {
  const [first, ...rest] = argv;
  const last = argv.at(-1) ?? '-h';
  if (argv.length === 1 && /^(?:--version|-V|-v)$/.test(last)) return `${LEADPIPE_VERSION}\n`;
  if (first !== 'help' && last !== '--help' && last !== '-h') return undefined;
  // Other widths are formatted at run time. Testing for a character device is faster than testing for a terminal.
  if (statOf(1)?.isCharacterDevice() && process.stdout.isTTY && process.stdout.columns !== defaultWidth)
    return undefined;
  const stored = JSON.parse(readFileSync(`${import.meta.dirname}/help.json`, 'utf8'));
  const helps = new Map<string, string>(Object.entries(stored));
  if (first !== 'help') return helps.get(argv.slice(0, -1).join(' '));
  return helps.get(argv.join(' ')) ?? helps.get(rest.join(' '));
}

/** Writes without `process.stdout`, which is slow to create; only a full pipe needs it. */
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
  // Otherwise crash reports and child processes would get the key.
  delete process.env.LEADPIPE_API_KEY;
  // Certificates are always checked; with this variable, Node would warn that they are not.
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  const paths = await findFolders();
  keepCompiled(paths.cache);
  const [{ reportThrown, runProgram }, { ConfigurationError }] = await Promise.all([
    import('./cli/program.ts'),
    import('./errors.ts'),
  ]);
  const known = (folder: string): string => {
    if (isAbsolute(folder)) return folder;
    const hint = 'Set HOME, or LEADPIPE_CONFIG_DIR and LEADPIPE_STATE_DIR to folders of your choice.';
    throw new ConfigurationError('this user has no home folder for settings and purchases', hint);
  };
  const patience = { ms: stopMs };
  const halt = createHalt(stop, patience);
  process.on('SIGINT', () => halt('interrupted'));
  process.on('SIGTERM', () => halt('terminated'));
  process.on('SIGHUP', () => halt('hung_up'));
  process.on('exit', closeLostTerminals);
  let unwritten: Error | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') halt('reader_closed');
    // The terminal was closed, and SIGHUP is about to arrive.
    else if (error.code === 'EIO' && process.stdout.isTTY) halt('hung_up');
    else unwritten ??= error;
  });
  // Without stderr, errors can't be reported.
  process.stderr.on('error', () => {});
  const context: Context = {
    get stdin() {
      return { stream: process.stdin, isTerminal: process.stdin.isTTY === true };
    },
    stdout: Object.assign(toOutput(process.stdout, 1, isStdoutClosed()), {
      async watchReader() {
        const { watchPipeReader } = await import('./files/pipe-reader.ts');
        watchPipeReader(1, () => halt('reader_closed'));
      },
    }),
    stderr: Object.assign(toOutput(process.stderr, 2, false), { isInBackground }),
    clock: createClock(monotonic),
    // The zone of TZ, else of the system.
    zone: { minutesFromUtc: (time) => -time.getTimezoneOffset() },
    env,
    directories: {
      get config() {
        return env.LEADPIPE_CONFIG_DIR || known(paths.config);
      },
      get state() {
        // env-paths calls the XDG state directory `log`. On other platforms that is a folder for logs.
        return env.LEADPIPE_STATE_DIR || known(process.platform === 'linux' ? paths.log : paths.data);
      },
    },
    get keychain() {
      return createKeychain(`${import.meta.dirname}/keychain-main.cjs`, env, stop.signal);
    },
    ids: { idempotencyKey: () => `lp-${crypto.randomUUID()}`, operationId },
    run: {},
    random: Math.random,
    signal: stop.signal,
    patience,
    version: LEADPIPE_VERSION,
    nodeVersion: process.versions.node,
    pid: process.pid,
  };
  process.on('exit', (exit) => {
    process.exitCode = context.run.atExit?.(exit) ?? exit;
  });
  process.on('uncaughtException', async (error) => {
    // If reporting fails too, no file of leadpipe may be loaded: an update may have replaced it.
    process.exit(await reportThrown(context, error, argv).catch(() => reportPlainly(error)));
  });
  process.exitCode = await runProgram(context, argv);
  if (context.run.isServer) {
    // Stop a server whose start-up failed.
    process.stdin.destroy();
    // A client that no longer reads would block the exit.
    return void setTimeout(() => process.exit(), stopMs).unref();
  }
  // Wait until everything is written.
  await new Promise((resolve) => process.stdout.write('', resolve));
  if (unwritten !== undefined && process.exitCode === 0) {
    const { writeFailure } = await import('./files/write-failure.ts');
    process.exitCode = await reportThrown(context, writeFailure(output, unwritten), argv);
  }
}

/** Reports an error without any other file of leadpipe, and returns the exit code. */
function reportPlainly(error: Error): number {
  process.stderr.write(
    `error: ${error.message.split('\n', 1)[0]}\nThe files of leadpipe were changed while it ran, for example by an update. Check the history before you buy again.\n`,
  );
  return exitCodeOf('bug');
}

/** The folders of this user. A relative path means that the user has no home folder. */
async function findFolders() {
  for (const name of ['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']) {
    // The XDG specification says to ignore relative paths. When deleted, child processes ignore them too.
    if (!isAbsolute(process.env[name] ?? '')) delete process.env[name];
  }
  try {
    process.getBuiltinModule('node:os').homedir();
  } catch {
    // No HOME, and no entry for the user, as in a container that any user may run. env-paths asks for it as soon as it is loaded.
    process.env.HOME = '';
  }
  return (await import('env-paths')).default('leadpipe', { suffix: '' });
}

/**
 * Enables Node's compile cache (Node 22.8 or later). Node runs code from this folder, so it is only used if no other user can write to it.
 */
function keepCompiled(folder: string): void {
  if (!isAbsolute(folder)) return;
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  if (enableCompileCache === undefined) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode, uid } = statSync(folder);
    const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOurs) enableCompileCache(folder);
  } catch {
    // Without the cache, each run takes a little longer.
  }
}

/** As `performance.now()`, which is slow to load. */
function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Milliseconds, then 25 random bits, in base 32: the IDs sort chronologically. */
function operationId(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `op_${Date.now().toString(32).padStart(9, '0')}${(random >>> 7).toString(32).padStart(5, '0')}`;
}

/** Node resets its terminals at exit. Node 20 aborts if a terminal no longer exists, unless its descriptor is closed. */
function closeLostTerminals(): void {
  for (const descriptor of [0, 1, 2]) {
    if (statOf(descriptor)?.isCharacterDevice() !== true) continue;
    if (!process.getBuiltinModule('node:tty').isatty(descriptor)) closeSync(descriptor);
  }
}

/** Signals of the user: a second one exits at once. A closed terminal or a reader that has gone is not one. */
const asking: readonly Outcome[] = ['interrupted', 'terminated'];

/** Stops the run: gracefully at first, at once on a second signal, and at the latest when `patience` is over. */
function createHalt(stop: AbortController, patience: { readonly ms: number }): (outcome: Outcome) => void {
  let stopped: Outcome | undefined;
  let askedAt: number | undefined;
  const exit = (): never => process.exit(stopped && exitCodeOf(stopped));
  return (outcome) => {
    const at = monotonic();
    if (asking.includes(outcome)) {
      if (askedAt !== undefined && at - askedAt >= sameSignalMs) exit();
      askedAt ??= at;
    }
    if (stopped !== undefined) return;
    stopped = outcome;
    stop.abort(outcome);
    // `patience` changes when a wait for something paid begins or ends.
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
 * Whether standard output was closed when the process began. Node then opens /dev/null for reading and writing in its place; a shell that
 * redirects to /dev/null opens it for writing only. Only Linux shows this. A program that passes a read-write /dev/null looks the same.
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

/** Whether another process group has the terminal (this one is in the background). Only Linux shows this; false elsewhere. */
function isInBackground(): boolean {
  try {
    // Fields after the name (which may have spaces): state, parent, group, session, terminal, foreground group.
    const [, fields = ''] = /\) (.*)/.exec(readFileSync('/proc/self/stat', 'utf8')) ?? [];
    const [, , group, , , foreground] = fields.split(' ').map(Number);
    return foreground !== undefined && foreground > 0 && foreground !== group;
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
