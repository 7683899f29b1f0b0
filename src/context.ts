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
  /** Whether it is a regular file: then no one reads it on this terminal meanwhile. */
  readonly isFile?: boolean;
  /** Whether the shell has put this process into the background of its terminal; undefined where that is not known. */
  isInBackground?(): boolean;
  /** From now on, the run stops when no one reads this any more, also while nothing is written. */
  watchReader?(): Promise<void>;
}

/** The line of a terminal that shows what is going on; the run has one, which all of its parts share. */
export interface StatusLine {
  update(): void;
  /** Shows a text until the returned function is called. `urgent` texts come before others. */
  show(text: () => string | undefined, urgent?: boolean): () => void;
  /** Removes the line until `release`, while something else is written to the terminal. */
  hold(): void;
  release(): void;
  /** Tells that rows are on the terminal: the next message is separated from them. */
  wrote(): void;
  /** The line break that separates, once. */
  flushGap(): string;
  /** Removes the line for good: from now on it is unknown what is on the last line of the terminal. */
  pause(): void;
}

/** What is known of a run so far. Its last line, its error and its summary take it from here, so that they say the same. */
export interface RunFacts {
  /** A request that can cost credits is recorded, and goes out. */
  isSent?: true;
  /** Whether the service charges nothing. */
  isFree?: boolean;
  /** Its last line was reached: everything is in its place. */
  isFinished?: true;
  /** The error it ended with, as programs get it, and the command that resumes it. */
  error?: object;
  resume?: string;
  operationId?: string;
  requestId?: string;
  leadsSearchId?: string;
  /** The file of its rows. */
  output?: string;
  /** Of a list: how many rows have ended, and how many of them have no result. */
  rows?: number;
  rowsFailed?: number;
  /** Leads that were delivered, and those that were dropped because they were not new. */
  leads?: number;
  excluded?: number;
  stopReason?: string;
  /** What all runs of its operation have received, in words. */
  received?: string;
  charged?: 'no' | 'maybe' | 'yes';
  /** The most that its operation costs, over all of its runs; null where that is not known. */
  creditsAtMost?: number | null;
  /** The same with the price that is missing, and what of it earlier runs have cost. */
  cost?: { readonly credits: number; readonly unknown?: { readonly setting: string } | 'rows' | undefined };
  costBefore?: number;
  /** The balance, if it was asked for: before the first request, and after the last. */
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

/**
 * What leadpipe takes from the process and the machine; only main.ts makes a real one. Past it goes what a test can give
 * a place of its own: files, in the directories that stand here or where the user named one, the connections of
 * transport and of the local service, and `doctor`. test/arrows.test.ts has the list of those files.
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
    /** A new operation ID: short, and sorted by time. */
    operationId(): string;
  };
  /** What the parts of a run have in common. It is empty when the run begins. */
  readonly run: {
    statusLine?: StatusLine;
    /** What reads standard input, in the user's words. It can be read only once. */
    inputTakenBy?: string;
    /** Whether this run is a server that listens on standard input, which no one may close. */
    isServer?: true;
    facts?: RunFacts;
    /** Is called when the process ends with this exit code, and returns the one that it should end with. Waits for nothing. */
    atExit?(exit: number): number;
  };
  /** From 0 up to 1, for waits that should not coincide. */
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
