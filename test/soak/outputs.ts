import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import { readPrinted } from '../helpers/printed.ts';
import { pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { isPartOf } from '../helpers/run-parts.ts';
import { withSettings } from '../helpers/settings.ts';
import { type CountingService, startCountingService } from './counting-service.ts';
import { among, type Random } from './orders.ts';
import { startReal } from './real.ts';
import { type Simulated, type Start, startSimulated } from './simulated.ts';
import type { Told } from './story.ts';

/*
 * Simulates a folder with the outputs of searches, tasks and lists from two state folders. Runs are killed, interrupted and
 * cut, and share files. Only what users can see is checked: files, temporary files, exit codes, printed messages, and what
 * the service has sold.
 */

/** A result that a user wants in a file. All its rows begin with its name, so that their origin is known. */
interface Order {
  readonly name: string;
  readonly kind: 'search' | 'task' | 'list' | 'fetch';
  /** Which of the state folders it is in. */
  readonly state: number;
  readonly output: string;
  readonly isAppended: boolean;
  /** Without, there is one run of it, and its part is the only copy. */
  readonly isStored: boolean;
  /** Leads that are wanted, or rows. */
  readonly count: number;
  readonly args: readonly string[];
  /** The newest operation that is it. */
  operation: string | undefined;
  /** What is known to be somewhere: leads, and rows that have an answer. */
  kept: ReadonlySet<string>;
  /** Files that it has been added to. */
  readonly addedTo: Set<string>;
  runs: number;
  /** Whether it was resumed into another file once. */
  wentElsewhere: boolean;
  hasEnded: boolean;
}

/** A file in which a run has its rows until they are complete. */
interface Part {
  bytes: Buffer;
  /** Those of whose runs it can be. */
  readonly owners: ReadonlySet<Order>;
}

interface World {
  readonly seed: string;
  readonly service: CountingService;
  readonly envs: readonly Readonly<Record<string, string>>[];
  readonly folder: string;
  /** For what is no output. */
  readonly aside: string;
  readonly outputs: readonly string[];
  readonly realShare: number;
  readonly told: Told;
  readonly story: string[];
  readonly all: Order[];
  /** By name of the output. */
  readonly files: Map<string, readonly string[]>;
  /** By name. */
  readonly parts: Map<string, Part>;
  /** By state folder: what purchases that are not in the history have cost, at least and at most. */
  readonly unstored: (readonly [least: number, most: number])[];
  orders: number;
}

const mostOpen = 5;
const calmRuns = 3;
const kindsOf = ['leads.csv', 'leads.db', 'list.csv', 'list.db', 'b.jsonl', 'a.json', 'a.xlsx', 'a.md'];
const prices = {
  search: 1,
  task: 1,
  'contact.email': 1,
  'contact.phone': 1,
  research: 1,
  enrich: 1,
  extract: 1,
};
const settings = {
  ...{ 'poll.interval': 0.1, 'poll.max': 0.1, 'retry.attempts': 3, max_credits_per_day: 1_000_000 },
  ...Object.fromEntries(Object.entries(prices).map(([kind, price]) => [`price.${kind}`, price])),
};

/** Runs the simulation of a seed. Throws with the log of a failed one. */
export async function liveWithOutputs(
  seed: string,
  runs: number,
  realShare: number,
  told: Told,
): Promise<void> {
  const random = createRandom(seed);
  const service = await startCountingService(random() < 0.5);
  const { LEADPIPE_STATE_DIR = '', ...env } = { ...withSettings(settings), ...pointedAt(service.url) };
  const some = [...kindsOf].sort(() => random() - 0.5).slice(0, 3);
  const world: World = {
    ...{ seed, service, realShare, told, story: [], all: [], orders: 0 },
    envs: ['', '-2'].map((end) => ({ ...env, LEADPIPE_STATE_DIR: `${LEADPIPE_STATE_DIR}${end}` })),
    folder: temporaryFolder(),
    aside: temporaryFolder(),
    outputs: ['a.jsonl', ...some],
    files: new Map(),
    parts: new Map(),
    unstored: [
      [0, 0],
      [0, 0],
    ],
  };
  const end = told.runs + runs;
  try {
    // What is drawn in a step does not depend on how many draws the steps before it took.
    for (let nth = 1; told.runs < end; nth++)
      await step(world, createRandom(`${seed}/${nth}`), `${seed}/${nth}`);
    service.disturb(undefined);
    service.scripts.clear();
    for (const order of open(world)) await bringToItsEnd(world, order);
    for (const order of world.all)
      if (order.isStored) await checkKept(world, order, [], service.purchases.length);
    for (const [name, { bytes, owners }] of world.parts)
      if (hasRows(bytes) && [...owners].every(({ isStored, kind }) => isStored && kind !== 'fetch'))
        fail(`${name} is left at the end`);
  } catch (error) {
    const { message, stack } = error as Error;
    const again = `SOAK_STORY=outputs SOAK_SEED=${seed}`;
    throw new Error(`${message}\n${again}\n${world.story.slice(-60).join('\n')}\n${stack}`, { cause: error });
  } finally {
    await service.close();
  }
}

const open = ({ all }: World): Order[] => all.filter(({ hasEnded }) => !hasEnded);
const pathOf = ({ folder }: World, name: string): string => join(folder, name);
function fail(message: string): never {
  throw new Error(message);
}

async function step(world: World, random: Random, seed: string): Promise<void> {
  const { service, story } = world;
  while (open(world).length < mostOpen) await newOrder(world, random);
  const order = among(random, ...open(world));
  const happens = random();
  if (happens < 0.05) return await aPersonChanges(world, random);
  if (happens < 0.09 && order.operation !== undefined && order.kind !== 'fetch')
    return await drop(world, order);
  service.disturb(random() < 0.5 ? seed : undefined);
  service.scripts.clear();
  if (random() < 0.4) service.scripts.set(order.name, { cut: 3 * Math.floor(random() * 5) });
  const orders = [order];
  // Another one at the same time: into the same file, rather.
  if (random() < 0.2) {
    const others = open(world).filter((one) => one !== order);
    const same = others.filter(({ output }) => output === order.output);
    orders.push(among(random, ...(same.length > 0 && random() < 0.7 ? same : others)));
  }
  const runs = orders.map((one) => toRun(world, one, random));
  for (const { words } of runs) story.push(words);
  await perform(world, runs);
}

/** Draws one; of one that is fetched, the task is made and has some leads ready. */
async function newOrder(world: World, random: Random): Promise<void> {
  const { aside, folder, outputs, envs, service } = world;
  const name = `o${++world.orders}`;
  const output = among(random, ...outputs);
  const ofLists = output.startsWith('list.');
  const ofLeads = output.startsWith('leads.');
  const kind = ofLists
    ? 'list'
    : among(
        random,
        'search',
        'search',
        'task',
        'task',
        'fetch',
        ...(ofLeads ? [] : (['list', 'list'] as const)),
      );
  const isAppended = canGrow(output) && kind !== 'fetch' && random() < 0.4;
  const isStored = kind === 'list' || (kind !== 'fetch' && random() < 0.75);
  const count = kind === 'list' ? 2 + Math.floor(random() * 6) : 1 + Math.floor(random() * 20);
  const state = Math.floor(random() * envs.length);
  const own = async (): Promise<string[]> => {
    const limit = String(count);
    if (kind === 'search') return ['search', 'company', name, '--limit', limit];
    if (kind === 'task') return ['task', 'run', 'company', name, '--limit', limit, '--num', '5'];
    if (kind === 'list') {
      const input = join(aside, `${name}-input.jsonl`);
      const rows = rowsOf(name, count).map((objective) => `${JSON.stringify({ objective })}\n`);
      writeFileSync(input, rows.join(''));
      return ['contact', 'email', '--input', input, '--concurrency', String(1 + Math.floor(random() * 3))];
    }
    service.disturb(undefined);
    const run = (...args: string[]) => runInProcess(args, { env: envs[state] ?? {} });
    const created = await run('task', 'create', 'company', name, '--limit', limit, '-f', 'jsonl');
    const { leads_search_id: id } = JSON.parse(created.stdout);
    for (let looks = Math.floor(random() * 4); looks >= 0; looks--) await run('task', 'status', id);
    return ['task', 'fetch', id, '--num', '5'];
  };
  const more = [
    ...(isAppended ? ['--append'] : []),
    ...(isStored || kind === 'fetch' ? [] : ['--no-history']),
  ];
  world.all.push({
    ...{ name, kind, state, output, isAppended, isStored, count, operation: undefined, runs: 0 },
    ...{ wentElsewhere: false, hasEnded: false },
    args: [...(await own()), '-o', join(folder, output), ...more],
    kept: new Set(),
    addedTo: new Set(),
  });
}

const canGrow = (output: string): boolean => ['.jsonl', '.csv', '.db'].includes(extname(output));
const rowsOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name} person ${at + 1}`);

/** Somebody adds a row to a file that grows, or removes a file. */
async function aPersonChanges(world: World, random: Random): Promise<void> {
  const { files, outputs, story } = world;
  const name = among(random, ...outputs);
  const path = pathOf(world, name);
  if (!existsSync(path)) return;
  const row = { 'a.jsonl': '{"name":"a person"}\n', 'b.jsonl': '{"name":"a person"}\n' }[name];
  if (row !== undefined && random() < 0.8) appendFileSync(path, row);
  else rmSync(path);
  story.push(`a person ${existsSync(path) ? 'adds a row to' : 'removes'} ${name}`);
  files.set(name, await readRows(world, name));
}

async function drop(world: World, order: Order): Promise<void> {
  const { envs, story } = world;
  const args = ['history', 'drop', order.operation ?? ''];
  const { code, stderr } = await runInProcess(args, { env: envs[order.state] ?? {} });
  story.push(`leadpipe history drop ${order.operation} (${order.name}): ${code} ${stderr.trim()}`);
  if (code === 0) order.hasEnded = true;
  await look(world, []);
}

/** A command that is about to run. */
interface Run {
  readonly order: Order;
  /** Where its rows go. */
  readonly output: string;
  readonly isAppended: boolean;
  readonly isResumed: boolean;
  readonly isReal: boolean;
  readonly words: string;
  readonly summary: string;
  readonly signal: { readonly at: number; readonly how: 'kill' | 'interrupted' | 'terminated' } | undefined;
  start(): Simulated;
}

function toRun(world: World, order: Order, random: Random, isCalm = false): Run {
  const { aside, envs, files, folder, told, outputs } = world;
  const { kind, name, operation, output, state } = order;
  const dice = isCalm ? 1 : random();
  const killAt = dice < 0.35 ? 1 + Math.floor(random() ** 1.5 * 260) : undefined;
  const killed = among(random, 'before', 'amid', 'behind');
  const how = among(random, ...(['kill', 'interrupted', 'interrupted', 'terminated'] as const));
  const signal = dice >= 0.35 && dice < 0.6 ? { how, at: 1 + Math.floor(random() * 4) } : undefined;
  const isReal = !isCalm && random() < world.realShare;
  const summary = join(aside, `${name}-${++order.runs}.json`);
  const canResume = !isCalm && operation !== undefined && kind !== 'fetch';
  const isResumed = canResume && random() < 0.35;
  // A file for the same rows; not the one that they are added to, nor added to one that has them.
  const others = outputs.filter(
    (one) =>
      (one.split('.')[0] === output.split('.')[0] || /^[ab]\./.test(one)) &&
      !(order.isAppended && one === output),
  );
  const elsewhere =
    isResumed && others.length > 0 && (order.wentElsewhere || random() < 0.6)
      ? among(random, ...others)
      : undefined;
  if (elsewhere !== undefined && elsewhere !== output) order.wentElsewhere = true;
  const has = files.get(elsewhere ?? '')?.some((row) => isRowOf(row, name)) ?? false;
  const canBeAdded = canGrow(elsewhere ?? '') && !has && random() < 0.4;
  const isAppended = elsewhere === undefined ? order.isAppended : canBeAdded;
  const toOther =
    elsewhere === undefined ? [] : ['-o', join(folder, elsewhere), ...(isAppended ? ['--append'] : [])];
  const again = isCalm && kind === 'list' && order.isStored ? ['--retry-unknown'] : [];
  const own = isResumed ? ['resume', operation, ...toOther] : [...order.args, ...again];
  const args = [...own, '--summary', summary];
  const start: Start = { args, env: envs[state] ?? {}, killAt, killed, clockAheadMs: 0 };
  const shown = own.map((word) => (word.startsWith('/') ? word.split('/').at(-1) : word)).join(' ');
  const words = [
    `${told.runs} ${isReal ? '(real) ' : ''}state ${state}, ${name}: leadpipe ${shown}`,
    ...(killAt === undefined ? [] : [`killed ${killed} change ${killAt}`]),
    ...(signal === undefined ? [] : [`${how} at event ${signal.at}`]),
  ].join('; ');
  return {
    ...{ order, output: elsewhere ?? output, isAppended, isResumed, isReal, words, summary, signal },
    start: () => (isReal ? startReal : startSimulated)(start),
  };
}

interface Ended extends Run {
  readonly result: Result;
}

/** Runs them at the same time, and looks at what there is then. */
async function perform(world: World, runs: readonly Run[]): Promise<readonly Ended[]> {
  const { service, story, told } = world;
  const before = service.purchases.length;
  const begun = runs.map((run) => ({ ...run, process: run.start() }));
  const events = new Map<Order, number>();
  service.onEvent = (subject) => {
    for (const { order, signal, process } of begun) {
      if (subject !== order.name && !isRowOf(subject, order.name)) continue;
      const nth = (events.get(order) ?? 0) + 1;
      events.set(order, nth);
      if (signal?.at !== nth) continue;
      if (signal.how === 'kill') process.kill();
      else process.signal(signal.how);
    }
  };
  const ended: Ended[] = await Promise.all(
    begun.map(async (one) => ({ ...one, result: await inTime(one.process.ended, one.words) })),
  );
  await service.quiet();
  service.onEvent = () => {};
  for (const one of ended) {
    const { isReal, order, result } = one;
    told.runs++;
    if (isReal) told.real++;
    const ending = `${order.kind} ${result.code ?? 'killed'}`;
    told.endings.set(ending, (told.endings.get(ending) ?? 0) + 1);
    const words = result.stderr.trim().split('\n').join('\n    ');
    story.push(`    ${order.name} ends with ${result.code ?? 'a kill'}: ${words}`);
    checkExit(one, result);
  }
  checkMoney(world, ended, before);
  await look(world, ended, before);
  return ended;
}

async function inTime<T>(ended: Promise<T>, words: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: ${words}`)), 60_000);
  });
  return await Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

