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
  /** Killed at this change of the file system, counted from 1. */
  readonly killAt?: number | undefined;
  /** Of that change: before it, halfway through, if it is a write, or behind it. Each of them in turn unless it is given. */
  readonly killed?: 'before' | 'amid' | 'behind';
  /** Stopped for a while (SIGSTOP, SIGCONT) behind this change: the moment between a look at the lock and what follows it can't be closed. */
  readonly sleepAt?: number | undefined;
  /** While it is stopped there, others take it for dead, and this happens. */
  readonly whileAsleep?: (() => Promise<void>) | undefined;
  readonly fault?: DiskFault | undefined;
  /** What others do meanwhile, at this change. */
  readonly meanwhile?: { readonly at: number; readonly happens: () => void } | undefined;
  /** How far ahead its wall clock is, in milliseconds. */
  readonly clockAheadMs: number;
}

/** From that change on the disk has no room (`ENOSPC`), or it fails once. Of `sync`, only syncs are counted, and fail. */
export interface DiskFault {
  readonly mode: 'ENOSPC' | 'ENOSPC once' | 'EIO' | 'sync';
  readonly at: number;
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
  syncs = 0;
  /** While it is stopped. */
  asleep: Promise<void> | undefined;
  /** A disk that is full takes a part of the first write; that file takes nothing of the next. */
  isFull = false;
  onDeath = (): void => {};

  readonly #start: Start;

  constructor(start: Start) {
    this.#start = start;
  }

  /** Why the disk refuses a change of this name, if it does. */
  refuses(name: string): 'ENOSPC' | 'EIO' | undefined {
    const { mode, at = 0 } = this.#start.fault ?? {};
    const isSync = /sync$/.test(name);
    if (isSync) this.syncs++;
    if (mode === 'sync') return isSync && this.syncs === at ? 'EIO' : undefined;
    if (mode === 'EIO') return this.changes === at ? 'EIO' : undefined;
    const needsRoom = /write|append|mkd/i.test(name);
    if (mode === undefined || !needsRoom) return undefined;
    const isNow = mode === 'ENOSPC' ? this.changes >= at : this.changes === at;
    return isNow ? 'ENOSPC' : undefined;
  }

