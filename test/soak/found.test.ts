import { createServer } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { listening } from '../helpers/listening.ts';
import { createMachine } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';
import { startCountingService } from './counting-service.ts';
import { simulate, startSimulated } from './simulated.ts';
import { live, type Told } from './story.ts';

beforeAll(simulate);

/** Every change at which a run can be stopped, in place of some of them. */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';
const step = exhaustive ? 1 : 4;

/** Faults that random runs have found, as short tests. */
it('rows that another operation of a named run has bought are added to a file once', async () => {
  const service = await startCountingService(false);
  const { env, pathOf, read, write } = createMachine(service.url);
  const [list, days] = [pathOf('list.jsonl'), pathOf('days.jsonl')];
  // The second row can't be sent, so that the list is never complete.
  write('list.jsonl', '{"objective":"Ada"}\n{"objective":""}\n');
  const contacts = (...more: string[]) =>
    runInProcess(['contact', 'email', '--input', list, '--run', 'october', ...more], { env });
  expect((await contacts('-o', pathOf('own.jsonl'))).code).toBe(3);
  expect((await contacts('-o', days, '--append')).code).toBe(3);
  const once = read('days.jsonl');
  expect(once).toContain('Ada@example.com');
  await contacts('-o', days, '--append');
  // Neither the row with its answer nor the one that can't be sent.
  expect(read('days.jsonl')).toBe(once);
});

it('a search that is completed from what is stored adds its rows once, wherever it is killed', async () => {
  const service = await startCountingService(false);
  const old = '{"name":"old"}\n';
  /** Runs the same search, killed at these changes, and then to its end. */
  async function live(...kills: readonly number[]) {
    const { env, pathOf, read, write } = createMachine(service.url);
    const rowsOf = (): string => read('days.jsonl');
    write('days.jsonl', old);
    const args = ['search', 'company', 'any', '--limit', '3', '-o', pathOf('days.jsonl'), '--append'];
    const before = service.purchases.length;
    const results = [];
    for (const killAt of [...kills, 0]) {
      const run = startSimulated({ args, env, killAt, clockAheadMs: 0 });
      const { code } = await run.ended;
      results.push({ code, rows: rowsOf(), changes: run.changes() });
    }
    return { results, rows: rowsOf(), purchases: service.purchases.length - before };
  }
  // The last moments at which all leads are stored, and the file is as it was.
  const { results: undisturbed, rows: whole } = await live();
  expect(whole.split('\n').length).toBe(5);
  const firsts: number[] = [];
  for (let at = undisturbed[0]?.changes ?? 0; ; at -= exhaustive ? 1 : 2) {
    const { results, purchases } = await live(at);
    if (purchases === 1 && results[0]?.rows === old) firsts.push(at);
    // Before that, its rest has to be bought.
    else if (firsts.length > 0) break;
  }
  for (const [nth, first] of [firsts.at(-1) ?? 0, firsts[0] ?? 0].entries()) {
    for (let at = 1 + (exhaustive ? 0 : 2 * nth); ; at += step) {
      const { results, rows, purchases } = await live(first, at);
      // Behind its end the same command is a new purchase.
      if (results[1]?.code !== null || purchases > 1) break;
      expect({ first, at, rows }).toEqual({ first, at, rows: whole });
    }
  }
}, 120_000);

it('a list resumes its own operation, even if a newer one of the same file was killed before it sent anything', async () => {
  const service = await startCountingService(false);
  for (let killAt = 1; ; killAt += exhaustive ? 1 : 2) {
    const { env, pathOf, write } = createMachine(service.url);
    // The second row can't be sent, so that the list is never complete.
    write('ours.jsonl', '{"objective":"Ada"}\n{"objective":""}\n');
    write('theirs.jsonl', '{"objective":"Grace"}\n');
    const contacts = (input: string) => [
      ...['contact', 'email', '--input', pathOf(input)],
      ...['-o', pathOf('days.jsonl'), '--append'],
    ];
    const before = service.purchases.length;
    await runInProcess(contacts('ours.jsonl'), { env });
    const theirs = startSimulated({ args: contacts('theirs.jsonl'), env, killAt, clockAheadMs: 0 });
    const { code } = await theirs.ended;
    await runInProcess(contacts('ours.jsonl'), { env });
    const paid = service.purchases.slice(before).map(({ subject }) => subject);
    expect({ killAt, ours: paid.filter((subject) => subject === 'Ada') }).toEqual({ killAt, ours: ['Ada'] });
    if (code !== null || paid.includes('Grace')) break;
  }
}, 120_000);

