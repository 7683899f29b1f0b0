import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { historyOf } from '../helpers/fake-context.ts';
import { pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { withSettings } from '../helpers/settings.ts';
import { type CountingService, startCountingService } from './counting-service.ts';
import {
  among,
  has,
  type ListKind,
  listKinds,
  nameOf,
  type Order,
  type OutputRow,
  type Random,
  RowsOfList,
  read,
  rowsOf,
  toRows,
} from './orders.ts';
import { startReal } from './real.ts';
import { type Simulated, type Start, startSimulated } from './simulated.ts';

/** What happened to a machine, so that a failure can be read. */
export interface Told {
  runs: number;
  real: number;
  readonly endings: Map<string, number>;
}

interface World {
  readonly random: Random;
  readonly service: CountingService;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly seed: string;
  readonly story: string[];
  readonly told: Told;
  readonly realShare: number;
  /** Credits that all runs together may cost, since no midnight passes. */
  readonly dayLimit: number | undefined;
  /** Bytes of files that rows are added to: they stand there for good. */
  readonly kept: Map<string, string>;
  open: Order[];
  orders: number;
  steps: number;
  /** Where the index was copied to. */
  copied?: string | undefined;
}

const mostOpen = 4;
const hourMs = 3_600_000;
/** Maximum runs without faults until a job is done. */
const calmRuns = 3;
const disturbedRuns = 7;

/** Simulates a machine: jobs, faults and edits of a seed. Throws with the log of a failed simulation. */
export async function live(seed: string, runs: number, realShare: number, told: Told): Promise<void> {
  const random = createRandom(seed);
  const service = await startCountingService(random() < 0.5);
  const dayLimit = random() < 0.7 ? 40 + Math.floor(random() * 150) : undefined;
  const prices = { search: 1, task: 1, research: 1, enrich: 1, extract: 0.01 };
  const settings = {
    ...{ 'price.contact.email': 1, 'poll.interval': 0.1, 'poll.max': 0.1, 'retry.attempts': 3 },
    ...(dayLimit === undefined
      ? {}
      : {
          max_credits_per_day: dayLimit,
          ...Object.fromEntries(Object.entries(prices).map(([kind, price]) => [`price.${kind}`, price])),
        }),
  };
  const env = { ...withSettings(settings), ...pointedAt(service.url) };
  const folder = temporaryFolder();
  const given = { random, service, env, folder, seed, realShare, told, dayLimit };
  const world: World = { ...given, story: [], kept: new Map(), open: [], orders: 0, steps: 0 };
  const end = told.runs + runs;
  try {
    while (told.runs < end) {
      while (world.open.length < mostOpen) world.open.push(...newOrders(world));
      await step(world);
    }
    for (const order of [...world.open]) await bringToItsEnd(world, order);
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\nSOAK_STORY=purchases SOAK_SEED=${seed}\n${world.story.slice(-60).join('\n')}`,
      {
        cause: error,
      },
    );
  } finally {
    await service.close();
  }
}

/** Draws one, or the shards of one. */
function newOrders(world: World): Order[] {
  const { random, folder } = world;
  const name = `o${++world.orders}`;
  const kind = among(random, 'list', 'list', 'list', 'search', 'search', 'task run');
  const rowKind: ListKind = among(random, 'contact', 'contact', 'research', 'enrich', 'extract');
  // Rows are added to CSV only where the columns are known before.
  const format = random() < 0.3 && !(kind === 'list' && rowKind === 'extract') ? 'csv' : 'jsonl';
  const where = random();
  // Files of their own, files of other days, the file of another order, or a pipe.
  const isAppended = where < 0.45;
  const days = join(folder, `days-${kind === 'list' ? rowKind : 'leads'}.${format}`);
  const own = join(folder, `${name}.${format}`);
  const output = where < 0.3 ? days : where < 0.85 ? own : undefined;
  const given = (value: unknown, ...words: readonly string[]) => (value ? words : []);
  const toOrder = (args: readonly string[], more: Partial<Order>): Order => {
    const all = { name, kind, format, isAppended, output, unit: name, concurrency: 1, ...more } as const;
    return {
      ...{ limit: 0, maxCredits: undefined, list: undefined, shard: undefined, operation: undefined },
      ...{
        runs: 0,
        mayBeLost: 0,
        isEdited: false,
        mayRepeat: false,
        again: 0,
        delivered: new Set<string>(),
        since: 0,
      },
      ...all,
      args: [
        ...args,
        ...(all.output === undefined ? ['-f', format] : ['-o', all.output]),
        ...given(all.output && isAppended, '--append'),
      ],
    };
  };
  if (kind !== 'list') {
    const limit = 1 + Math.floor(random() * 24);
    const maxCredits = random() < 0.3 ? limit : undefined;
    const isOnlyNew = random() < 0.3;
    const args = [
      ...[...kind.split(' '), 'company', name, '--limit', String(limit)],
      ...given(isOnlyNew, '--only-new', '--list', name),
      ...given(kind === 'task run', '--num', '5'),
      ...given(maxCredits, '--max-credits', String(maxCredits)),
    ];
    return [toOrder(args, { limit, maxCredits, again: isOnlyNew ? 1 : 0 })];
  }
  const isPiped = random() < 0.2;
  const count = 2 + Math.floor(random() * 14);
  const { words } = listKinds[rowKind];
  const retries = random() < 0.2;
  const input = isPiped ? undefined : join(folder, `${name}-input.jsonl`);
  const list = new RowsOfList(name, input, rowKind, count);
  const isNamed = random() < 0.35;
  const of = isNamed && !isPiped && random() < 0.6 ? 2 + Math.floor(random() * 2) : 1;
  const concurrency = 1 + Math.floor(random() * 4);
  return Array.from({ length: of }, (_, index) => {
    const maxCredits = random() < 0.2 && rowKind === 'contact' ? 2 * count + 10 : undefined;
    const args = [
      ...[...words, '--input', input ?? '-', '--concurrency', String(concurrency)],
      ...given(isPiped, '--input-format', 'jsonl'),
      ...given(isNamed, '--run', `run-${name}`),
      ...given(retries, '--retry-unknown'),
      ...given(of > 1, '--shard', `${index}/${of}`),
      ...given(maxCredits, '--max-credits', String(maxCredits)),
    ];
    if (of === 1) return toOrder(args, { maxCredits, list, concurrency });
    const own = isAppended ? output : join(folder, `${name}-${index}.${format}`);
    const shard = { index, of };
    return toOrder(args, { maxCredits, list, concurrency, shard, name: `${name}/${index}`, output: own });
  });
}

const isNamed = (order: Order): boolean => has(order, '--run');
/** Whether every run of it is a new purchase. */
const isForgotten = (order: Order): boolean => order.output === undefined && !isNamed(order);

/** With two runs without history it is unknown which has bought what, and two that add the same rows add them twice. */
const isTold = (order: Order): boolean =>
  !isForgotten(order) && (!order.isAppended || has(order, '--only-new'));

/** One to three processes at once, disturbed as the seed says; then whatever they have left is looked at. */
async function step(world: World): Promise<void> {
  const { random, service, open } = world;
  const order = among(random, ...open);
  if (order.runs >= disturbedRuns) return await bringToItsEnd(world, order);
  if (order.list !== undefined && random() < 0.25) {
    const mayMove = order.shard === undefined || isNamed(order);
    world.story.push(`the user ${order.list.edit(random, mayMove)} a row of ${order.name}`);
    for (const other of open) if (other.list === order.list) other.isEdited = true;
  }
  service.disturb(random() < 0.45 ? `${world.seed}/${++world.steps}` : undefined);
  const isReal = random() < world.realShare;
  const together = random();
  const orders = [order];
  for (let more = together < 0.05 ? 2 : together < 0.2 ? 1 : 0; more > 0; more--) {
    const other = among(random, ...open);
    if (!orders.includes(other) || isTold(other)) orders.push(other);
  }
  await runTogether(world, orders, { isReal });
}

async function bringToItsEnd(world: World, order: Order): Promise<void> {
  world.service.disturb(undefined);
  for (let run = 0; run < calmRuns; run++) {
    const [result] = await runTogether(world, [order], { isCalm: true });
    if (
      (result?.code === 5 && mayBeOverLimit(world, order)) ||
      (result?.code === 3 && order.list !== undefined)
    )
      close(world, order);
    if (!world.open.includes(order)) return;
  }
  throw new Error(`${order.name} is stuck: ${calmRuns} runs in peace did not end it`);
}

/** Whether a limit can refuse it in peace: that of the day, or its own, where its input has other rows than at first. */
function mayBeOverLimit({ dayLimit }: World, { isEdited, list, maxCredits }: Order): boolean {
  if (dayLimit !== undefined) return true;
  return maxCredits !== undefined && (isEdited || (list?.rows.length ?? 0) > maxCredits);
}

/** What has become of an order in one process. */
interface Run {
  readonly order: Order;
  readonly plan: Plan;
  readonly result: Result;
  /** Of a search or task: what had been complete before. */
  readonly complete: readonly string[];
}

async function runTogether(
  world: World,
  orders: readonly Order[],
  { isReal = false, isCalm = false },
): Promise<Result[]> {
  const { service, story, told, kept, random } = world;
  const before = service.purchases.length;
  const happens = (share: number): boolean => !isCalm && random() < share;
  /** At which purchase the index is copied, or before all of them; at which change of the file system a list is changed. */
  const copiedAt = happens(0.15) ? Math.floor(random() * 3) : undefined;
  if (copiedAt === 0) world.copied = copyIndex(world);
  const editedAt = happens(0.1) ? 1 + Math.floor(random() * 60) : undefined;
  let isChanged = false;
  const meanwhile =
    editedAt === undefined
      ? undefined
      : {
          at: editedAt,
          happens() {
            isChanged = true;
            changeInputs(world, orders);
          },
        };
  const isPaused = orders.length === 1 && !isReal && isTold(orders[0] as Order) && happens(0.25);
  const takeovers: Run[] = [];
  /** The same command, while the first one is stopped. */
  const takeOver = async (order: Order): Promise<void> => {
    const complete = completeOf(await historyIn(world), order);
    const plan = toPlan(world, order, false, true);
    const result = await inTime(plan.start().ended, plan.words);
    takeovers.push({
      order,
      plan: { ...plan, words: `while it is stopped: ${plan.words}` },
      complete,
      result,
    });
  };
  const earlier = await historyIn(world);
  const known = earlier.map(({ operation_id }) => String(operation_id));
  const files = new Map(orders.map(({ output = '' }) => [output, read(output)]));
  const begun = orders
    .map((order) => ({
      order,
      complete: completeOf(earlier, order),
      plan: toPlan(world, order, isReal, isCalm, {
        meanwhile,
        whileAsleep: isPaused ? () => takeOver(order) : undefined,
      }),
    }))
    .map((one) => ({ ...one, process: one.plan.start() }));
  let bought = 0;
  service.onPurchase = () => {
    bought++;
    if (bought === copiedAt) world.copied = copyIndex(world);
    for (const { plan, process } of begun) {
      if (bought !== plan.when) continue;
      if (plan.how === 'SIGKILL') process.kill();
      else if (plan.how !== undefined) process.signal(plan.how);
    }
  };
  const ended: readonly Run[] = await Promise.all(
    begun.map(async (one) => ({ ...one, result: await inTime(one.process.ended, one.plan.words) })),
  );
  const runs = [...ended, ...takeovers];
  const isAlone = runs.length === 1;
  await service.quiet();
  service.onPurchase = () => {};
  for (const { order, plan, result } of runs) {
    told.runs++;
    if (isReal) told.real++;
    order.runs++;
    const ending = `${order.kind} ${result.code ?? 'killed'}`;
    told.endings.set(ending, (told.endings.get(ending) ?? 0) + 1);
    // Others are named too: whose rows were set aside, for one.
    // A killed run may have begun another operation, whose ID is unknown.
    const named = /(?:operation|Resuming) (op_[0-9a-v]+)/.exec(result.stderr)?.[1];
    order.operation = named ?? (result.code === null ? undefined : order.operation);
    if (result.code !== 0) order.mayBeLost += order.concurrency;
    if (/may deliver and charge them again/.test(result.stderr)) order.mayRepeat = true;
    story.push(`${plan.words}\n    exit ${result.code}: ${result.stderr.trim().split('\n').join('\n    ')}`);
  }
  const paid = new Map<string, number>();
  for (const { subject } of service.purchases.slice(before)) paid.set(subject, (paid.get(subject) ?? 0) + 1);
  story.push(
    `    paid: ${[...paid].map(([subject, times]) => `${subject}${times > 1 ? ` x${times}` : ''}`).join(', ')}`,
  );
  const history = await historyIn(world);
  for (const run of runs) checkExit(world, run, !isAlone, isCalm && isAlone);
  const spent = service.purchases.reduce((sum, { credits }) => sum + credits, 0);
  if (world.dayLimit !== undefined && spent > world.dayLimit)
    throw new Error(`${spent} credits were charged of ${world.dayLimit} for the day`);
  for (const order of new Set(orders)) {
    checkMoney(world, order, before, runs, history);
    if (order.output !== undefined) checkFile(world, order, files.get(order.output) ?? '');
  }
  const over = new Set<Order>();
  // What a run says of itself comes before what is seen of one that was killed.
  const byWord = [...runs].sort((a, b) => Number(a.result.code === null) - Number(b.result.code === null));
  for (const run of byWord) {
    const { order, result } = run;
    const { output } = order;
    if (output === undefined && result.code !== null) checkOnce(order, order.format, result.stdout);
    // Rows that are added wait beside their file until they are complete.
    const isWhole = result.code === 0 || (result.code === 3 && order.kind === 'list' && !order.isAppended);
    if (order.isAppended && output !== undefined && (result.code === 0 || result.code === 3))
      kept.set(output, read(output));
    const ownsOutput = orders.every((one) => one === order || one.output !== output);
    // One that began when the other was over has bought once more.
    const times = runs.filter((one) => one.order === order && one.result.code === 0).length;
    if (isWhole && !isChanged && (output === undefined || ownsOutput))
      checkWhole(world, order, result, times);
    const others = runs.filter((other) => other !== run).map((other) => other.result.stderr);
    const isOver =
      result.code === null
        ? !over.has(order) && isComplete(history, run, known, others.join())
        : result.code === 0 || isSaidToBeOver(result);
    if (!isOver) continue;
    end(world, order, isUnstored(result));
    over.add(order);
  }
  if (world.copied !== undefined) {
    story.push('the user goes on with a copy of the state, whose index is older than its journals');
    const index = join(world.env.LEADPIPE_STATE_DIR ?? '', 'index');
    rmSync(index, { recursive: true });
    cpSync(world.copied, index, { recursive: true });
    world.copied = undefined;
  }
  return runs.map(({ result }) => result);
}

/** As `cp -r` of the state copies it, while something is at work there. */
function copyIndex({ env }: World): string | undefined {
  const [index, copy] = [join(env.LEADPIPE_STATE_DIR ?? '', 'index'), join(temporaryFolder(), 'index')];
  if (!existsSync(index)) return undefined;
  cpSync(index, copy, { recursive: true });
  return copy;
}

/** Rows come and go in the files of these orders, which are being worked through. */
function changeInputs(world: World, orders: readonly Order[]): void {
  for (const { list, name } of orders) {
    if (list?.file === undefined) continue;
    const isGrowing = world.random() < 0.7;
    for (let count = isGrowing ? 20 : 2; count > 0; count--) list.change(isGrowing ? 'adds' : 'removes');
    world.story.push(`meanwhile ${name} ${isGrowing ? 'grows' : 'shrinks'} to ${list.rows.length} rows`);
    for (const other of world.open) if (other.list === list) other.isEdited = true;
  }
}

/** Whether a run said that its leads, or its end, could not be stored. */
const isUnstored = ({ stderr }: Result): boolean =>
  /may deliver and charge them again|may buy the rest of it again/.test(stderr);

/** Whether a run said that its list is finished, though its rows could not be added: an earlier run had added the others. */
const isSaidToBeOver = ({ stderr }: Result): boolean =>
  stderr.includes('The same command buys all rows again');

/** The next order of the same is another purchase. Leads that could not be stored may come again. */
function end(world: World, order: Order, mayComeAgain: boolean): void {
  // Also what a run brought that was killed behind its end.
  if (order.list === undefined && order.output !== undefined && (order.isAppended || !mayComeAgain)) {
    for (const { name } of toRows(read(order.output), order.format))
      if (name.startsWith(`${order.name}/`)) order.delivered.add(name);
  }
  if (order.again-- === 0) close(world, order);
  order.operation = undefined;
  order.since = world.service.purchases.length;
}

function close(world: World, order: Order): void {
  world.open = world.open.filter((one) => one !== order);
}

/** What the history says of every operation. */
async function historyIn({ env }: World): Promise<readonly Record<string, unknown>[]> {
  return (await historyOf({ ...env }, 'list')).records;
}

type History = Awaited<ReturnType<typeof historyIn>>;

const completeIn = (history: History): string[] =>
  history.filter(({ state }) => state === 'complete').map(({ operation_id }) => String(operation_id));

/** Operations of a search or a task that are complete: the same command buys it again. */
function completeOf(history: History, { kind, name }: Order): string[] {
  return kind === 'list' ? [] : completeIn(history.filter(({ subject }) => subject === name));
}

/** Whether the operation of a run that was killed is complete. `known` are the operations from before it. */
function isComplete(
  history: History,
  { order, complete }: Run,
  known: readonly string[],
  others: string,
): boolean {
  if (order.kind !== 'list') return completeOf(history, order).some((id) => !complete.includes(id));
  const made = completeIn(history).filter((id) => !known.includes(id) && !others.includes(`operation ${id}`));
  return made.length > 0 || completeIn(history).some((id) => id === order.operation);
}

interface Plan {
  readonly words: string;
  readonly when: number | undefined;
  readonly how: 'SIGKILL' | 'interrupted' | 'terminated' | undefined;
  /** Whether its disk refuses something. */
  readonly isFaulty: boolean;
  readonly isResumed: boolean;
  start(): Simulated;
}

function toPlan(
  { random, env, told, dayLimit }: World,
  order: Order,
  isReal: boolean,
  isCalm: boolean,
  { meanwhile, whileAsleep }: Pick<Start, 'meanwhile' | 'whileAsleep'> = {},
): Plan {
  const dice = isCalm ? 1 : whileAsleep === undefined ? random() : 0.5;
  const within = (from: number, to: number): boolean => dice >= from && dice < to;
  const anyOf = (changes: number): number => 1 + Math.floor(random() ** 2 * changes);
  const killAt = within(0, 0.22) ? anyOf(160) : undefined;
  const killed = among(random, ...deaths);
  const how = within(0.22, 0.45)
    ? among(random, 'SIGKILL', 'SIGKILL', 'interrupted', 'terminated')
    : undefined;
  const when = how === undefined ? undefined : 1 + Math.floor(random() * 6);
  const sleepAt = within(0.45, 0.53) ? 1 + Math.floor(random() * 60) : undefined;
  const mode = within(0.53, 0.72) ? among(random, ...diskFaults) : undefined;
  const fault = mode && { mode, at: anyOf(mode === 'sync' ? 20 : 120) };
  const clock = isCalm ? 1 : random();
  const clockAheadMs =
    clock > 0.25 || dayLimit !== undefined ? 0 : among(random, -24, -1, 1, 25, 24 * 40) * hourMs;
  const isResumed = !isCalm && random() < 0.1 && order.operation !== undefined && order.output !== undefined;
  const args = isResumed ? ['resume', order.operation ?? ''] : order.args;
  const stdin = order.list !== undefined && order.list.file === undefined ? order.list.text : undefined;
  const words = [
    `${told.runs} ${isReal ? '(real) ' : ''}${order.name}: leadpipe ${args.map((word) => word.split('/').at(-1)).join(' ')}`,
    ...(killAt === undefined ? [] : [`killed ${killed} change ${killAt}`]),
    ...(how === undefined ? [] : [`${how} at purchase ${when}`]),
    ...(sleepAt === undefined ? [] : [`asleep at ${sleepAt}`]),
    ...(fault === undefined ? [] : [`${fault.mode} at ${mode === 'sync' ? 'sync' : 'change'} ${fault.at}`]),
    ...(clockAheadMs === 0 ? [] : [`clock ${clockAheadMs / hourMs} h ahead`]),
  ].join('; ');
  const start = (): Simulated =>
    (isReal ? startReal : startSimulated)({
      args,
      env,
      stdin,
      killAt,
      killed,
      sleepAt,
      whileAsleep,
      fault,
      meanwhile,
      clockAheadMs,
    });
  return { words, when, how, isFaulty: fault !== undefined, isResumed, start };
}

async function inTime(ended: Promise<Result>, words: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: ${words}`)), 30_000);
  });
  return await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

