import { connect, createServer, type Socket } from 'node:net';
import { listening } from './listening.ts';

/** Random numbers from 0 up to 1 that are the same for the same seed (mulberry32 over an FNV-1a hash). */
export function createRandom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(seed)) state = Math.imul(state ^ byte, 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export type ChaosProxy = Awaited<ReturnType<typeof startChaosProxy>>;

type Fault = 'none' | 'refuse' | 'drop' | 'reset' | 'truncate' | 'stall';

/** The fault of one direction of a connection. */
interface Plan {
  readonly fault: Fault;
  /** Bytes that pass before it. */
  readonly after: number;
  /** Maximum bytes that pass at once. */
  readonly slice: number;
  /** Milliseconds between slices, and of a stall. */
  readonly pause: number;
  readonly stall: number;
}

const calm: Plan = { fault: 'none', after: Number.POSITIVE_INFINITY, slice: 65_536, pause: 0, stall: 0 };
const longestStall = 700;

/** A TCP proxy that delays, slices, drops, resets, truncates and stalls connections at random. */
export async function startChaosProxy(target: string) {
  const { hostname, port } = new URL(target);
  const faults = new Map<string, number>();
  let dice: (() => number) | undefined;
  const count = (fault: Fault, way: string): void => {
    if (fault !== 'none') faults.set(`${fault} ${way}`, (faults.get(`${fault} ${way}`) ?? 0) + 1);
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    const [there, back] = dice === undefined ? [calm, calm] : toPlans(dice);
    count(there.fault, 'there');
    count(back.fault, 'back');
    if (there.fault === 'refuse') return reset(client);
    const service = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      one.on('close', () => void other.destroy());
      one.on('error', () => reset(other));
    }
    void pump(client, service, there);
    void pump(service, client, back);
  });
  return {
    ...(await listening(server)),
    /** Random numbers for the connections to come; undefined lets everything through. */
    disturb(random: (() => number) | undefined) {
      dice = random;
    },
    /** Faults so far, by name. */
    faults,
  };
}

/** How frequent each fault is, as a running sum. */
const kinds: readonly (readonly [upTo: number, there: Fault, back: Fault])[] = [
  [0.3, 'none', 'none'],
  [0.35, 'refuse', 'none'],
  [0.4, 'drop', 'none'],
  [0.48, 'reset', 'none'],
  [0.53, 'truncate', 'none'],
  [0.58, 'stall', 'none'],
  [0.75, 'none', 'reset'],
  [0.88, 'none', 'truncate'],
  [0.93, 'none', 'drop'],
  [1, 'none', 'stall'],
];

/** Pure except for the random numbers. Always draws the same number of them, so that one fault does not change the next. */
function toPlans(dice: () => number): [there: Plan, back: Plan] {
  const kind = dice();
  // A request is a few hundred bytes long, an answer up to some thousands; early faults are the frequent ones.
  const [there, back] = [Math.floor(dice() ** 2 * 900), Math.floor(dice() ** 2 * 12_000)];
  const slice = 1 + Math.floor(dice() ** 3 * 2000);
  const pause = dice() < 0.5 ? 0 : dice() * 3;
  const stall = dice() * longestStall;
  const rest = { slice: Math.max(slice, 4), pause, stall };
  const plan = (fault: Fault, after: number): Plan => ({ fault, after, ...rest });
  const whole = Number.POSITIVE_INFINITY;
  const [, faultThere, faultBack] = kinds.find(([upTo]) => kind < upTo) ?? [1, 'none', 'none'];
  return [
    plan(faultThere, faultThere === 'none' ? whole : there),
    plan(faultBack, faultBack === 'none' ? whole : back),
  ];
}

/** Passes bytes on as the plan says. */
async function pump(from: Socket, to: Socket, plan: Plan): Promise<void> {
  let left = plan.after;
  let { fault } = plan;
  try {
    for await (const piece of from as AsyncIterable<Buffer>) {
      if (fault === 'drop') continue;
      for (let at = 0; at < piece.length; ) {
        const size = Math.min(plan.slice, left, piece.length - at);
        if (size > 0) await write(to, piece.subarray(at, at + size), plan.pause);
        at += size;
        left -= size;
        if (left > 0) continue;
        if (fault === 'reset') reset(from);
        if (fault === 'reset') return reset(to);
        if (fault === 'truncate') return void to.end();
        if (fault === 'stall') await sleep(plan.stall);
        fault = 'none';
        left = Number.POSITIVE_INFINITY;
      }
    }
    if (fault !== 'drop') to.end();
  } catch {
    // The other side has gone; its own end is passed on by the listeners above.
  }
}

/** A socket that is about to end can't be reset: Node would lose track of it and leave it open. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

async function write(to: Socket, bytes: Buffer, pause: number): Promise<void> {
  if (to.destroyed) throw new Error('gone');
  await new Promise<void>((resolve, reject) =>
    to.write(bytes, (error) => (error ? reject(error) : resolve())),
  );
  if (pause > 0) await sleep(pause);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