it('runs that buy a lost answer again at the same time buy it once', async () => {
  const service = await startCountingService(false);
  const { env, pathOf, write } = createMachine(service.url);
  write('list.jsonl', '{"objective":"Ada"}\n');
  const args = ['contact', 'email', '--input', pathOf('list.jsonl'), '--run', 'october', '--retry-unknown'];
  const killed = startSimulated({ args, env, clockAheadMs: 0 });
  service.onPurchase = killed.kill;
  await killed.ended;
  service.onPurchase = () => {};
  // The answer to its key is not given again.
  expect((await runInProcess(args, { env })).code).toBe(3);
  const codes = await Promise.all(
    [1, 2, 3].map(async () => (await startSimulated({ args, env, clockAheadMs: 0 }).ended).code),
  );
  expect({ paid: service.purchases.length, codes: codes.sort() }).toEqual({ paid: 2, codes: [0, 3, 3] });
});

it('a row whose answer was lost before the service had no room is sent again with its key, wherever it is in the list', async () => {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    keys.push(String(request.headers['idempotency-key']));
    if (keys.length === 1) response.socket?.destroy();
    else if (keys.length < 4)
      response.writeHead(429, { 'retry-after': keys.length === 2 ? '0' : '3600' }).end();
    else response.writeHead(409).end('{"error":{"type":"request_already_exists","message":"known"}}');
  });
  const { env, pathOf, write } = createMachine((await listening(server)).url);
  const args = ['contact', 'email', '--input', pathOf('list.jsonl'), '--run', 'october'];
  write('list.jsonl', '{"objective":"Ada"}\n');
  const first = await runInProcess(args, { env });
  write('list.jsonl', '{"objective":""}\n{"objective":"Ada"}\n');
  const second = await runInProcess(args, { env });
  expect([first.code, second.code, new Set(keys).size]).toEqual([75, 3, 1]);
  expect(second.stderr).toContain('may be charged');
});

it('a run that wakes up after another one has taken over its output buys nothing, wherever it slept', async () => {
  const service = await startCountingService(false);
  for (let sleepAt = 1, isOver = false; !isOver; sleepAt += step) {
    const { env, pathOf, read, write } = createMachine(service.url);
    // The last row can't be sent, so that the list is never complete.
    write('list.jsonl', '{"objective":"Ada"}\n{"objective":"Grace"}\n{"objective":""}\n');
    const args = ['contact', 'email', '--input', pathOf('list.jsonl'), '-o', pathOf('out.jsonl')];
    const before = service.purchases.length;
    const other = async () => void (await startSimulated({ args, env, clockAheadMs: 0 }).ended);
    const run = startSimulated({ args, env, sleepAt, whileAsleep: other, clockAheadMs: 0 });
    await run.ended;
    isOver = run.changes() < sleepAt;
    // Whatever the one that slept has left behind is not taken for what was bought.
    await other();
    const paid = service.purchases.slice(before).map(({ subject }) => subject);
    const rows = read('out.jsonl').match(/Ada@|Grace@/g);
    const once = { paid: ['Ada', 'Grace'], rows: ['Ada@', 'Grace@'] };
    expect({ sleepAt, paid: paid.sort(), rows }).toEqual({ sleepAt, ...once });
  }
}, 120_000);