const deaths = ['before', 'amid', 'behind'] as const;
/** How a disk refuses: it is full for good or once, it fails once, or it does not sync. */
const diskFaults = ['ENOSPC', 'ENOSPC once', 'EIO', 'sync'] as const;
const possible = [0, 3, 5, 8, 75, 76, 130, 143];

function checkExit(world: World, { order, plan, result }: Run, hasOthers: boolean, isCalm: boolean): void {
  const { code, stderr } = result;
  if (/^\s+at /m.test(stderr)) throw new Error('a stack trace');
  // Another run has written the file since: that one's rows stay.
  const isReplaced = plan.isResumed && stderr.includes('has rows of a later operation');
  if (code === null || (plan.isResumed && [2, 6, 78].includes(code)) || isReplaced) return;
  if (plan.isFaulty && code === 74) return;
  if (!possible.includes(code)) throw new Error(`${order.name} ended with ${code}`);
  if (isCalm && (code === 75 || (code === 5 && !mayBeOverLimit(world, order))))
    throw new Error(`${order.name} is refused in peace: ${code}`);
  if (!hasOthers && /process \d+ is working on/.test(stderr)) {
    throw new Error(`${order.name} waits for a process that is dead`);
  }
}

/** Nothing is paid twice that was not said first, and no limit is passed. */
function checkMoney(
  { service }: World,
  order: Order,
  before: number,
  all: readonly Run[],
  history: History,
): void {
  const { kind, list, maxCredits, name, unit } = order;
  const isOurs = ({ subject }: { subject: string }): boolean =>
    list === undefined ? subject === name : subject.startsWith(`${unit} person `);
  const earlier = service.purchases.slice(order.since, before).filter(isOurs);
  const news = service.purchases.slice(before).filter(isOurs);
  const credits = news.reduce((sum, one) => sum + one.credits, 0);
  const runs = all.filter((one) => one.order.unit === unit);
  if (maxCredits !== undefined && credits > maxCredits * runs.length)
    throw new Error(`${name} was limited to ${maxCredits}, and ${credits} were charged`);
  const own = all.filter((one) => one.order === order);
  // What begins when another run of this step is complete is bought once more.
  const ended = own.filter(({ result }) => result.code === 0).length;
  if (kind === 'list') {
    if (ended > 1) return;
    const paid = new Set<string>(isForgotten(order) ? [] : earlier.map(({ subject }) => subject));
    // Of rows that are to be bought again where their answer was lost: as often as it can have been.
    const isAgain = has(order, '--retry-unknown');
    const again = news.filter(({ subject }) => paid.has(subject) && !service.disturbed.has(subject));
    if (isAgain && again.length > order.mayBeLost)
      throw new Error(`${name}: ${again.length} rows were paid twice`);
    for (const { subject } of isAgain ? news : []) paid.delete(subject);
    for (const { subject } of news) {
      // Two runs of one step may both have bought it, where its answer was lost.
      const isLost = isAgain && service.disturbed.has(subject);
      if (paid.has(subject) && !isLost) throw new Error(`"${subject}" was paid twice`);
      paid.add(subject);
    }
    const sum = earlier.length + news.length;
    const isOneLimit = !order.isEdited && !isForgotten(order) && !isNamed(order) && !isAgain;
    if (maxCredits !== undefined && isOneLimit && sum > maxCredits)
      throw new Error(`${name} was limited to ${maxCredits}, and ${sum} were charged in all its runs`);
    return;
  }
  const said = own.filter(({ result }) =>
    /Resuming op_|new purchase|buys everything again|charged again|rest of/i.test(result.stderr),
  );
  if (news.length > runs.length) throw new Error(`${name} was bought ${news.length} times in a run`);
  // Also one that was killed behind its end.
  const complete = completeOf(history, order).filter((id) => !own[0]?.complete.includes(id)).length;
  // The first one of all need not be announced.
  const first = earlier.length === 0 ? 1 : 0;
  const unsaid = news.length - said.length - first - Math.max(0, ended - 1, complete - 1);
  if (unsaid > 0 && !isForgotten(order)) throw new Error(`${name} was bought again without a word`);
}