async function bringToItsEnd(world: World, order: Order): Promise<void> {
  for (let run = 0; run < calmRuns && !order.hasEnded; run++) {
    const calm = toRun(world, order, () => 0.5, true);
    world.story.push(calm.words);
    await perform(world, [calm]);
  }
  if (!order.hasEnded) fail(`${order.name} is stuck: ${calmRuns} runs in peace did not end it`);
}

const possible = [0, 3, 8, 75, 76, 130, 143];

/** 2: others have written the file since, and `resume` asks for another one; nothing has arrived. 6: it is gone. */
function checkExit({ isResumed, order: { name } }: Run, { code, stderr }: Result): void {
  if (/^\s+at /m.test(stderr)) fail('a stack trace');
  // The runs of a step have different operations, and a killed process is dead.
  if (/is working on/.test(stderr)) fail(`${name} does not run beside another one`);
  if (code !== null && ![...possible, ...(isResumed ? [2, 6] : [])].includes(code))
    fail(`${name} ended with ${code}`);
}

/** Nothing is bought twice, and of a search no more than what is not kept. */
function checkMoney({ service }: World, runs: readonly Ended[], before: number): void {
  for (const order of new Set(runs.map((run) => run.order))) {
    const { count, kept, kind, name } = order;
    const isOf = ({ subject }: { readonly subject: string }): boolean =>
      subject === name || isRowOf(subject, name);
    const [earlier, news] = [
      service.purchases.slice(0, before).filter(isOf),
      service.purchases.slice(before).filter(isOf),
    ];
    if (kind === 'fetch' && news.length > 0) fail(`${name} is free, and was charged`);
    if (kind === 'task' && earlier.length + news.length > 1) fail(`the task of ${name} was bought twice`);
    if (kind === 'list') {
      // A row whose answer was lost is bought again where that was asked for.
      const isAgain = runs.some((run) => run.words.includes('--retry-unknown'));
      const bought = new Set(
        earlier.filter(({ subject }) => !isAgain || kept.has(subject)).map(({ subject }) => subject),
      );
      for (const { subject } of news) {
        if (bought.has(subject)) fail(`${subject} was bought twice`);
        bought.add(subject);
      }
    }
    if (kind !== 'search') continue;
    if (news.length > runs.filter((run) => run.order === order).length)
      fail(`${name} was bought twice in one run`);
    for (const { body } of news.slice(0, 1)) {
      const { limit } = JSON.parse(body);
      if (limit > count - kept.size)
        fail(`${limit} leads of ${name} were bought, where ${kept.size} of ${count} are kept`);
    }
  }
}

