import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { bareEnvironment, pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
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
import { type Simulated, startSimulated } from './simulated.ts';

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
  /** Bytes of files that rows are added to: they stand there for good. */
  readonly kept: Map<string, string>;
  open: Order[];
  orders: number;
  steps: number;
}

const mostOpen = 4;
const hourMs = 3_600_000;
/** So many runs in peace bring an order to its end. */
const calmRuns = 3;
const disturbedRuns = 7;

/** Lives through a machine's life: orders, faults and edits as the seed says. Throws with the story of what went wrong. */
export async function live(seed: string, runs: number, realShare: number, told: Told): Promise<void> {
  const random = createRandom(seed);
  const service = await startCountingService(random() < 0.5);
  const home = temporaryFolder();
  const folder = join(home, 'work');
  const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
  mkdirSync(folder);
  mkdirSync(env.LEADPIPE_CONFIG_DIR ?? '');
  const settings = { 'price.contact.email': 1, 'poll.interval': 0.1, 'poll.max': 0.1, 'retry.attempts': 3 };
  writeFileSync(
    join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json'),
    JSON.stringify({ profiles: { default: settings } }),
  );
  const given = { random, service, env, folder, seed, realShare, told };
  const world: World = { ...given, story: [], kept: new Map(), open: [], orders: 0, steps: 0 };
  const end = told.runs + runs;
  try {
    while (told.runs < end) {
      while (world.open.length < mostOpen) world.open.push(...newOrders(world));
      await step(world);
    }
    for (const order of [...world.open]) await bringToItsEnd(world, order);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nSOAK_SEED=${seed}\n${world.story.slice(-60).join('\n')}`, {
      cause: error,
    });
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
      ...{ runs: 0, mayBeLost: 0, isEdited: false, again: 0, delivered: new Set<string>(), since: 0 },
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
/** Whether every run of it is bought anew. */
const isForgotten = (order: Order): boolean => order.output === undefined && !isNamed(order);

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
    // Of two that are forgotten nobody could tell who has bought what.
    if (!orders.includes(other) || !isForgotten(other)) orders.push(other);
  }
  await runTogether(world, orders, { isReal });
}

async function bringToItsEnd(world: World, order: Order): Promise<void> {
  world.service.disturb(undefined);
  for (let run = 0; run < calmRuns; run++) {
    const [result] = await runTogether(world, [order], { isCalm: true });
    if (result?.code === 3 && order.list !== undefined) close(world, order);
    if (!world.open.includes(order)) return;
  }
  throw new Error(`${order.name} is stuck: ${calmRuns} runs in peace did not end it`);
}

async function runTogether(
  world: World,
  orders: readonly Order[],
  { isReal = false, isCalm = false },
): Promise<Result[]> {
  const { service, story, told, kept } = world;
  const before = service.purchases.length;
  const known = operationsOf(world);
  const complete = orders.map((order) => completeOf(world, order));
  const files = new Map(
    orders.flatMap(({ output }) => (output === undefined ? [] : [[output, read(output)]])),
  );
  const plans = orders.map((order) => toPlan(world, order, isReal, isCalm));
  const running = plans.map(({ start }) => start());
  let bought = 0;
  service.onPurchase = () => {
    bought++;
    for (const [at, { when, how }] of plans.entries()) {
      const one = running[at] as Simulated;
      if (bought !== when) continue;
      if (how === 'SIGKILL') one.kill();
      else if (how !== undefined) one.signal(how);
    }
  };
  const results = await Promise.all(running.map(({ ended }, at) => inTime(ended, plans[at]?.words ?? '')));
  await service.quiet();
  service.onPurchase = () => {};
  for (const [at, result] of results.entries()) {
    const { words } = plans[at] as Plan;
    const order = orders[at] as Order;
    told.runs++;
    if (isReal) told.real++;
    order.runs++;
    const ending = `${order.kind} ${result.code ?? 'killed'}`;
    told.endings.set(ending, (told.endings.get(ending) ?? 0) + 1);
    // Others are named too: whose rows were set aside, for one.
    // One that was killed may have begun another, of which nobody knows the ID.
    const named = /(?:operation|Resuming) (op_[0-9a-v]+)/.exec(result.stderr)?.[1];
    order.operation = named ?? (result.code === null ? undefined : order.operation);
    if (result.code !== 0) order.mayBeLost += order.concurrency;
    story.push(`${words}\n    exit ${result.code}: ${result.stderr.trim().split('\n').join('\n    ')}`);
  }
  const news = service.purchases.slice(before);
  const paid = new Map<string, number>();
  for (const { subject } of news) paid.set(subject, (paid.get(subject) ?? 0) + 1);
  story.push(
    `    paid: ${[...paid].map(([subject, times]) => `${subject}${times > 1 ? ` x${times}` : ''}`).join(', ')}`,
  );
  for (const [at, result] of results.entries()) {
    const order = orders[at] as Order;
    checkExit(order, result, orders.length > 1, plans[at] as Plan, isCalm && orders.length === 1);
  }
  for (const order of new Set(orders)) {
    checkMoney(world, order, before, orders, results);
    if (order.output !== undefined) checkFile(world, order, files.get(order.output) ?? '');
  }
  const over = new Set<Order>();
  // What a run says of itself comes before what is seen of one that was killed.
  const byWord = [...orders.entries()].sort(([a], [b]) => codeAt(results, a) - codeAt(results, b));
  for (const [at, order] of byWord) {
    const result = results[at] as Result;
    if (order.output === undefined && result.code !== null) checkOnce(order, order.format, result.stdout);
    const isWhole = result.code === 0 || (result.code === 3 && order.kind === 'list');
    if (order.isAppended && order.output !== undefined && (result.code === 0 || result.code === 3)) {
      kept.set(order.output, read(order.output));
    }
    const ownsOutput = orders.every((one) => one === order || one.output !== order.output);
    if (isWhole && (order.output === undefined || ownsOutput)) checkWhole(world, order, result);
    const others = results
      .filter((other) => other !== result)
      .map(({ stderr }) => stderr)
      .join();
    const isOver =
      (result.code === 0 && !isUnstored(result)) ||
      (result.code === null &&
        !over.has(order) &&
        isComplete(world, order, known, complete[at] ?? [], others));
    if (isOver) end(world, order);
    if (isOver) over.add(order);
  }
  return results;
}

/** Those that were killed come last. */
const codeAt = (results: readonly Result[], at: number): number => Number(results[at]?.code === null);
/** Whether it has said that the next run may bring the same again. */
const isUnstored = ({ stderr }: Result): boolean => stderr.includes('may deliver and charge them again');

/** What is ordered for another day begins anew. */
function end(world: World, order: Order): void {
  // Also what a run brought that was killed behind its end.
  if (order.list === undefined && order.output !== undefined) {
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

function operationsOf({ env }: World): string[] {
  try {
    return readdirSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations'));
  } catch {
    return [];
  }
}

const journalOf = ({ env }: World, id: string): string =>
  read(join(env.LEADPIPE_STATE_DIR ?? '', 'operations', id, 'journal.jsonl'));
/** A line that was never finished says nothing. */
const saysComplete = (journal: string): boolean =>
  journal.slice(0, journal.lastIndexOf('\n') + 1).includes('"outcome":"complete"');

/** Operations of a search or a task that have written that they are complete: the same command buys it again. */
function completeOf(world: World, { kind, name }: Order): string[] {
  if (kind === 'list') return [];
  const asks = new RegExp(`objective\\\\?":\\s*\\\\?"${name}\\\\?"`);
  return operationsOf(world).filter((id) => {
    const journal = journalOf(world, id);
    return asks.test(journal) && saysComplete(journal);
  });
}

/** Whether a run that was killed had written that it is complete. `known` and `complete` were so before it. */
function isComplete(
  world: World,
  order: Order,
  known: readonly string[],
  complete: readonly string[],
  others: string,
): boolean {
  if (order.kind !== 'list') return completeOf(world, order).some((id) => !complete.includes(id));
  const made = operationsOf(world).filter((id) => !known.includes(id) && !others.includes(`operation ${id}`));
  return [...made, ...(order.operation === undefined ? [] : [order.operation])].some((id) =>
    saysComplete(journalOf(world, id)),
  );
}

interface Plan {
  readonly words: string;
  readonly when: number | undefined;
  readonly how: 'SIGKILL' | 'interrupted' | 'terminated' | undefined;
  readonly isFull: boolean;
  readonly isResumed: boolean;
  start(): Simulated;
}

function toPlan({ random, env, told }: World, order: Order, isReal: boolean, isCalm: boolean): Plan {
  const dice = isCalm ? 1 : random();
  const killAt = dice < 0.25 ? 1 + Math.floor(random() ** 2 * 160) : undefined;
  const how =
    dice < 0.25 || dice > 0.5 ? undefined : among(random, 'SIGKILL', 'SIGKILL', 'interrupted', 'terminated');
  const when = how === undefined ? undefined : 1 + Math.floor(random() * 6);
  const fullAt = dice > 0.6 && dice < 0.67 ? 1 + Math.floor(random() ** 2 * 120) : undefined;
  const sleepAt = dice > 0.5 && dice < 0.6 ? 1 + Math.floor(random() * 60) : undefined;
  const clock = isCalm ? 1 : random();
  const clockAheadMs = clock > 0.25 ? 0 : among(random, -24, -1, 1, 25, 24 * 40) * hourMs;
  const isResumed = !isCalm && random() < 0.1 && order.operation !== undefined && order.output !== undefined;
  const args = isResumed
    ? [...(order.kind === 'task run' ? ['task', 'resume'] : ['history', 'resume']), order.operation ?? '']
    : order.args;
  const stdin = order.list !== undefined && order.list.file === undefined ? order.list.text : undefined;
  const words = [
    `${told.runs} ${isReal ? '(real) ' : ''}${order.name}: leadpipe ${args.map((word) => word.split('/').at(-1)).join(' ')}`,
    ...(killAt === undefined ? [] : [`killed at change ${killAt}`]),
    ...(how === undefined ? [] : [`${how} at purchase ${when}`]),
    ...(sleepAt === undefined ? [] : [`asleep at ${sleepAt}`]),
    ...(fullAt === undefined ? [] : [`no room from change ${fullAt}`]),
    ...(clockAheadMs === 0 ? [] : [`clock ${clockAheadMs / hourMs} h ahead`]),
  ].join('; ');
  const start = (): Simulated =>
    (isReal ? startReal : startSimulated)({ args, env, stdin, killAt, sleepAt, fullAt, clockAheadMs });
  return { words, when, how, isFull: fullAt !== undefined, isResumed, start };
}

async function inTime(ended: Promise<Result>, words: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: ${words}`)), 30_000);
  });
  return await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

const possible = [0, 3, 5, 8, 75, 76, 130, 143];

function checkExit(
  order: Order,
  { code, stderr }: Result,
  hasOthers: boolean,
  plan: Plan,
  isCalm: boolean,
): void {
  if (/^\s+at /m.test(stderr)) throw new Error('a stack trace');
  // Another run has written the file since: that one's rows stay.
  const isReplaced = plan.isResumed && stderr.includes('has rows of a later operation');
  if (code === null || (plan.isResumed && [2, 6, 78].includes(code)) || isReplaced) return;
  if (plan.isFull && code === 74) return;
  if (!possible.includes(code)) throw new Error(`${order.name} ended with ${code}`);
  if (isCalm && (code === 75 || code === 5)) throw new Error(`${order.name} is refused in peace: ${code}`);
  if (!hasOthers && /process \d+ is working on/.test(stderr)) {
    throw new Error(`${order.name} waits for a process that is dead`);
  }
}

/** Nothing is paid twice that was not said first, and no limit is passed. */
function checkMoney(
  { service }: World,
  order: Order,
  before: number,
  orders: readonly Order[],
  results: readonly Result[],
): void {
  const { kind, list, maxCredits, name, unit } = order;
  const isOurs = ({ subject }: { subject: string }): boolean =>
    list === undefined ? subject === name : subject.startsWith(`${unit} person `);
  const earlier = service.purchases.slice(order.since, before).filter(isOurs);
  const news = service.purchases.slice(before).filter(isOurs);
  const credits = news.reduce((sum, one) => sum + one.credits, 0);
  const runs = orders.filter((one) => one.unit === unit);
  if (maxCredits !== undefined && credits > maxCredits * runs.length) {
    throw new Error(`${name} was limited to ${maxCredits}, and ${credits} were charged`);
  }
  if (kind === 'list') {
    const paid = new Set<string>(isForgotten(order) ? [] : earlier.map(({ subject }) => subject));
    // Of rows that are to be bought again where their answer was lost: as often as it can have been.
    const isLost = ({ subject }: { subject: string }): boolean => service.disturbed.has(subject);
    const isAgain = has(order, '--retry-unknown');
    const again = isAgain ? news.filter((one) => paid.has(one.subject) && !isLost(one)) : [];
    if (again.length > order.mayBeLost) throw new Error(`${name}: ${again.length} rows were paid twice`);
    for (const { subject } of isAgain ? news : []) paid.delete(subject);
    for (const { subject } of news) {
      if (paid.has(subject)) throw new Error(`"${subject}" was paid twice`);
      paid.add(subject);
    }
    const all = earlier.length + news.length;
    if (
      maxCredits !== undefined &&
      !order.isEdited &&
      !isForgotten(order) &&
      !isNamed(order) &&
      !isAgain &&
      all > maxCredits
    ) {
      throw new Error(`${name} was limited to ${maxCredits}, and ${all} were charged in all its runs`);
    }
    return;
  }
  const said = results.filter(
    (result, at) =>
      orders[at] === order && /Resuming op_|new purchase|charged again|rest of/i.test(result.stderr),
  ).length;
  if (news.length > runs.length) throw new Error(`${name} was bought ${news.length} times in a run`);
  // The first one of all need not be announced, nor what begins when another run of this step is complete.
  const complete = results.filter(({ code }, at) => code === 0 && orders[at] === order).length;
  const unsaid = news.length - said - (earlier.length === 0 ? 1 : 0) - Math.max(0, complete - 1);
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
  const names = new Set<string>();
  for (const { name, answer } of rows) {
    if (answer === undefined) continue;
    if (names.has(name)) throw new Error(`${order.name}: ${name} stands twice`);
    names.add(name);
  }
  return rows;
}

/** A run that says that all is there has all there: every row in its order, every lead of a task. */
function checkWhole({ service }: World, order: Order, result: Result): void {
  const { code, stdout, stderr } = result;
  const { kind, list, name, output } = order;
  const text = output === undefined ? stdout : read(output);
  const rows = checkOnce(order, order.format, text);
  const isKept = stderr.includes('was not replaced');
  if (list === undefined) {
    const leads = rows.filter((row) => row.name.startsWith(`${name}/`)).map((row) => row.name);
    // Nothing came, and the file stays.
    if (stderr.includes('was left as it was')) return;
    const found = service.purchases.filter(({ subject }) => subject === name);
    const all = found.flatMap((one) => one.leads);
    for (const lead of leads) if (!all.includes(lead)) throw new Error(`${name}: nobody found ${lead}`);
    const last = found.at(-1)?.leads ?? [];
    const before = order.isAppended ? order.delivered.size : 0;
    const isThere =
      kind === 'task run'
        ? leads.slice(before).join() === last.join()
        : last.every((lead) => leads.includes(lead));
    if (code === 0 && !isThere)
      throw new Error(`${name}: ${leads.length} leads are there, ${last.length} were found`);
    if (leads.length > order.limit + before) throw new Error(`${name}: more leads than its limit`);
    if (has(order, '--only-new') && !order.isAppended) {
      for (const lead of leads)
        if (order.delivered.has(lead)) throw new Error(`${name}: ${lead} was delivered before`);
    }
    if (code === 0 && !isUnstored(result)) for (const lead of leads) order.delivered.add(lead);
    return;
  }
  if (isKept) return;
  const wanted = rowsOf(order);
  const mine = rows.filter(({ name }) => /^[^. ]+/.exec(name)?.[0] === order.unit);
  const answered = new Map(mine.map((row) => [row.name, row.answer]));
  let lost = 0;
  for (const { id, text: asked } of wanted) {
    const row = nameOf(order, { id, text: asked });
    if (!answered.has(row)) throw new Error(`${name}: ${row} is not in the file`);
    const answer = mine.find((one) => one.name === row && one.answer !== undefined)?.answer;
    if (answer === undefined) {
      if (!service.disturbed.has(asked)) lost++;
    } else if (answer !== `${asked}@example.com`) throw new Error(`${name}: ${row} has the answer ${answer}`);
  }
  if (
    !order.isAppended &&
    mine.map((row) => row.name).join() !== wanted.map((row) => nameOf(order, row)).join()
  ) {
    throw new Error(`${name}: the rows are not those of the input, in its order`);
  }
  if (lost > order.mayBeLost)
    throw new Error(`${name}: ${lost} answers are lost, where ${order.mayBeLost} were under way`);
  if (code === 0 && lost > 0) throw new Error(`${name}: complete, and ${lost} answers are missing`);
}