/** A file of other days keeps its bytes; any other is whole, or as it was. */
function checkFile({ kept }: World, order: Order, before: string): void {
  const { format, isAppended, output = '' } = order;
  const text = read(output);
  if (isAppended) {
    const base = kept.get(output) ?? '';
    if (!text.startsWith(base)) throw new Error(`${output}: rows that stood there have changed`);
    return;
  }
  if (text !== before) checkOnce(order, format, text);
}

function checkOnce(order: Order, format: 'jsonl' | 'csv', text: string): readonly OutputRow[] {
  const rows = toRows(text, format);
  // Each run of a named list adds all rows of its part of the list.
  if (order.isAppended && isNamed(order)) return rows;
  const names = new Set<string>();
  const [unit] = order.name.split('/');
  for (const { name, answer } of rows) {
    // Rows of others in the file are looked at when these run.
    if (answer === undefined || /^[^./ ]+/.exec(name)?.[0] !== unit) continue;
    if (names.has(name) && !order.mayRepeat) throw new Error(`${order.name}: ${name} stands twice`);
    names.add(name);
  }
  return rows;
}

/** A run that says that all is there has all there: every row in its order, every lead of a task. */
function checkWhole(world: World, order: Order, result: Result, times: number): void {
  const { list, output, format } = order;
  const rows = checkOnce(order, format, output === undefined ? result.stdout : read(output));
  // Nothing came, and the file stays.
  if (/was not changed, because|the file was left as it was/.test(result.stderr)) return;
  if (list === undefined) checkLeads(world, order, result, rows, times);
  else checkRows(world, order, result, rows);
}