const isRowOf = (text: string, name: string): boolean =>
  text.startsWith(`${name} `) || text.startsWith(`${name}/`);

/** Each row of a file by its name, and a row of a list with its answer. Throws where it can't be read. */
async function readRows(world: World, name: string): Promise<string[]> {
  const rows = await readPrinted(pathOf(world, name)).catch((error: Error) =>
    fail(`${name}: ${error.message}`),
  );
  return rows.map(({ name: lead, objective, email }) => {
    if (objective === undefined || objective === null) return String(lead);
    const answer = typeof email === 'object' ? (email as { content?: string } | null)?.content : email;
    return `${objective}: ${answer ?? ''}`;
  });
}

/** The leads, and the rows that have an answer, that a text has of an order. */
function tokensIn(text: string): string[] {
  return text.match(/\bo\d+\/\d+|\bo\d+ person \d+(?=@example\.com)/g) ?? [];
}

/** Looks at every file, part, and record after these runs. */
async function look(
  world: World,
  runs: readonly Ended[],
  before = world.service.purchases.length,
): Promise<void> {
  const { all, envs, files, folder, outputs } = world;
  const names = readdirSync(folder);
  const partNames = names.filter((name) => outputs.some((output) => isPartOf(name, output)));
  for (const name of names)
    if (!outputs.includes(name) && !partNames.includes(name) && !/\.lock\b/.test(name))
      fail(`${name} is left`);

  const states = [...new Set(runs.map(({ order }) => order.state))];
  const histories = new Map<number, Record<string, unknown>[]>();
  for (const state of states) histories.set(state, (await historyOf({ ...envs[state] }, 'list')).records);
  for (const { order, result } of runs) {
    const records = histories.get(order.state)?.filter((one) => isOperationOf(one, order)) ?? [];
    order.operation = records.map(({ operation_id }) => String(operation_id)).at(-1);
    // A run that was killed may have come to its end.
    const isComplete = records.at(-1)?.state === 'complete';
    if (result.code === 0 || (isComplete && order.kind !== 'fetch')) order.hasEnded = true;
    if (!order.isStored && order.kind !== 'fetch') order.hasEnded = true;
  }

  for (const output of outputs) {
    const rows = await readRows(world, output);
    checkFile(
      world,
      output,
      rows,
      runs.filter((run) => run.output === output),
    );
    files.set(output, rows);
  }
  checkParts(world, partNames, runs);
  const touched = new Set(runs.map(({ output }) => output));
  for (const order of all) {
    const isInvolved =
      runs.some((run) => run.order === order) || (!order.hasEnded && touched.has(order.output));
    if (isInvolved && order.kind !== 'fetch') await checkKept(world, order, runs, before);
  }
  for (const state of states) await checkCosts(world, state, histories.get(state) ?? [], runs);
}

