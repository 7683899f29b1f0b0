import { requests } from '../client.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { isLocked } from '../files/folder-lock.ts';
import { checkCovered, glanceAtBalance } from '../operations/covered.ts';
import { folderOf, type StoredOperation } from '../operations/journal/journal.ts';
import { kinds } from '../operations/kinds.ts';
import type { Shop } from '../operations/purchase.ts';
import { type Spending, toWorstCase, type WorstCase } from '../operations/spending.ts';
import { pause } from '../transport/pause.ts';
import { type Buying, buy, type Wanted } from './buying.ts';
import { chainOf, createEarlier, digestOf } from './earlier.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { createToolListener, type Tell } from './progress.ts';
import { type Settled, toPlan } from './resumption.ts';

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
  let isClosed = false;
  const { clock, directories, ids, pid } = context;

  /** Undefined while another process is at work on the same request. */
  async function tryOnce(
    call: PaidCall,
    connection: Connection,
    signal: AbortSignal,
    tell: Tell,
    begun: () => void,
  ): Promise<Settled | Unbought | undefined> {
    const { wanted, again, mayBuy } = call;
    const first = again ? undefined : await earlier.find(connection, wanted.kind, bodyOf(wanted));
    if (first !== undefined && isLocked(folderOf(directories.state, (await lastOf(first)).operationId))) {
      return undefined;
    }
    const plan = await toPlan(context, first);
    if (plan.is === 'stored') return plan.settled;
    if (plan.is === 'lost') throw plan.error;
    const shop: Shop = {
      connection,
      context: { clock, directories, ids, pid, random: () => context.random(), signal, zone: context.zone },
      spending,
    };
    if (!mayBuy) return { worst: await checkedWorst(shop, wanted, plan) };
    const warnings: string[] = [];
    const { limit = 0 } = wanted.body as { limit?: number };
    const before = plan.is === 'rest' ? limit - plan.limit : 0;
    const listener = createToolListener(clock, tell, (line) => warnings.push(line), before);
    return await buy(shop, wanted, plan, listener, warnings, begun);
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
    const { wanted, again } = call;
    // What is bought once more has nothing to look for.
    if (again) return (await tryOnce(call, connection, signal, tell, () => {})) as Settled | Unbought;
    const name = digestOf(connection.origin, wanted.kind, bodyOf(wanted));
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

/** What it costs at most, where it may be bought. Throws as the purchase would that is not covered. */
async function checkedWorst(shop: Shop, { kind, body }: Wanted, plan: Buying): Promise<WorstCase> {
  const { settings } = shop.connection;
  const worst = toWorstCase(kind, plan.is === 'rest' ? { ...body, limit: plan.limit } : body, settings);
  const available = shop.spending === undefined ? undefined : await glanceAtBalance(shop);
  checkCovered(shop, worst, available, plan.is === 'repeat' ? plan.idempotencyKey : undefined);
  return worst;
}
