import type { Readable, Writable } from 'node:stream';
import type { Clock, Zone } from './clock.ts';

export type { Clock, Zone };

/** Where text goes. `columns` is known on a terminal only. */
export interface OutputStream {
  readonly stream: Writable;
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  /** Whether it was closed when the process began, so that what is written to it is lost; only Linux can tell. */
  readonly isClosed?: boolean;
  /** Whether it is a regular file, which no one reads on this terminal meanwhile. */
  readonly isFile?: boolean;
}

export interface InputStream {
  readonly stream: Readable;
  readonly isTerminal: boolean;
}

export interface Ids {
  /** A new Idempotency-Key, unique for ever. */
  idempotencyKey(): string;
  /** A new operation ID: short, and in the order of time. */
  operationId(): string;
}

/** Where leadpipe keeps things on this machine; named, not made. */
export interface Directories {
  readonly config: string;
  readonly state: string;
}

/** Where the operating system keeps secrets. Every method throws a ConfigurationError when it can't be asked. */
export interface Keychain {
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  /** False when there was none. */
  delete(account: string): Promise<boolean>;
}

/**
 * What leadpipe takes from the process and the machine; only main.ts makes a real one. Past it goes what a test can give
 * a place of its own: files, in the directories that stand here or where the user named one, the connections of
 * transport and of the local service, and `doctor`. test/arrows.test.ts has the list of those files.
 */
export interface Context {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** For `conformance`, which sees a service as any program does; all else goes by transport's own connections. */
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly zone: Zone;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly directories: Directories;
  readonly keychain: Keychain;
  readonly ids: Ids;
  /** From 0 up to 1, for waits that should not coincide. */
  random(): number;
  /** Aborted by Ctrl-C, SIGTERM or a reader that went away; the reason is an `Outcome`. */
  readonly signal: AbortSignal;
  /** How long a stopped run may take before the process ends; who waits for what is paid for asks for more. */
  readonly patience?: { ms: number };
  readonly version: string;
  /** Of Node, as 20.18.0. */
  readonly nodeVersion: string;
  /** Of this process, for locks that name their owner. */
  readonly pid: number;
}