/** Lists are known by their input, the others by their objective. */
function isOperationOf({ subject, command }: Record<string, unknown>, { kind, name }: Order): boolean {
  if (kind === 'list') return String(subject).endsWith(`${name}-input.jsonl`);
  return subject === name && String(command).startsWith(kind === 'search' ? 'search' : 'task');
}

/** A file is what it was, or what these runs make of it in some order. Those that ended with 0 have put all their rows there, once. */
function checkFile(world: World, output: string, after: readonly string[], runs: readonly Ended[]): void {
  const before = world.files.get(output) ?? [];
  const mayPlace = ({ order, isAppended, result, signal }: Ended): boolean => {
    if (isAppended && order.addedTo.has(output)) return !before.some((row) => isRowOf(row, order.name));
    const mayHave = signal !== undefined || (result.code === 3 && order.kind === 'list');
    return result.code === 0 || result.code === null || mayHave;
  };
  const mustPlace = (run: Ended): boolean =>
    run.result.code === 0 && !(run.isAppended && run.order.addedTo.has(output));
  const explains = (content: readonly string[], left: readonly Ended[]): boolean => {
    if (content.join('\n') === after.join('\n') && !left.some(mustPlace)) return true;
    return left.some((run) => {
      if (!mayPlace(run)) return false;
      const own = after.filter((row) => isRowOf(row, run.order.name));
      // If another run replaces the file right before an addition is renamed over it, the last one stands.
      const isReplaced = runs.some((one) => one !== run && !one.isAppended);
      const possible = run.isAppended
        ? [[...content, ...own], ...(isReplaced ? [[...before, ...own]] : [])]
        : [own];
      const others = left.filter((one) => one !== run);
      return possible.some((rows) => explains(rows, others));
    });
  };
  if (!explains(before, runs)) {
    fail(
      `${output} had ${before.length} rows (${shortened(before)}), and has ${after.length} (${shortened(after)})`,
    );
  }
  for (const run of runs) {
    const { name } = run.order;
    const rows = after.filter((row) => isRowOf(row, name));
    const old = before.filter((row) => isRowOf(row, name));
    if (rows.length === 0 || (rows.join() === old.join() && !mustPlace(run))) continue;
    // A list is added when there is nothing more to ask for: that is its end.
    if (run.isAppended && run.order.kind === 'list' && run.result.code !== null) run.order.hasEnded = true;
    if (run.isAppended) run.order.addedTo.add(output);
    checkWhole(world, run, rows);
  }
}