function checkLeads(
  { service }: World,
  order: Order,
  result: Result,
  rows: readonly OutputRow[],
  times: number,
): void {
  const { name, kind, delivered } = order;
  const leads = rows.map((row) => row.name).filter((lead) => lead.startsWith(`${name}/`));
  const found = service.purchases.filter(({ subject }) => subject === name);
  const all = found.flatMap((one) => one.leads);
  for (const lead of leads) if (!all.includes(lead)) throw new Error(`${name}: nobody found ${lead}`);
  // Where another run took over and ended too, the file is that one's.
  const isOnlyNew = times < 2 && has(order, '--only-new');
  const bought = found.at(-1)?.leads ?? [];
  // A task that is resumed after the same command has bought the same leads anew leaves these out.
  const last = isOnlyNew ? bought.filter((lead) => !delivered.has(lead)) : bought;
  const before = order.isAppended ? delivered.size : 0;
  const isThere =
    kind === 'task run'
      ? leads.slice(order.isAppended ? leads.length - last.length : 0).join() === last.join()
      : last.every((lead) => leads.includes(lead));
  if (result.code === 0 && !isThere)
    throw new Error(`${name}: ${leads.length} leads are there, ${last.length} were found`);
  if (leads.length > order.limit * (order.isAppended ? times : 1) + before)
    throw new Error(`${name}: more leads than its limit`);
  const again = leads.find((lead) => delivered.has(lead));
  if (isOnlyNew && !order.isAppended && again !== undefined)
    throw new Error(`${name}: ${again} was delivered before`);
  const isStored = order.isAppended || !isUnstored(result);
  if (result.code === 0 && isStored) for (const lead of leads) delivered.add(lead);
}

