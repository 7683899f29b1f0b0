import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { type FolderLock, lockPlace } from '../files/folder-lock.ts';
import type { Buyer } from '../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../operations/credit-limits.ts';
import { type Earlier, findEarlier, toWanted } from '../operations/earlier.ts';
import { exact, type Spending, toSpending, toWorstCase, type WorstCase } from '../operations/spending.ts';
import { pause } from '../transport/pause.ts';
import { buy, type Settled, toLost, toOrder, toStored, type Wanted } from './buying.ts';
import { createTeller, createToolListener, type Tell } from './progress.ts';

/** Opens a connection for as long as `work` takes. */
export type Connect = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;

export interface PaidCall {
  readonly wanted: Wanted;
  /** Whether it is bought once more, whatever came before. */
  readonly again: boolean;
  /** Whether it may be bought, or only what it costs is asked for. */
  readonly mayBuy: boolean;
  /** Aborted when the caller gives it up. */
  readonly signal: AbortSignal;
  readonly tell: Tell;
}

/** What a purchase that is not made yet can cost. */
export interface Unbought {
  readonly worst: WorstCase;
  /** Whether the session's limit has counted it already. */
  readonly isCounted: boolean;
}

/** What came of a call, and what was odd about it. */
export type Bought = Settled & { readonly warnings: readonly string[] };

export interface Purchases {
  /** Joins the same purchase where one is under way; else gives what is stored, goes on with what was left, or buys. */
  settle(call: PaidCall): Promise<Bought | Unbought>;
  /** What these can cost together. Throws `credits` where the limit of the session, or the balance, does not cover it. */
  check(unbought: readonly Unbought[], signal: AbortSignal): Promise<WorstCase>;
  /** Stops what is under way, as Ctrl-C does; resolves when what arrived is put away. */
  close(): Promise<void>;
}

/** A purchase under way, and how many wait for it. */
interface Running {
  readonly done: Promise<Bought | Unbought>;
  readonly tellers: Set<Tell>;
  readonly stop: AbortController;
  callers: number;
}

const lookAgainMs = 500;