const shortened = (rows: readonly string[]): string =>
  rows.length < 8 ? rows.join(', ') : `${rows.slice(0, 3).join(', ')} … ${rows.slice(-3).join(', ')}`;

/** The rows that an order has in a file are all it has, each once. */
function checkWhole({ service }: World, { order, result }: Ended, rows: readonly string[]): void {
  const { count, kept, kind, name } = order;
  const twice = rows.find((row, at) => rows.indexOf(row) !== at);
  if (twice !== undefined) fail(`${twice} is there twice`);
  if (kind === 'list') {
    const expected = rowsOf(name, count);
    if (rows.map((row) => row.split(': ')[0]).join() !== expected.join()) fail(`${name}: ${rows.join(', ')}`);
    for (const [at, row] of rows.entries()) {
      const [text = '', answer = ''] = row.split(': ');
      const isAnswered = answer === `${text}@example.com`;
      if (answer !== '' && !isAnswered) fail(`${name}: row ${at} has the answer ${answer}`);
      if (!isAnswered && (result.code === 0 || kept.has(text))) fail(`${text} has no answer`);
    }
    return;
  }
  const sold = service.purchases.filter(({ subject }) => subject === name).flatMap(({ leads }) => leads);
  for (const row of rows) if (!sold.includes(row)) fail(`nobody has sold ${row}`);
  for (const lead of kept) if (!rows.includes(lead)) fail(`${lead} was kept, and is not there`);
  const last = service.purchases.findLast(({ subject }) => subject === name)?.leads ?? [];
  if (kind === 'fetch') {
    if (rows.join() !== last.slice(0, rows.length).join()) fail(`${name}: ${rows.join(', ')}`);
  } else if (kind === 'task' && rows.join() !== last.join())
    fail(`${name}: ${rows.length} of ${last.length} leads`);
  else if (last.some((lead) => !rows.includes(lead)) && result.code === 0)
    fail(`${name}: not all leads are there`);
}