  /** Before a change: where the process dies in it, if it does. */
  diesIn(): Start['killed'] {
    const { meanwhile } = this.#start;
    if (this.changes + 1 === meanwhile?.at) running.exit(meanwhile.happens);
    if (++this.changes !== this.#start.killAt) return undefined;
    return this.#start.killed ?? (['before', 'amid', 'behind'] as const)[this.changes % 3];
  }

  /** Falls asleep behind this change, if it is the one. Nothing that it waits for happens until it wakes up. */
  async sleep(change?: number): Promise<void> {
    if (change !== undefined && change === this.#start.sleepAt) this.asleep = this.#pause();
    await this.asleep;
  }

  async #pause(): Promise<void> {
    for (const socket of this.sockets) socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 30));
    if (this.#start.whileAsleep !== undefined && !this.isDead) {
      alive.delete(this.pid);
      await running.exit(this.#start.whileAsleep);
      if (!this.isDead) alive.set(this.pid, this);
    }
    this.asleep = undefined;
    for (const socket of this.sockets) socket.resume();
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

  /** Its pending calls are finished or not, and its files are closed, before others learn that it has died. */
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
            const timer = setTimeout(() => {
              if (machine.asleep === undefined) callback();
              else void machine.asleep.then(callback);
            }, ms / faster);
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
  // The result of a dead process is ignored.
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
const bytesOf = (data: unknown): Buffer =>
  typeof data === 'string' ? Buffer.from(data) : Buffer.from(data as Uint8Array);
const halfOf = (data: unknown): Buffer => bytesOf(data).subarray(0, bytesOf(data).length >> 1);

/** Throws where the disk refuses a change of this name, with half of it made. */
function mayFail(machine: Machine, name: string, half: () => void): void {
  const code = machine.refuses(name);
  if (code === undefined) return;
  half();
  throw Object.assign(new Error(`${code}: simulated`), { code });
}

/** A write that a full disk takes a part of tells how much. Throws with the next one, and where there is no part. */
function takesPart(machine: Machine, name: string, length: number): boolean {
  const code = machine.refuses(name) ?? (machine.isFull ? 'ENOSPC' : undefined);
  if (code === undefined) return false;
  const isFirst = !machine.isFull && code === 'ENOSPC' && length > 0;
  machine.isFull = isFirst;
  if (isFirst) return true;
  throw Object.assign(new Error(`${code}: simulated`), { code });
}

/** A change that is waited for: with the one that the process dies in it never comes back. */
function changing(original: Call, name: string, half = (_self: unknown, _args: unknown[]) => {}): Call {
  return async function (this: unknown, ...args: never[]): Promise<unknown> {
    const machine = running.getStore();
    if (machine === undefined) return await original.apply(this, args);
    if (machine.isDead) return await never;
    const death = machine.diesIn();
    if (death !== undefined) {
      if (death === 'amid') half(this, args);
      // One that fails was tried all the same.
      if (death === 'behind') await Promise.resolve(original.apply(this, args)).catch(() => undefined);
      machine.die();
      return await never;
    }
    const nth = machine.changes;
    await machine.sleep();
    if (machine.isDead) return await never;
    if (name !== 'write') mayFail(machine, name, () => half(this, args));
    else if (takesPart(machine, name, lengthOf(...args))) {
      half(this, args);
      return { bytesWritten: lengthOf(...args) >> 1, buffer: args[0] };
    }
    const work = Promise.resolve(original.apply(this, args));
    machine.underWay.add(work);
    const result = await work.finally(() => machine.underWay.delete(work));
    await machine.sleep(nth);
    return machine.isDead ? await never : result;
  };
}

/** A change that is made at once. A dead process believes that it was made, which no longer matters. */
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
    const death = machine.diesIn();
    if (death !== undefined) {
      if (death === 'amid') half(args);
      try {
        if (death === 'behind') original(...args);
      } finally {
        machine.die();
      }
      return toResult(args);
    }
    if (name !== 'writeSync') mayFail(machine, name, () => half(args));
    else if (takesPart(machine, name, lengthOf(bytesOf(args[1])))) {
      half(args);
      return lengthOf(bytesOf(args[1])) >> 1;
    }
    return original(...args);
  };
}

/** The bytes that FileHandle.write is to write. */
function lengthOf(...[data, offset = 0, length]: unknown[]): number {
  return (data as Uint8Array).subarray(offset as number).subarray(0, length as number).length;
}

function replace(owner: object, names: string, toNew: (original: Call, name: string) => unknown): void {
  const methods = owner as Record<string, Call>;
  for (const name of names.split(' ')) methods[name] = toNew(methods[name] as Call, name) as Call;
}

/** Has the file system, connections and processes of this process know of the simulated ones. Once, before any begins. */
export async function simulate(): Promise<void> {
  const { readFileSync, writeFileSync, writeSync } = fs;
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
  const ofPaths = 'rename link mkdir rm rmdir unlink writeFile mkdtemp truncate';
  replace(fsp, ofPaths, (original, name) => changing(original, name));
  replace(fsp, 'copyFile', (original, name) =>
    changing(original, name, (_self, [from, to]) =>
      writeFileSync(to as string, halfOf(readFileSync(from as string))),
    ),
  );
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
      ([, data, ...where]) => (typeof data === 'string' ? Buffer.byteLength(data) : lengthOf(data, ...where)),
      ([fd, data, offset = 0, length, position]) => {
        const bytes =
          typeof data === 'string' ? Buffer.from(data) : (data as Uint8Array).subarray(offset as number);
        const half = lengthOf(bytes, 0, length) >> 1;
        writeSync(
          fd as number,
          bytes,
          0,
          half,
          typeof data === 'string' ? null : (position as number | null),
        );
      },
    ),
  );
  const atOnce =
    'renameSync linkSync copyFileSync mkdirSync rmSync rmdirSync unlinkSync writeFileSync ftruncateSync';
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