function checkRows({ service }: World, order: Order, { code }: Result, rows: readonly OutputRow[]): void {
  const { name, unit, mayBeLost } = order;
  const mine = rows.filter((row) => /^[^. ]+/.exec(row.name)?.[0] === unit);
  const wanted = rowsOf(order).map((row) => ({ asked: row.text, called: nameOf(order, row) }));
  let lost = 0;
  for (const { asked, called } of wanted) {
    const its = mine.filter((row) => row.name === called);
    if (its.length === 0) throw new Error(`${name}: ${called} is not in the file`);
    const answer = its.find((row) => row.answer !== undefined)?.answer;
    if (answer === undefined && !service.disturbed.has(asked)) lost++;
    if (answer !== undefined && answer !== `${asked}@example.com`)
      throw new Error(`${name}: ${called} has the answer ${answer}`);
  }
  const inOrder = mine.map((row) => row.name).join() === wanted.map(({ called }) => called).join();
  if (!order.isAppended && !inOrder)
    throw new Error(`${name}: the rows are not those of the input, in its order`);
  if (lost > mayBeLost)
    throw new Error(`${name}: ${lost} answers are lost, where ${mayBeLost} were under way`);
  if (code === 0 && lost > 0) throw new Error(`${name}: complete, and ${lost} answers are missing`);
}