const hasRows = (bytes: Buffer): boolean => tokensIn(bytes.toString('latin1')).length > 0;

/** No run touches the temporary file of another, and runs that have ended leave none. */
function checkParts(
  { folder, outputs, parts }: World,
  names: readonly string[],
  runs: readonly Ended[],
): void {
  const running = new Set(runs.map(({ order }) => order));
  const isFree = (part: Part): boolean => [...part.owners].some(({ kind }) => kind === 'fetch');
  for (const [name, part] of [...parts]) {
    const isOwn = [...part.owners].some((order) => running.has(order));
    if (!names.includes(name)) {
      const isOver = [...part.owners].some(({ hasEnded, isStored }) => hasEnded && isStored);
      if (!isOwn && !isOver && !isFree(part)) fail(`${name} is gone`);
      parts.delete(name);
      continue;
    }
    const bytes = readFileSync(join(folder, name));
    if (!isOwn && !bytes.equals(part.bytes)) fail(`${name} has changed`);
    part.bytes = bytes;
  }
  for (const name of names) {
    if (parts.has(name)) continue;
    const makers = runs.filter(({ output }) => isPartOf(name, output)).map(({ order }) => order);
    if (makers.length === 0) fail(`${name} has appeared`);
    parts.set(name, { bytes: readFileSync(join(folder, name)), owners: new Set(makers) });
  }
  for (const [name, part] of parts) {
    const isLeft = [...part.owners].every(({ hasEnded, isStored }) => hasEnded && isStored);
    // One that was made right before a kill, before anything was sent, has no rows, and stays until its operation is pruned.
    if (isLeft && hasRows(part.bytes))
      fail(`${name} is left, and ${[...part.owners].map((one) => one.name).join(', ')} has ended`);
    // An interrupted run says where its rows are.
    const run = runs.find(({ order }) => part.owners.has(order) && part.owners.size === 1);
    const isStopped = run?.order.kind !== 'fetch' && [3, 130, 143].includes(run?.result.code ?? 0);
    const output = outputs.find((one) => isPartOf(name, one));
    if (isStopped && hasRows(part.bytes) && run?.output === output && !run?.result.stderr.includes(name))
      fail(`${name} is not named`);
  }
}