it('a run without an answer that wakes up after another one has taken over says so, wherever it slept', async () => {
  const service = await startCountingService(false);
  // Before that, nothing of the output is touched.
  for (let sleepAt = 40, isOver = false; !isOver; sleepAt += step) {
    const { env, pathOf, write } = createMachine(service.url);
    write('list.jsonl', `${JSON.stringify({ objective: 'x'.repeat(4001) })}\n`);
    // This file stays, and the rows stay in the .part.
    write('out.jsonl', '{"name":"old"}\n');
    const args = ['contact', 'email', '--input', pathOf('list.jsonl'), '-o', pathOf('out.jsonl')];
    const other = async () => void (await startSimulated({ args, env, clockAheadMs: 0 }).ended);
    const run = startSimulated({ args, env, sleepAt, whileAsleep: other, clockAheadMs: 0 });
    const { code, stderr } = await run.ended;
    isOver = run.changes() < sleepAt;
    expect([3, 75], `${sleepAt}: ${stderr}`).toContain(code);
  }
}, 120_000);

it('a disk that fails where all rows are in the file already is an error of that file', async () => {
  const service = await startCountingService(false);
  const { env, pathOf, write } = createMachine(service.url);
  write('list.jsonl', '{"objective":"Ada"}\n{"objective":""}\n');
  const args = ['contact', 'email', '--input', pathOf('list.jsonl'), '--run', 'october'];
  args.push('-o', pathOf('days.jsonl'), '--append');
  await runInProcess(args, { env });
  for (let at = 1, isOver = false; !isOver; at++) {
    const run = startSimulated({ args, env, fault: { mode: 'EIO', at }, clockAheadMs: 0 });
    const { code, stderr } = await run.ended;
    isOver = run.changes() < at;
    expect([3, 74], `${at}: ${stderr}`).toContain(code);
  }
}, 120_000);

it('rows that were to be sent when the disk failed count for the day, since the next run sends them', async () => {
  const service = await startCountingService(false);
  for (let at = 1, isOver = false; !isOver; at += step) {
    const { env, pathOf } = createMachine(service.url);
    writeSettings(env, { max_credits_per_day: 6, 'price.contact.email': 1 });
    const args = ['contact', 'email', '--input', '-', '--concurrency', '3', '-o', pathOf('out.jsonl')];
    const before = service.purchases.length;
    const stdin = 'a\nb\nc\nd\ne\nf\ng\nh\ni\n';
    const run = startSimulated({ args, env, stdin, fault: { mode: 'EIO', at }, clockAheadMs: 0 });
    await run.ended;
    isOver = run.changes() < at;
    await startSimulated({ args, env, stdin, clockAheadMs: 0 }).ended;
    // Where the end could not be written down either, all of the first run counts.
    expect(service.purchases.length - before, String(at)).toBeLessThanOrEqual(6);
  }
}, 120_000);

it('the most that the rest of a killed list can cost has the rows that were to be sent', async () => {
  const service = await startCountingService(false);
  for (const nth of [1, 2, 4]) {
    const { env, pathOf, write } = createMachine(service.url);
    writeSettings(env, { 'price.contact.email': 1 });
    write('list.txt', 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n');
    const args = ['contact', 'email', '--input', pathOf('list.txt'), '--concurrency', '3'];
    const killed = startSimulated({ args: [...args, '-o', pathOf('out.jsonl')], env, clockAheadMs: 0 });
    let left = nth;
    service.onPurchase = () => --left === 0 && killed.kill();
    await killed.ended;
    service.onPurchase = () => {};
    const before = service.purchases.length;
    const { stderr } = await runInProcess('resume', { env });
    const [, most = 0] = /The rest can cost at most (\d+) credits/.exec(stderr) ?? [];
    const paid = service.purchases.length - before;
    expect({ nth, isCovered: paid > 0 && paid <= Number(most), stderr }).toMatchObject({ isCovered: true });
  }
});

it.each([
  // A search in a file that a task was adding to, refused by the limit of the day, and then the task again.
  [
    'a run that is refused when it has opened the file of another one leaves none of its rows there',
    '1b6a60ce-10',
    20,
  ],
  // A task that was stopped before its creation was sent, and resumed when the limit of the day was used up.
  ['a task that was never sent counts for the day when it is sent', 'b9f3554e-157', 40],
])('%s', async (_, seed, runs) => {
  const told: Told = { runs: 0, real: 0, endings: new Map() };
  await live(seed, runs, 0, told);
  expect(told.runs).toBeGreaterThan(15);
});
