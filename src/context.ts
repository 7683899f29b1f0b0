import type { Readable, Writable } from 'node:stream';
import type { Clock, Zone } from './clock.ts';

export type { Clock, Zone };

/** A stream for text. `columns` is only known on a terminal. */
export interface OutputStream {
  readonly stream: Writable;
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  /** Whether it was closed when the process began, so that everything written to it is lost. Only Linux can tell. */
  readonly isClosed?: boolean;
  /** Whether it is a regular file, whose text is not shown on this terminal. */
  readonly isFile?: boolean;
  /** Whether the shell has put this process into the background of its terminal; undefined where that is not known. */
  isInBackground?(): boolean;
  /** Stops the run as soon as the reader of this stream has gone, even while nothing is written. */
  watchReader?(): Promise<void>;
}

/** The status line of the terminal. A run has one, shared by all its parts. */
export interface StatusLine {
  update(): void;
  /** Shows a text until the returned function is called. `urgent` texts come before others. */
  show(text: () => string | undefined, urgent?: boolean): () => void;
  /** Removes the line until `release`, while something else is written to the terminal. */
  hold(): void;
  release(): void;
  /** Call this when rows were written to the terminal: a blank line then separates the next message. */
  wrote(): void;
  /** Returns the pending blank line, at most once. */
  flushGap(): string;
  /** Removes the line permanently: the content of the terminal's last line is unknown from now on. */
  pause(): void;
}

/** Facts about a run so far. Its closing line, error and summary all use them, so that they agree. */
export interface RunFacts {
  /** Set when a request that can cost credits is recorded and about to be sent. */
  isSent?: true;
  /** Options that select its service, where they are not those of the command line but of the operation that is resumed. */
  route?: { readonly local?: true; readonly baseUrl?: string; readonly profile?: string };
  /** Set when the run has finished and its output is in place. */
  isFinished?: true;
  /** The error it ended with, as programs get it, and the command that resumes it. */
  error?: object;
  resume?: string;
  operationId?: string;
  requestId?: string;
  leadsSearchId?: string;
  /** The output file, and whether it has replaced one that was not empty. */
  output?: string;
  isReplaced?: true;
  /** For a list: the number of ended rows, and of those without a result. */
  rows?: number;
  rowsFailed?: number;
  /** Leads that were delivered, and those that were dropped because they were not new. */
  leads?: number;
  excluded?: number;
  stopReason?: string;
  /** The results of all runs of its operation, in words. */
  received?: string;
  charged?: 'no' | 'maybe' | 'yes';
  /** Maximum cost of the operation over all its runs; null if unknown. */
  creditsAtMost?: number | null;
  /** The same cost with the missing price, and the part that earlier runs cost. */
  cost?: { readonly credits: number; readonly unknown?: { readonly setting: string } | 'rows' | undefined };
  costBefore?: number;
  /** The setting of the missing price, if it was not mentioned today. */
  newPrice?: string;
  /** The balance before the first request and after the last, if it was requested. */
  creditsBefore?: number;
  creditsAfter?: number;
}

/** The operating system's store for secrets. Every method throws ConfigurationError when it can't be used. */
export interface Keychain {
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  /** False when there was nothing to delete. */
  delete(account: string): Promise<boolean>;
}

/** The parts that a lock needs: its owner, and a clock to wait for another one. */
export type LockContext = Pick<Context, 'clock' | 'pid' | 'random'>;

/** The parts that are needed to read and change leadpipe's own files. */
export type StoreContext = LockContext & Pick<Context, 'directories'>;

/**
 * Everything that leadpipe takes from the process and the machine; only main.ts makes a real one. Some code uses the machine directly,
 * because tests can redirect it: files (in `directories` or at a path from the user), network connections of transport and of the local
 * service, and `doctor`. test/arrows.test.ts lists these source files.
 */
export interface Context {
  readonly stdin: { readonly stream: Readable; readonly isTerminal: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly clock: Clock;
  readonly zone: Zone;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folders of leadpipe on this machine. They may not exist yet. Throws ConfigurationError where nothing says where one is. */
  readonly directories: { readonly config: string; readonly state: string };
  readonly keychain: Keychain;
  readonly ids: {
    /** A new, unique Idempotency-Key. */
    idempotencyKey(): string;
    /** A new operation ID: short. IDs sort chronologically. */
    operationId(): string;
  };
  /** State that all parts of a run share. It is empty when the run begins. */
  readonly run: {
    statusLine?: StatusLine;
    /** The option or argument that reads standard input, which can be read only once. */
    inputTakenBy?: string;
    /** Whether this run is a server on standard input, which must stay open. */
    isServer?: true;
    facts?: RunFacts;
    /** Called at exit with the exit code. Returns the exit code to use. Must be synchronous. */
    atExit?(exit: number): number;
  };
  /** From 0 to below 1, for the jitter of waits. */
  random(): number;
  /** Aborted by Ctrl-C, SIGTERM, a terminal that was closed, or a reader that went away; the reason is an `Outcome`. */
  readonly signal: AbortSignal;
  /** How long a stopped run may take before the process ends. Operations that wait for something paid increase it. */
  readonly patience?: { ms: number };
  readonly version: string;
  /** Of Node, such as 20.18.0. */
  readonly nodeVersion: string;
  /** Of this process; locks name it as their owner. */
  readonly pid: number;
}
