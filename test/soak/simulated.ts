import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import os from 'node:os';
import { runInProcess } from '../helpers/fake-context.ts';
import type { Result } from '../helpers/run.ts';

/**
 * Many processes in this one, each of which can be killed at any boundary of the file system: from then on nothing that it
 * does has an effect, its connections are reset, and its number is that of a dead process. A run costs milliseconds, so that
 * thousands can be tried.
 */
export interface Start {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** Killed at this change of the file system, counted from 1; halfway through, if it is a write. */
  readonly killAt?: number | undefined;
  /** Stopped for a while (SIGSTOP, SIGCONT) at this change. */
  readonly sleepAt?: number | undefined;
  /** From this change on the disk has no room. */
  readonly fullAt?: number | undefined;
  /** How far ahead its wall clock is, in milliseconds. */
  readonly clockAheadMs: number;
}

export interface Simulated {
  readonly ended: Promise<Result>;
  /** Of the file system, so far. */
  changes(): number;
  kill(): void;
  signal(outcome: 'interrupted' | 'terminated'): void;
}

/** Waits of the command are shorter by this factor; the service answers at once. */
const faster = 100;
const never = new Promise<never>(() => {});
const firstPid = 2 ** 22 + 1;
let lastPid = firstPid;

class Machine {
  readonly pid = ++lastPid;
  readonly sockets = new Set<Socket>();
  readonly timers = new Set<NodeJS.Timeout>();
  readonly opened = new Set<{ close(): unknown } | { destroy(): unknown }>();
  readonly underWay = new Set<Promise<unknown>>();
  isDead = false;
  changes = 0;
  onDeath = (): void => {};

  readonly #start: Start;

  constructor(start: Start) {
    this.#start = start;
  }

  get isFull(): boolean {
    return this.changes >= (this.#start.fullAt ?? Number.POSITIVE_INFINITY);
  }

  /** Before a change: whether it is the one that the process dies in. */
  isLast(): boolean {
    return ++this.changes === this.#start.killAt;
  }

  async sleep(): Promise<void> {
    if (this.changes === this.#start.sleepAt) await new Promise((resolve) => setTimeout(resolve, 30));
  }

  /** What the system does at once for one that is killed. */
  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    alive.delete(this.pid);
    for (const timer of this.timers) clearTimeout(timer);
    for (const socket of this.sockets) socket.destroy();
    this.onDeath();
  }

  /** What it had under way is done or not, and its files are closed, before anybody is told that it is gone. */
  async settle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
    for (const one of this.opened) {
      // One that is being read closes when that is over, which may be never.
      if ('close' in one) void Promise.resolve(one.close()).catch(() => {});
      else one.destroy();
    }
  }
}

const running = new AsyncLocalStorage<Machine>();
const alive = new Map<number, Machine>();

/** Starts the program as a process of its own, as far as others can tell. */
export function startSimulated(start: Start): Simulated {
  const machine = new Machine(start);
  alive.set(machine.pid, machine);
  const stop = new AbortController();
  const written = { stdout: '', stderr: '' };
  const now = (): Date => new Date(Date.now() + start.clockAheadMs);
  const died = new Promise<Result>((resolve) => {
    machine.onDeath = () => void machine.settle().then(() => resolve({ ...written, code: null }));
  });
  let keys = 0;
  const run = running.run(machine, () =>
    runInProcess(start.args, {
      env: start.env,
      stdin: start.stdin,
      context: {
        pid: machine.pid,
        signal: stop.signal,
        clock: {
          now,
          monotonic: () => performance.now(),
          after(ms, callback) {
            if (machine.isDead) return () => {};
            const timer = setTimeout(callback, ms / faster);
            machine.timers.add(timer);
            return () => {
              clearTimeout(timer);
              machine.timers.delete(timer);
            };
          },
        },
        ids: {
          idempotencyKey: () => `key-${machine.pid}-${++keys}`,
          operationId: () => toOperationId(now()),
        },
      },
      // What was written before it was killed can be read.
      heard: (stream, text) => {
        if (!machine.isDead) written[stream] += text;
      },
    }),
  );
  // What a dead one comes to is nobody's business.
  const over = run.then((result) => (machine.isDead ? died : result));
  const ended = Promise.race([died, over]).finally(() => {
    alive.delete(machine.pid);
    for (const socket of machine.sockets) socket.destroy();
  });
  return {
    ended,
    changes: () => machine.changes,
    kill: () => machine.die(),
    signal: (outcome) => stop.abort(outcome),
  };
}

let lastOperation = 0;

/** As main.ts makes them, but never twice the same. */
function toOperationId(now: Date): string {
  const time = now.getTime().toString(32).padStart(9, '0');
  return `op_${time}${(++lastOperation).toString(32).padStart(5, '0')}`;
}

type Call = (...args: never[]) => unknown;
const halfOf = (data: unknown): Buffer => {
  const bytes = typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as Uint8Array);
  return bytes.subarray(0, bytes.length >> 1);
};

/** Throws where a disk without room refuses a change of this name, with half of it made. */
function takeRoom(machine: Machine, name: string, half: () => void): void {
  if (!machine.isFull || !/write|append|mkd/i.test(name)) return;
  half();
  throw Object.assign(new Error('ENOSPC: no room, simulated'), { code: 'ENOSPC' });
}