/** Earlier and new rows are still there: in a file, a temporary file, or the history. */
async function checkKept(world: World, order: Order, runs: readonly Ended[], before: number): Promise<void> {
  const { envs, files, parts, service } = world;
  const { hasEnded, isStored, kind, name, operation, state } = order;
  const places = [
    ...[...parts.values()].map(({ bytes }) => bytes.toString('latin1')),
    ...[...files.values()].map((rows) => rows.join('\n')),
  ];
  if (operation !== undefined)
    places.push(
      (await runInProcess(['history', 'show', operation, '-f', 'jsonl'], { env: envs[state] ?? {} })).stdout,
    );
  const now = new Set(places.flatMap(tokensIn).filter((token) => isRowOf(token, name)));
  const run = runs.find((one) => one.order === order);
  const news = service.purchases
    .slice(before)
    .filter(({ subject }) => subject === name || isRowOf(subject, name));
  const hasStopped = run?.signal !== undefined || run?.result.code === null;
  const arrived = kind === 'task' || hasStopped ? [] : news.flatMap(({ sent }) => sent);
  // What is stored nowhere else is in the file, which others may replace once it is there.
  const isAlone = runs.every((one) => one === run || one.output !== run?.output);
  const mayBeReplaced = !isStored && hasEnded && !(run !== undefined && isAlone);
  // A page that was not written down yet is read again, for free.
  const isReadAgain = kind === 'task' && !hasEnded;
  if (!mayBeReplaced && !isReadAgain) {
    for (const one of [...order.kept, ...arrived])
      if (!now.has(one)) fail(`${one} of a ${kind} was paid for, and is nowhere`);
  }
  order.kept = now;
}

