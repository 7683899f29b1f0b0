import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { type ChaosProxy, createRandom, startChaosProxy } from '../helpers/chaos-proxy.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { withSettings } from '../helpers/settings.ts';
import { type Ended, toWish, type Wish } from './workload.ts';

/**
 * Random faults on the way to a service that keeps books: nothing is lost, and nothing is paid twice.
 * LEADPIPE_SEED runs the faults of an earlier run again, LEADPIPE_CHAOS_SECONDS runs longer.
 */
const seed = process.env.LEADPIPE_SEED ?? randomBytes(4).toString('hex');
/** Of each lane, however long they take; more in the seconds that are given. */
const rounds = 20;
const seconds = Number(process.env.LEADPIPE_CHAOS_SECONDS ?? 0);
/** Each with a service and a proxy of its own. */
const lanes = [
  { stream_fetch: 'off', dropped_stream: 'bills_sent' },
  { stream_fetch: 'on', dropped_stream: 'bills_sent' },
  { stream_fetch: 'off', dropped_stream: 'bills_all' },
  { stream_fetch: 'on', dropped_stream: 'bills_all' },
] as const;
const disturbedRuns = 5;
const longestRunMs = 60_000;

interface Lane {
  readonly service: LedgerService;
  readonly proxy: ChaosProxy;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** How runs ended, by command and exit code. */
  readonly endings: Map<string, number>;
}

it.each(lanes)(
  `a bad network: stream_fetch $stream_fetch, dropped_stream $dropped_stream (LEADPIPE_SEED=${seed})`,
  { timeout: (seconds + 120) * 1000, concurrent: true },
  async (switches) => {
    const lane = await openLane(switches);
    const name = Object.values(switches).join('/');
    const end = performance.now() + seconds * 1000;
    const wishes = new Map<string, Fulfilled>();
    while (wishes.size < rounds || performance.now() < end) {
      const round = `${seed}/${name}/${wishes.size}`;
      const wish = toWish(createRandom(`${round}/wish`), join(lane.folder, `${wishes.size}.jsonl`));
      wishes.set(round, await fulfil(lane, round, wish));
    }
    await lane.proxy.close();
    // A request that its sender gave up can still have arrived later than the sender looked.
    for (const [key, credits] of await lane.service.close()) {
      const { price, mayBeCharged } = wishes.get(key) ?? { price: 0, mayBeCharged: false };
      expect({ key, credits }).toEqual({ key, credits: Math.min(credits, mayBeCharged ? price : 0) });
    }
    if (process.env.LEADPIPE_CHAOS_SECONDS !== undefined) {
      console.log(
        `${name}: ${wishes.size} rounds; ${[...lane.endings].sort().join('; ')}; ${[...lane.proxy.faults].join('; ')}`,
      );
    }
    expect(lane.proxy.faults.size).toBeGreaterThan(5);
  },
);

// Client, proxy and service have all run in this process: none of them leaves a connection open.
afterAll(async () => {
  const isLeft = (): boolean => process.getActiveResourcesInfo().includes('TCPSocketWrap');
  while (isLeft()) await pause(10);
});

interface Fulfilled {
  /** The most credits that it may cost. */
  readonly price: number;
  /** Whether a run has ended well, or said that it may have been charged. */
  readonly mayBeCharged: boolean;
}

/** Runs a command until it has ended well or must not be run again. */
async function fulfil(lane: Lane, round: string, wish: Wish): Promise<Fulfilled> {
  const { service, proxy } = lane;
  const key = round;
  const always = [...(wish.price > 0 ? ['--idempotency-key', key] : []), '--json-errors'];
  let mayBeCharged = false;
  for (let run = 0; ; run++) {
    const args = [...wish.args(run), ...always];
    // In the end the network recovers, and so must everything that goes on.
    const isCalm = run >= disturbedRuns;
    proxy.disturb(isCalm ? undefined : createRandom(`${round}/${run}`));
    const before = service.purchaseOf(key);
    const result = await runInTime([...args, '--timeout', isCalm ? '1000' : '0.4'], lane, `${round}/${run}`);
    await service.quiet();
    const purchase = service.purchaseOf(key);
    const ended = { ...result, purchase, file: fileOf(args), found: foundBy(service, purchase) };
    try {
      expectHonest(wish, ended, before !== undefined);
      wish.check(ended);
      if (isCalm && result.code !== 0) throw new Error('does not end on a calm network');
    } catch (error) {
      throw new Error(
        `${(error as Error).message}\nLEADPIPE_SEED=${seed}, ${round}, run ${run}: leadpipe ${args.join(' ')}\n` +
          `exit ${result.code}; ${JSON.stringify(purchase)}\n${result.stderr}\n${result.stdout}`,
        { cause: error },
      );
    }
    mayBeCharged ||= result.code === 0 || !result.stderr.includes('"charged":"no"');
    const ending = `${wish.name} ${result.code}`;
    lane.endings.set(ending, (lane.endings.get(ending) ?? 0) + 1);
    // A task may be asked for again with its key; anything else only when the command says so.
    const mayGoOn = wish.replays ? result.code !== 0 : result.code === 75;
    if (!mayGoOn) return { price: wish.price, mayBeCharged };
  }
}

/** What a run says about itself and about money is true. */
function expectHonest({ exits, price }: Wish, { code, stderr, purchase }: Ended, wasKnown: boolean): void {
  if (!exits.includes(code ?? -1)) throw new Error(`exit ${code}`);
  if (/^\s+at /m.test(stderr)) throw new Error('a stack trace');
  if ((purchase?.settled ?? 0) > price) throw new Error('paid more than once');
  if (code === 0) {
    if (price > 0 && purchase?.state !== 'settled') throw new Error('complete, and not paid');
    return;
  }
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  if (error.exit !== code) throw new Error('another exit code in the error');
  if (error.charged === 'yes' && purchase?.state !== 'settled') throw new Error('charged: yes, and not paid');
  if (error.charged === 'no' && purchase !== undefined && !wasKnown) throw new Error('charged: no, and paid');
}

async function runInTime(args: readonly string[], { env }: Lane, run: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${run} hangs: leadpipe ${args.join(' ')}`)), longestRunMs);
  });
  // Waits between two tries and polls are short; silences of the network are as long as they are.
  const toWait = (ms: number): number => (ms >= 1000 ? ms / 50 : ms);
  return await Promise.race([runInProcess(args, { env, toWait }), tooLong]).finally(() =>
    clearTimeout(timer),
  );
}

async function openLane(switches: (typeof lanes)[number]): Promise<Lane> {
  const service = await startLedgerService({
    batch_size: 3,
    batch_pause_ms: 2,
    task_step: 9,
    task_step_ms: 30,
    user_concurrency: 1000,
    ...switches,
  });
  const proxy = await startChaosProxy(service.url);
  const env = { ...withSettings({ 'poll.max': 0.1 }), ...pointedAt(proxy.url, ledgerKey) };
  return { service, proxy, env, folder: temporaryFolder(), endings: new Map() };
}

function foundBy(service: LedgerService, purchase: Ended['purchase']): readonly string[] {
  return typeof purchase?.searchId === 'string' ? service.recordsOf(purchase.searchId) : [];
}

function fileOf(args: readonly string[]): string | undefined {
  const file = args[args.indexOf('-o') + 1] ?? '';
  return args.includes('-o') && existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