export function createPurchases(
  context: Context,
  connect: Connect,
  spending: Spending | undefined,
): Purchases {
  const running = new Map<string, Running>();
  const all = new Set<Running>();
  let isClosed = false;
  const { clock, directories, ids, pid } = context;
  /** The limit of settings that could not be read when the session began. */
  let later: Spending | undefined;
  const shopOf = (connection: Connection, signal: AbortSignal): Buyer => {
    later ??= spending ?? toSpending(undefined, connection);
    return {
      connection,
      context: { clock, directories, ids, pid, random: () => context.random(), signal, zone: context.zone },
      spending: later,
    };
  };

  /** Undefined while another process is at work on the same request. */
  async function tryOnce(
    { wanted, again, mayBuy }: PaidCall,
    connection: Connection,
    signal: AbortSignal,
    tell: Tell,
    begun: () => void,
  ): Promise<Bought | Unbought | undefined> {
    const buyer = shopOf(connection, signal);
    const earlier: Earlier = again
      ? { is: 'new', isOurs: false, answers: [] }
      : await findEarlier(buyer, toWanted(buyer, toOrder({ wanted })));
    if (earlier.is === 'running') return undefined;
    if (earlier.is === 'stored') return { ...(await toStored(buyer, earlier)), warnings: [] };
    if (earlier.is === 'lost') throw toLost(earlier);
    const { limit = 0 } = wanted.body as { limit?: number };
    const missing = earlier.is === 'rest' ? (earlier.rest.request?.limit ?? 0) : limit;
    if (!mayBuy) {
      const body = earlier.is === 'rest' ? { ...wanted.body, limit: missing } : wanted.body;
      const worst = toWorstCase(wanted.kind, body, connection.settings);
      const key = earlier.is === 'repeat' ? earlier.operation.entries[0].idempotency_key : undefined;
      return { worst, isCounted: spending?.inDoubt.has(key ?? '') === true };
    }
    const warnings: string[] = [];
    const teller = createTeller(clock, tell, limit - missing);
    const listener = createToolListener(teller, (line) => warnings.push(line), limit - missing);
    return { ...(await buy({ buyer, wanted, earlier, listener, begun })), warnings };
  }

  async function work(
    call: PaidCall,
    connection: Connection,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<Bought | Unbought> {
    const { wanted, again } = call;
    // What is bought once more has nothing to look for.
    if (again) return (await tryOnce(call, connection, signal, tell, () => {})) as Bought | Unbought;
    const name = hash('sha256', `${connection.origin}\n${wanted.name}`).slice(0, 32);
    for (;;) {
      const settled = await oneAtATime(context, name, signal, (release) =>
        tryOnce(call, connection, signal, tell, release),
      );
      if (settled !== undefined) return settled;
      tell('the same purchase is under way in another process');
      await pause(clock, lookAgainMs, signal);
    }
  }

  function begin(call: PaidCall): Running {
    const { name } = call.wanted;
    const stop = new AbortController();
    if (isClosed) stop.abort('interrupted');
    const tellers = new Set<Tell>();
    const tellAll: Tell = (message, leads) => {
      for (const tell of tellers) tell(message, leads);
    };
    const done = connect((connection) => work(call, connection, stop.signal, tellAll)).finally(() => {
      all.delete(one);
      if (running.get(name) === one) running.delete(name);
    });
    const one: Running = { done, tellers, stop, callers: 0 };
    all.add(one);
    return one;
  }

  return {
    async settle(call) {
      const { name } = call.wanted;
      for (;;) {
        const same = call.again ? undefined : running.get(name);
        if (same === undefined) {
          const one = begin(call);
          // What only asks for the cost is nothing to join.
          if (call.mayBuy) running.set(name, one);
          return await joined(one, call);
        }
        if (!same.stop.signal.aborted) return await joined(same, call);
        // It is putting away what arrived, and is gone on with then.
        await same.done.catch(() => undefined);
      }
    },
    async check(unbought, signal) {
      const worst = sumOf(unbought);
      if (spending === undefined) return worst;
      await connect(async (connection) => {
        const buyer = shopOf(connection, signal);
        const toCount = sumOf(unbought.filter(({ isCounted }) => !isCounted));
        await checkCovered(buyer, toCount, await glanceAtBalance(buyer));
      });
      return worst;
    },
    async close() {
      isClosed = true;
      for (const { stop } of all) stop.abort(context.signal.aborted ? context.signal.reason : 'interrupted');
      await Promise.all([...all].map(({ done }) => done.catch(() => undefined)));
    },
  };
}

/** Waits with the others; the last one to give it up stops it. */
async function joined(one: Running, { signal, tell }: PaidCall): Promise<Bought | Unbought> {
  one.callers++;
  one.tellers.add(tell);
  const leave = (): void => {
    if (--one.callers === 0) one.stop.abort('interrupted');
  };
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await one.done;
  } finally {
    signal.removeEventListener('abort', leave);
    one.tellers.delete(tell);
  }
}

function sumOf(unbought: readonly Unbought[]): WorstCase {
  let credits = 0;
  for (const { worst } of unbought) {
    if (worst.credits === null) return worst;
    credits = exact(credits + worst.credits);
  }
  return { credits };
}

/**
 * Runs `work` while no other process does the same under this name; `release` ends that earlier. It is for what takes moments:
 * to look for a purchase, and to write down that one begins. Throws when `signal` aborts, and what `work` throws.
 */
async function oneAtATime<T>(
  { clock, directories, pid, random }: Context,
  name: string,
  signal: AbortSignal,
  work: (release: () => void) => Promise<T>,
): Promise<T> {
  const place = join(directories.state, 'beginning', name);
  let lock: FolderLock | undefined;
  while (lock === undefined) {
    lock = await lockPlace(place, pid, 'the same purchase').catch((error: unknown) => {
      if (!(error instanceof LeadpipeError) || error.outcome !== 'temporary') throw error;
      return undefined;
    });
    if (lock === undefined) await pause(clock, 5 + 20 * random(), signal);
  }
  const { release } = lock;
  try {
    return await work(release);
  } finally {
    release();
  }
}
