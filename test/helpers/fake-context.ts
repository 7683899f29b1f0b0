import { Readable, Writable } from 'node:stream';
import { runProgram } from '../../src/cli/program.ts';
import type { Context, Keychain } from '../../src/context.ts';
import { machineClock } from './clock.ts';
import { bareEnvironment, copyIndexesTo, type Result } from './run.ts';
import { toWords, type Words } from './words.ts';

export interface FakeOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Where relative paths begin; it stays the folder of this process. */
  readonly cwd?: string;
  readonly stdin?: string | Buffer | undefined;
  readonly stdinIsTerminal?: boolean;
  /** The real duration of a wait, in milliseconds; by default the same. */
  readonly toWait?: (ms: number) => number;
  /** Default: a keychain that is always open. */
  readonly keychain?: Keychain;
  /** Whether standard output is a terminal. */
  readonly stdoutIsTerminal?: boolean;
  readonly stderrIsTerminal?: boolean;
  /** Of that terminal; 80 unless they are given. */
  readonly columns?: number;
  /** Of the clocks of this place, ahead of UTC; none unless they are given. */
  readonly minutesFromUtc?: number;
  /** Other members of the context to replace. */
  readonly context?: Partial<Context>;
  /** Told of what is printed, as it comes. */
  readonly heard?: (stream: 'stdout' | 'stderr', text: string) => void;
}

/** Runs the whole program in this process: real network and clock, streams in memory. */
export async function runInProcess(line: Words, options: FakeOptions = {}): Promise<Result> {
  const args = toWords(line);
  const stdout = gather((text) => options.heard?.('stdout', text));
  const stderr = gather((text) => options.heard?.('stderr', text));
  const env = { ...bareEnvironment(options.env?.HOME), ...options.env };
  if (options.cwd !== undefined) process.chdir(options.cwd);
  const context: Context = {
    stdin: { stream: Readable.from([options.stdin ?? '']), isTerminal: options.stdinIsTerminal ?? false },
    stdout: {
      stream: stdout.stream,
      isTerminal: options.stdoutIsTerminal ?? false,
      columns: options.stdoutIsTerminal ? (options.columns ?? 80) : undefined,
    },
    stderr: {
      stream: stderr.stream,
      isTerminal: options.stderrIsTerminal ?? false,
      columns: options.stderrIsTerminal ? (options.columns ?? 80) : undefined,
    },
    clock: {
      ...machineClock,
      after: (ms, callback) => machineClock.after(options.toWait?.(ms) ?? ms, callback),
    },
    zone: { minutesFromUtc: () => options.minutesFromUtc ?? 0 },
    env,
    directories: { config: env.LEADPIPE_CONFIG_DIR ?? '', state: env.LEADPIPE_STATE_DIR ?? '' },
    keychain: options.keychain ?? createMemoryKeychain(),
    ids: {
      idempotencyKey: () => nextKeyOf(env.HOME),
      operationId: () => `op_test_${process.hrtime.bigint()}`,
    },
    run: {},
    // No jitter: what is tried again is tried again at once.
    random: () => 0,
    signal: new AbortController().signal,
    version: '0.0.0-test',
    nodeVersion: process.versions.node,
    pid: process.pid,
    ...options.context,
  };
  const keep = copyIndexesTo(args, env);
  const ended = await runProgram(context, args);
  const code = context.run.atExit?.(ended) ?? ended;
  keep();
  return { stdout: stdout.text(), stderr: stderr.text(), code };
}

const keysOfHomes = new Map<string | undefined, number>();

/** The keys of each user count up. */
function nextKeyOf(home: string | undefined): string {
  const nth = (keysOfHomes.get(home) ?? 0) + 1;
  keysOfHomes.set(home, nth);
  return `test-${nth}`;
}

/** A keychain that is always open, and gone with the run. */
function createMemoryKeychain(): Keychain {
  const secrets = new Map<string, string>();
  return {
    get: async (account) => secrets.get(account),
    set: async (account, secret) => void secrets.set(account, secret),
    delete: async (account) => secrets.delete(account),
  };
}

function gather(heard: (text: string) => void): { stream: Writable; text(): string } {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      // The writer may reuse the buffer.
      pieces.push(Buffer.from(piece));
      heard(piece.toString());
      done();
    },
  });
  return { stream, text: () => Buffer.concat(pieces).toString('utf8') };
}

/** What `history`, with these arguments, prints of the machine. */
export async function historyOf(env: Record<string, string>, ...args: string[]) {
  const { code, stderr, stdout } = await runInProcess(['history', ...args, '-f', 'jsonl'], { env });
  return { code, stderr, records: recordsIn(stdout) };
}

export function recordsIn(jsonl: string): Record<string, unknown>[] {
  const lines = jsonl.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}