/** A change that is waited for: with the one that the process dies in it never comes back. */
function changing(original: Call, name: string, half = (_self: unknown, _args: unknown[]) => {}): Call {
  return async function (this: unknown, ...args: never[]): Promise<unknown> {
    const machine = running.getStore();
    if (machine === undefined) return await original.apply(this, args);
    if (machine.isDead) return await never;
    if (machine.isLast()) {
      // Before, halfway, or behind it.
      if (machine.changes % 3 === 1) half(this, args);
      // One that fails was tried all the same.
      if (machine.changes % 3 === 2) await Promise.resolve(original.apply(this, args)).catch(() => undefined);
      machine.die();
      return await never;
    }
    await machine.sleep();
    if (machine.isDead) return await never;
    takeRoom(machine, name, () => half(this, args));
    const work = Promise.resolve(original.apply(this, args));
    machine.underWay.add(work);
    const result = await work.finally(() => machine.underWay.delete(work));
    return machine.isDead ? await never : result;
  };
}

/** A change that is made at once. A dead process takes it for made, which is nobody's business any more. */
function changingAtOnce(
  original: Call,
  name: string,
  toResult = (_: unknown[]): unknown => undefined,
  half = (_: unknown[]) => {},
) {
  return (...args: never[]): unknown => {
    const machine = running.getStore();
    if (machine === undefined) return original(...args);
    if (machine.isDead) return toResult(args);
    if (machine.isLast()) {
      if (machine.changes % 3 === 1) half(args);
      try {
        if (machine.changes % 3 === 2) original(...args);
      } finally {
        machine.die();
      }
      return toResult(args);
    }
    takeRoom(machine, name, () => half(args));
    return original(...args);
  };
}

function replace(owner: object, names: string, toNew: (original: Call, name: string) => unknown): void {
  const methods = owner as Record<string, Call>;
  for (const name of names.split(' ')) methods[name] = toNew(methods[name] as Call, name) as Call;
}

/** Has the file system, connections and processes of this process know of the simulated ones. Once, before any begins. */
export async function simulate(): Promise<void> {
  const { writeSync, readFileSync } = fs;
  const probe = await fsp.open(process.execPath, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  replace(handles, 'write', (original, name) =>
    changing(original, name, (self, args) => {
      const [data, offset = 0, length, position] = args as [Uint8Array, number?, number?, (number | null)?];
      const bytes = Buffer.from(data).subarray(offset).subarray(0, length);
      writeSync((self as fsp.FileHandle).fd, halfOf(bytes), 0, undefined, position);
    }),
  );
  replace(handles, 'appendFile', (original, name) =>
    changing(original, name, (self, [data]) => void writeSync((self as fsp.FileHandle).fd, halfOf(data))),
  );
  const others = 'writeFile writev sync datasync truncate';
  replace(handles, others, (original, name) => changing(original, name));
  const ofPaths = 'rename link mkdir rm rmdir unlink writeFile mkdtemp';
  replace(fsp, ofPaths, (original, name) => changing(original, name));
  // Known before anybody is told of it: one that is opened while its process dies is closed, too.
  replace(fsp, 'open', (original) =>
    changing(async (...args) => {
      const handle = (await original(...args)) as fsp.FileHandle;
      running.getStore()?.opened.add(handle);
      return handle;
    }, 'open'),
  );
  replace(fs, 'writeSync', (original, name) =>
    changingAtOnce(
      original,
      name,
      ([, data]) => Buffer.byteLength(data as string),
      ([fd, data]) => void writeSync(fd as number, halfOf(data)),
    ),
  );
  const atOnce = 'renameSync mkdirSync rmSync rmdirSync unlinkSync writeFileSync';
  replace(fs, atOnce, (original, name) => changingAtOnce(original, name));
  replace(fs, 'createReadStream', (original) => (...args: never[]) => {
    const stream = original(...args) as fs.ReadStream;
    running.getStore()?.opened.add(stream);
    return stream;
  });
  // Whether a process is alive, and since when.
  replace(os, 'getPriority', (original) => (pid: never) => (alive.has(pid) ? 0 : original(pid)));
  replace(fs, 'readFileSync', () => (...[path, ...more]: Parameters<typeof readFileSync>) => {
    const pid = Number(/^\/proc\/(\d+)\/stat$/.exec(String(path))?.[1]);
    return alive.has(pid) ? `${pid} (node) S ${'0 '.repeat(18)}${pid}` : readFileSync(path, ...more);
  });
  syncBuiltinESMExports();
  replace(
    Socket.prototype,
    'connect',
    (original) =>
      function (this: Socket, ...args: never[]) {
        const machine = running.getStore();
        if (machine?.isDead) return this;
        machine?.sockets.add(this.once('close', () => machine.sockets.delete(this)));
        return original.apply(this, args);
      },
  );
  replace(globalThis, 'setInterval', (original) => (...args: never[]) => {
    const timer = original(...args) as NodeJS.Timeout;
    running.getStore()?.timers.add(timer);
    return timer;
  });
}
