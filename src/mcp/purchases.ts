import { join } from 'node:path';
import { requests } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { type FolderLock, lockPlace } from '../files/folder-lock.ts';
import type { Buyer } from '../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../operations/credit-limits.ts';
import { kinds } from '../operations/kinds.ts';
import { exact, type Spending, toSpending, toWorstCase, type WorstCase } from '../operations/spending.ts';
import { pause } from '../transport/pause.ts';
import { buy, toOrder } from './buying.ts';
import { nameOf, type Settled, toPlan, type Wanted } from './plan.ts';
import { createTeller, createToolListener, type Tell } from './progress.ts';

/** Opens a connection for as long as `work` takes. */
export type Connect = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;

/** A call that may buy. */
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

export interface Purchases {
  /** Joins the same purchase where one is under way; else gives what is stored, goes on with what was left, or buys. */
  settle(call: PaidCall): Promise<Settled | Unbought>;
  /** What these can cost together. Throws `credits` where the limit of the session, or the balance, does not cover it. */
  check(unbought: readonly Unbought[], signal: AbortSignal): Promise<WorstCase>;
  /** Stops what is under way, as Ctrl-C does; resolves when what arrived is put away. */
  close(): Promise<void>;
}

/** A purchase under way, and how many wait for it. */
interface Running {
  readonly done: Promise<Settled | Unbought>;
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
  ): Promise<Settled | Unbought | undefined> {
    const buyer = shopOf(connection, signal);
    const plan = again ? ({ is: 'new' } as const) : await toPlan(buyer, toOrder({ wanted }));
    if (plan.is === 'join') return undefined;
    if (plan.is === 'stored') return plan.settled;
    if (plan.is === 'lost') throw plan.error;
    if (!mayBuy) {
      const body = plan.is === 'rest' ? { ...wanted.body, limit: plan.limit } : wanted.body;
      const worst = toWorstCase(wanted.kind, body, connection.settings);
      const key = plan.is === 'repeat' ? plan.last.entries[0].idempotency_key : undefined;
      return { worst, isCounted: spending?.inDoubt.has(key ?? '') === true };
    }
    const warnings: string[] = [];
    const { limit = 0 } = wanted.body as { limit?: number };
    const before = plan.is === 'rest' ? limit - plan.limit : 0;
    const teller = createTeller(clock, tell, before);
    const listener = createToolListener(teller, (line) => warnings.push(line), before);
    return { ...(await buy({ buyer, wanted, plan, listener, begun })), warnings };
  }

  async function work(
    call: PaidCall,
    connection: Connection,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<Settled | Unbought> {
    const { wanted, again } = call;
    // What is bought once more has nothing to look for.
    if (again) return (await tryOnce(call, connection, signal, tell, () => {})) as Settled | Unbought;
    const name = nameOf(connection.origin, wanted.kind, bodyOf(wanted), wanted.onlyNew);
    for (;;) {
      const settled = await oneAtATime(context, name, signal, (release) =>
        tryOnce(call, connection, signal, tell, release),
      );
      if (settled !== undefined) return settled;
      tell('the same purchase is under way in another process');
      await pause(clock, lookAgainMs, signal);
    }
  }

  function begin(call: PaidCall, name: string): Running {
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
      const { kind, onlyNew } = call.wanted;
      const name = `${kind}\n${onlyNew}\n${bodyOf(call.wanted)}`;
      for (;;) {
        const same = call.again ? undefined : running.get(name);
        if (same === undefined) {
          const one = begin(call, name);
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
        checkCovered(buyer, toCount, await glanceAtBalance(buyer));
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
async function joined(one: Running, { signal, tell }: PaidCall): Promise<Settled | Unbought> {
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

function bodyOf({ kind, body }: Wanted): string {
  const toRequest = requests[kinds[kind].endpoint] as (body: object, key: string) => { body?: string };
  return toRequest(body, '').body ?? '';
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
  let lock: FolderLock | undefined;
  for (let isTaken = true; isTaken; ) {
    try {
      // Where nothing can be kept there is no lock, and `work` runs all the same.
      lock = await lockPlace(join(directories.state, 'beginning', name), pid, 'the same purchase');
      isTaken = false;
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.outcome !== 'temporary') throw error;
      await pause(clock, 5 + 20 * random(), signal);
    }
  }
  const release = (): void => lock?.release();
  try {
    return await work(release);
  } finally {
    release();
  }
}
