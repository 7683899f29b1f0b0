import { requests } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { isLocked } from '../files/folder-lock.ts';
import { folderOf, type StoredOperation } from '../operations/journal/journal.ts';
import { kinds } from '../operations/kinds.ts';
import type { Shop } from '../operations/purchase.ts';
import { type Spending, toWorstCase, type WorstCase } from '../operations/spending.ts';
import { pause } from '../transport/pause.ts';
import { buy, type Wanted } from './buying.ts';
import { chainOf, createEarlier } from './earlier.ts';
import { createToolListener, type Tell } from './progress.ts';
import { type Plan, type Settled, toPlan } from './resumption.ts';

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

/** What a purchase that is not allowed yet can cost. */
export interface Unbought {
  readonly worst: WorstCase;
}

export interface Purchases {
  /** Joins the same purchase where one is under way; else gives what is stored, goes on with what was left, or buys. */
  settle(call: PaidCall): Promise<Settled | Unbought>;
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
  const earlier = createEarlier(context);
  const running = new Map<string, Running>();
  const all = new Set<Running>();
  const { clock, directories, ids, pid } = context;

  /** What is there of the same request, when no other process is at work on it. */
  async function earlierOf(connection: Connection, { wanted }: PaidCall, signal: AbortSignal, tell: Tell) {
    for (;;) {
      const first = await earlier.find(connection, wanted.kind, bodyOf(wanted));
      if (first === undefined || !isLocked(folderOf(directories.state, (await lastOf(first)).operationId))) {
        return first;
      }
      tell('the same purchase is under way in another process');
      await pause(clock, lookAgainMs, signal);
    }
  }

  async function lastOf(first: StoredOperation): Promise<StoredOperation> {
    return (await chainOf(directories.state, first)).at(-1) ?? first;
  }

  async function work(
    call: PaidCall,
    connection: Connection,
    signal: AbortSignal,
    tell: Tell,
  ): Promise<Settled | Unbought> {
    const { wanted, again, mayBuy } = call;
    const first = again ? undefined : await earlierOf(connection, call, signal, tell);
    const plan = await toPlan(context, first);
    if (plan.is === 'stored') return plan.settled;
    if (!mayBuy) return { worst: worstOf(wanted, plan, connection) };
    const warnings: string[] = [];
    const shop: Shop = {
      connection,
      context: { clock, directories, ids, pid, random: () => context.random(), signal },
      spending,
    };
    const listener = createToolListener(clock, tell, (line) => warnings.push(line));
    return await buy(shop, wanted, plan, listener, warnings);
  }

  function begin(call: PaidCall, name: string): Running {
    const stop = new AbortController();
    const tellers = new Set<Tell>();
    const stopToo = (): void => stop.abort(context.signal.reason);
    context.signal.addEventListener('abort', stopToo, { once: true });
    if (context.signal.aborted) stopToo();
    const tellAll: Tell = (message) => {
      for (const tell of tellers) tell(message);
    };
    const done = connect((connection) => work(call, connection, stop.signal, tellAll)).finally(() => {
      context.signal.removeEventListener('abort', stopToo);
      all.delete(one);
      if (running.get(name) === one) running.delete(name);
    });
    const one: Running = { done, tellers, stop, callers: 0 };
    all.add(one);
    return one;
  }

  return {
    async settle(call) {
      const name = `${call.wanted.kind}\n${bodyOf(call.wanted)}`;
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
    async close() {
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

function worstOf({ kind, body }: Wanted, plan: Plan, { settings }: Connection): WorstCase {
  return toWorstCase(kind, plan.is === 'rest' ? { ...body, limit: plan.limit } : body, settings);
}