/** Everybody who tells a cost tells the same, and no less than what was charged. */
async function checkCosts(
  world: World,
  state: number,
  history: readonly Record<string, unknown>[],
  runs: readonly Ended[],
): Promise<void> {
  const { envs, service, unstored } = world;
  const env = envs[state] ?? {};
  const sum = (records: readonly Record<string, unknown>[]): number =>
    records.reduce((total, { credits_at_most: credits }) => total + Number(credits ?? Number.NaN), 0);
  const chargedFor = ({ name }: Order): number =>
    service.purchases
      .filter(({ subject }) => subject === name || isRowOf(subject, name))
      .reduce((total, { credits }) => total + credits, 0);
  for (const { order, result, summary } of runs) {
    if (order.state !== state || order.kind === 'fetch') continue;
    const records = history.filter((one) => isOperationOf(one, order));
    const closing = /· cost at most (\d+) credit/.exec(result.stderr)?.[1];
    const told = existsSync(summary) ? JSON.parse(readFileSync(summary, 'utf8')).credits_at_most : undefined;
    if (!order.isStored) {
      const [least = 0, most = 0] = unstored[state] ?? [];
      const charged = chargedFor(order);
      unstored[state] =
        told === undefined ? [least + charged, most + order.count] : [least + told, most + told];
      if (told !== undefined && told < charged)
        fail(`${order.name}: ${charged} were charged, ${told} are told`);
    } else {
      if (sum(records) < chargedFor(order))
        fail(`${order.name}: ${chargedFor(order)} were charged, the history says ${sum(records)}`);
      if (records.length === 1 && order.runs === 1 && told !== undefined && told !== sum(records))
        fail(`${order.name}: the summary says ${told}, the history ${sum(records)}`);
    }
    if (closing !== undefined && told !== undefined && Number(closing) !== told)
      fail(`${order.name}: the closing line says ${closing}, the summary ${told}`);
  }
  const totals = await historyOf(env, 'totals');
  if (sum(totals.records) !== sum(history))
    fail(`the totals say ${sum(totals.records)}, the history ${sum(history)}`);
  const { stderr } = await runInProcess(['balance'], { env, stderrIsTerminal: true });
  const [, today = '0'] = /Used today: at most (\d+) credit/.exec(stderr) ?? [];
  const [least = 0, most = 0] = unstored[state] ?? [];
  const day = Number(today) - sum(history);
  if (day < least || day > most)
    fail(`the day says ${today}, the history ${sum(history)}, and without history it is ${least} to ${most}`);
}
