import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { contactResult } from '../helpers/bodies.ts';
import { machineClock } from '../helpers/clock.ts';
import { ending } from '../helpers/ending.ts';
import { cutting, errorAnswer, jsonAnswer } from '../helpers/fault-server.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { createGate, type RowService, startRowService } from '../helpers/row-service.ts';
import { resultOf, until } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';

/** `max_credits_per_day` counts the worst cases of all runs of this machine since midnight. */

let service: RowService;
let at: Machine;
beforeEach(async () => {
  service = await startRowService({ credits: 1000, refused: new Set(['nobody']) });
  at = createMachine(service.url);
  await bought('config set price.contact.email 2');
  await bought('config set max_credits_per_day 10');
});

const bought = async (line: string) => expect(await at.leadpipe(line)).toMatchObject({ code: 0 });
const refused = async (line: string, ...says: string[]) =>
  expect(await at.leadpipe(line)).toMatchObject(
    ending(5, ...(says.length > 0 ? says : ['leadpipe config set max_credits_per_day'])),
  );
/** A list with this number of rows. */
const list = (count: number): string => {
  at.write(`${count}.txt`, Array.from({ length: count }, (_, nth) => `p${nth}\n`).join(''));
  return `contact email --input ${count}.txt -q`;
};

it('counts purchases, lists and --no-history together, and refuses the one above the limit', async () => {
  await bought('contact email a -q');
  await bought('contact email b -q --no-history');
  await refused(list(4));
  expect(service.charged.size).toBe(2);
  await bought(list(3));
  expect(service.charged.size).toBe(5);
  await refused(
    'contact email c -q',
    'leadpipe config set max_credits_per_day',
    'only 0 are left of the 10 for today',
    'charged: no',
  );
  expect(service.charged.size).toBe(5);
});

it('counts a purchase without a record that was killed, also when the index is made anew', async () => {
  const { gate, open } = createGate('"a"');
  service = await startRowService({ gate });
  at = createMachine(service.url);
  writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 3 });
  const child = at.start('contact email a --no-history');
  const ended = resultOf(child);
  await until(() => service.requests() === 1);
  child.kill('SIGKILL');
  await ended;
  for (const _ of [1, 2]) {
    await refused('contact email b', 'only 1 is left of the 3 for today');
    rmSync(join(at.state, 'index'), { recursive: true, force: true });
  }
  open();
});

it('says how many rows of a list fit, and buys those', async () => {
  await bought('contact email a -q');
  const refusal =
    'To allow more: leadpipe config set max_credits_per_day <credits>, or buy what fits with --first';
  await refused(`${list(7)} -o out.csv`, `${refusal} 4`);
  await refused(`${list(7)} -o out.csv --dry-run`, `${refusal} 4`);
  await bought(`${list(7)} -o out.csv --first 2`);
  await refused(`${list(7)} -o out.csv`, `${refusal} 4`);
  await bought(`${list(7)} -o out.csv --first 4`);
  expect(service.charged.size).toBe(5);
  // Nothing fits any more.
  await refused(`${list(7)} -o out.csv`, 'leadpipe config set max_credits_per_day <credits>\n');
});

it('buys rows of standard input up to the limit of the day', async () => {
  await bought('contact email a -q');
  const stdin = 'p1\np2\np3\np4\np5\np6\n';
  expect((await at.leadpipe('contact email --input - -q', { stdin })).code).toBe(5);
  expect(service.charged.size).toBe(5);
});

it('reserves the rest of the day while rows of standard input are bought, and then counts only those', async () => {
  const { gate, open } = createGate();
  service = await startRowService({ gate });
  at = createMachine(service.url);
  writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 10 });
  const rows = at.leadpipe('contact email --input - -q', { stdin: 'p1\np2\n' });
  await until(() => service.requests() === 2);
  await refused('contact email a -q', 'only 0 are left of the 10 for today');
  open();
  expect(await rows).toMatchObject({ code: 0 });
  await bought(`${list(3)} --dry-run`);
  await refused(`${list(4)} --dry-run`);
});

describe('a list whose rows can not be counted', () => {
  const rows = (count: number): string => Array.from({ length: count }, (_, nth) => `p${nth}\n`).join('');
  const line = 'contact email --input - -q -o out.jsonl --concurrency 4';
  const withRows = async (gate?: (body: string) => Promise<void> | undefined) => {
    service = await startRowService({ credits: 1000, ...(gate && { gate }) });
    at = createMachine(service.url);
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 200 });
  };

  it('reserves only its next rows, and then counts the rows it bought', async () => {
    const { gate, open } = createGate();
    await withRows((body) => (/p[2-5]\d/.test(body) ? gate(body) : undefined));
    const list = at.leadpipe(line, { stdin: rows(60) });
    await until(() => service.requests() === 24);
    // 25 rows were counted before they came, and 25 more.
    await bought('contact email other -q');
    await bought(`search company x --limit 98 --dry-run`);
    await refused(`search company x --limit 99 --dry-run`, 'only 98 are left of the 200 for today');
    open();
    expect(await list).toMatchObject({ code: 0 });
    expect(service.charged.size).toBe(61);
    await bought(`search company x --limit 78 --dry-run`);
    await refused(`search company x --limit 79 --dry-run`);
  });

  it('buys as many rows as the day has credits for, and is resumed on another day', async () => {
    await withRows();
    const { code, stderr } = await at.leadpipe(line, { stdin: rows(120) });
    expect({ code, stderr }).toMatchObject(ending(5, 'nothing is left for today'));
    expect(service.charged.size).toBe(100);
    const tomorrow = { ...machineClock, now: () => new Date(Date.now() + 86_400_000) };
    expect(await at.leadpipe(line, { stdin: rows(120), context: { clock: tomorrow } })).toMatchObject({
      code: 0,
    });
    expect(service.charged.size).toBe(120);
  });

  it('ends at the limit of the run, and names that', async () => {
    await withRows();
    const { code, stderr } = await at.leadpipe(`${line} --max-credits 61`, { stdin: rows(60) });
    expect({ code, stderr }).toMatchObject(
      ending(5, 'the next row can cost 2 credits', '1 is left of the limit of 61'),
    );
    expect(service.charged.size).toBe(30);
  });

  it('does not cost more than the day has where the limit of the run is a little higher', async () => {
    await withRows();
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 5 });
    const { code, stderr } = await at.leadpipe(`${line} --max-credits 6`, { stdin: rows(4) });
    expect({ code, stderr }).toMatchObject(ending(5, 'left for today'));
    expect(service.charged.size).toBe(2);
  });

  it('never costs more than the day has, with others at the same time', async () => {
    await withRows();
    const all = [0, 1, 2].map(async (nth) => {
      const own = `contact email --input - -q -o ${nth}.jsonl`;
      return await at.leadpipe(own, { stdin: rows(60).replaceAll('p', `q${nth}-`) });
    });
    const codes = (await Promise.all(all)).map(({ code }) => code);
    expect(codes.every((code) => code === 0 || code === 5)).toBe(true);
    expect(service.charged.size).toBe(100);
  });

  it('is named while it runs, if it began without a limit: its cost is not known', async () => {
    const { gate, open } = createGate('p1');
    await withRows(gate);
    await bought('config unset max_credits_per_day');
    const list = at.leadpipe(line, { stdin: rows(2) });
    await until(() => service.requests() === 2);
    await bought('config set max_credits_per_day 10');
    const [{ operation_id } = {}] = await at.history();
    await refused('contact email other -q', 'how many rows it has bought', `history drop ${operation_id}`);
    open();
    expect(await list).toMatchObject({ code: 0 });
    await bought('search company x --limit 6 --dry-run');
    await refused('search company x --limit 7 --dry-run');
  });

  it('counts, when it is killed, only the rows that it had sent', async () => {
    const { gate, open } = createGate('p2');
    await withRows(gate);
    const child = at.start(line, {}, rows(60));
    await until(() => service.requests() > 2);
    child.kill('SIGKILL');
    await resultOf(child);
    open();
    const [{ credits_at_most } = {}] = await at.history();
    expect(credits_at_most).toBeGreaterThanOrEqual(6);
    await bought(`search company x --limit ${200 - Number(credits_at_most)} --dry-run`);
    await refused(`search company x --limit ${201 - Number(credits_at_most)} --dry-run`);
  });
});

it('buys no row that was added to the file after counting', async () => {
  const { gate, open } = createGate();
  service = await startRowService({ gate });
  at = createMachine(service.url);
  writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 10 });
  // There are enough rows that the last ones are not read while the first is bought.
  const others = Array.from({ length: 400 }, () => `Ada,ada@acme.example,${'x'.repeat(2000)}\n`);
  at.write('grows.csv', `objective,email,note\nBo,,\n${others.join('')}`);
  const rows = at.leadpipe('contact email --input grows.csv --only-missing -o out.csv -q');
  await until(() => service.requests() === 1);
  appendFileSync(at.pathOf('grows.csv'), 'Cy,,\n');
  open();
  expect(await rows).toMatchObject(ending(5, 'the next row can cost 2 credits'));
  expect(service.charged.size).toBe(1);
});

it('is not passed by several runs at the same time', async () => {
  const runs = Array.from({ length: 8 }, (_, nth) => at.run(`contact email p${nth} -q`));
  const codes = (await Promise.all(runs)).map(({ code }) => code);
  expect(codes.sort()).toEqual([0, 0, 0, 0, 0, 5, 5, 5]);
  expect(service.charged.size).toBe(5);
});

it('refuses a preview of a purchase that it would refuse', async () => {
  await bought('contact email a -q');
  await bought(`${list(4)} --dry-run`);
  await refused(`${list(5)} --dry-run`);
  await bought('config set max_credits_per_day 3');
  await refused('contact email b --dry-run');
  expect(service.charged.size).toBe(1);
});

describe('counts nothing', () => {
  it('of a purchase that was refused, by the service or before', async () => {
    for (const more of ['', ' --no-history', ''])
      expect((await at.leadpipe(`contact email nobody -q${more}`)).code).toBe(2);
    expect((await at.leadpipe('contact email a -q --max-credits 1')).code).toBe(5);
    at.write('some.txt', 'a\nnobody\nb\n');
    expect((await at.leadpipe('contact email --input some.txt -q')).code).toBe(3);
    await bought(`${list(3)} --dry-run`);
    await refused(`${list(4)} --dry-run`);
  });

  it('of purchases with --local, which it never refuses', async () => {
    await bought(`${list(4)} --local`);
    await bought('contact email a --local -q');
    // This has no price.
    await bought('contact phone a --local -q');
    await bought(list(5));
    expect(service.charged.size).toBe(5);
  });

  it('for unsent rows of a list that was dropped', async () => {
    const { gate, open } = createGate('p2');
    service = await startRowService({ gate });
    at = createMachine(service.url);
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 100 });
    const child = at.start(`${list(40)} -o out.csv --concurrency 1`);
    await until(() => service.requests() === 3);
    child.kill('SIGKILL');
    await resultOf(child);
    open();
    const [{ operation_id, credits_at_most } = {}] = await at.history();
    expect(credits_at_most).toBeGreaterThanOrEqual(6);
    expect(credits_at_most).toBeLessThanOrEqual(8);
    await bought(`history drop ${operation_id}`);
    const left = (100 - Number(credits_at_most)) / 2;
    await bought(`${list(left)} --dry-run`);
    await refused(`${list(left + 1)} --dry-run`);
  });
});

describe('a request sent again with its key', () => {
  const again = 'contact email lost --idempotency-key k';
  const clock = { ...machineClock, now: () => new Date(Date.now() + 86_400_000) };

  it('is counted already on the day on which it was sent, and counts on another one', async () => {
    service = await startRowService({ lost: new Set(['lost']) });
    at = createMachine(service.url);
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 2 });
    const sent = async (line: string, context = {}) => {
      const before = service.requests();
      const { code } = await at.leadpipe(line, { context });
      return { code, sent: service.requests() - before };
    };
    // Its first attempt was charged, and the second one is told so.
    expect(await sent(again)).toEqual({ code: 8, sent: 2 });
    expect(await sent('contact email other')).toEqual({ code: 5, sent: 0 });
    expect(await sent(`${again} --dry-run`)).toEqual({ code: 0, sent: 0 });
    expect(await sent(again)).toEqual({ code: 8, sent: 1 });
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 1 });
    expect(await sent(`${again} --dry-run`, { clock })).toEqual({ code: 5, sent: 0 });
    expect(await sent(again, { clock })).toEqual({ code: 5, sent: 0 });
  });
});

it('holds where nothing can be written down, with --no-history too', async () => {
  at.write('file', '');
  const env = { LEADPIPE_STATE_DIR: at.pathOf('file/state') };
  const line = 'contact email a --no-history';
  expect(await at.leadpipe(line, { env })).toMatchObject(ending(74, 'Nothing was sent', 'charged: no'));
  expect(service.requests()).toBe(0);
  await bought('config unset max_credits_per_day');
  expect(await at.leadpipe(line, { env })).toMatchObject({ code: 0 });
});

describe('a purchase that it refuses', () => {
  it.each([
    'search company x --limit 11 -o x.csv',
    'contact phone a',
    'task run company x --limit 11 -o x.csv',
  ])('leaves nothing: %s', async (line) => {
    await bought('config set price.contact.phone 11');
    await refused(line);
    expect(await at.history()).toEqual([]);
    expect((await at.leadpipe('resume')).stderr).toContain('There is nothing to resume.');
    expect(at.files()).toEqual([]);
    expect(readdirSync(join(at.state, 'operations'))).toEqual([]);
  });

  it('is the rest of a list, which keeps the balance of its own purchases', async () => {
    await bought(`${list(5)} -o out.csv --max-credits 10 --first 2`);
    await bought('contact email a -q');
    const before = await at.history();
    expect(before).toContainEqual(expect.objectContaining({ credits_before: 1000, credits_after: 998 }));
    await refused('resume --max-credits 100');
    expect(await at.history()).toEqual(before);
  });

  it('is the rest of a search, which stays as it was', async () => {
    const there = await machineWith(cutting);
    const line = 'search company x --limit 8 -o x.csv';
    expect((await there.leadpipe(line)).code).toBe(3);
    const before = await there.history();
    writeSettings(there.env, { max_credits_per_day: 10 });
    const sent = there.requests.length;
    expect((await there.leadpipe(line)).code).toBe(5);
    expect((await there.leadpipe('resume')).code).toBe(5);
    expect(await there.history()).toEqual(before);
    expect(there.requests.length).toBe(sent);
    writeSettings(there.env, { max_credits_per_day: 14 });
    expect((await there.leadpipe('resume')).stderr).toMatch(
      /^Resuming op_.* 2 leads stored\. Buying up to 6 more/,
    );
  });
});

it('counts a search that was killed yesterday on that day, and its rest today', async () => {
  const there = await machineWith(cutting);
  const clock = { ...machineClock, now: () => new Date(Date.now() - 86_400_000) };
  expect((await there.leadpipe('search company x --limit 8 -o x.csv', { context: { clock } })).code).toBe(3);
  const [operation = ''] = readdirSync(join(there.state, 'operations'));
  const path = join(there.state, 'operations', operation, 'journal.jsonl');
  const lines = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, lines.filter((line) => !line.includes('"terminal"')).join('\n'));
  rmSync(join(there.state, 'index'), { recursive: true });
  writeSettings(there.env, { max_credits_per_day: 20 });
  // Two of the six leads that are left come, and it is cut again.
  expect((await there.leadpipe('resume')).code).toBe(3);
  const dry = async (limit: number) =>
    (await there.leadpipe(`search company y --limit ${limit} --dry-run`)).code;
  expect([await dry(14), await dry(15)]).toEqual([0, 5]);
});

describe.each([
  ['a file', '40.txt', ''],
  ['standard input', '-', Array.from({ length: 40 }, (_, nth) => `p${nth}\n`).join('')],
])('a list from %s that was killed', (_from, input, stdin) => {
  const again = `contact email --input ${input} -q -o out.csv --concurrency 1`;
  it.each(input === '-' ? [again] : ['resume --yes', again])(
    'counts with the rows that it had sent when it is resumed: %s',
    async (resume) => {
      const { gate, open } = createGate('p2');
      service = await startRowService({ gate });
      at = createMachine(service.url);
      writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 90 });
      list(40);
      const child = at.start(again, {}, stdin);
      await until(() => service.requests() === 3);
      child.kill('SIGKILL');
      await resultOf(child);
      open();
      // The answer of the row that was in doubt is lost.
      expect((await at.leadpipe(resume, { stdin })).code).toBe(3);
      expect(service.charged.size).toBe(40);
      // Also counts the row that may have been stored to be sent when the run was killed.
      await refused(`${list(6)} --dry-run`);
      await bought(`${list(5)} --dry-run`);
    },
  );

  it('is settled once: a second kill counts the rows sent after the first', async () => {
    const gates = [createGate('p2'), createGate('p6')];
    service = await startRowService({ gate: (body) => gates.map(({ gate }) => gate(body)).find(Boolean) });
    at = createMachine(service.url);
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 90 });
    list(40);
    for (const [nth, requests] of [3, 8].entries()) {
      const child = at.start(again, {}, stdin);
      await until(() => service.requests() === requests);
      child.kill('SIGKILL');
      await resultOf(child);
      gates[nth]?.open();
    }
    expect((await at.leadpipe(again, { stdin })).code).toBe(3);
    expect(service.charged.size).toBe(40);
    await refused(`${list(6)} --dry-run`);
    await bought(`${list(5)} --dry-run`);
  });
});

it.each([
  ['a file', '--input 10.txt', 4],
  ['standard input, bought up to the limit', '--input -', 7],
])('leaves --max-credits as it is, which is one for all runs of a list: %s', async (_, input, most) => {
  await bought('config set max_credits_per_day 22');
  list(10);
  const stdin = at.read('10.txt');
  const rows = `contact email ${input} -q -o out.csv --concurrency 1`;
  await at.leadpipe(`${rows} --first 4`, { stdin });
  const run = async (limit: number) => (await at.leadpipe(`${rows} --max-credits ${limit}`, { stdin })).code;
  expect({ code: await run(15), rows: service.charged.size }).toEqual({ code: 5, rows: most });
  expect({ code: await run(20), rows: service.charged.size }).toEqual({ code: 0, rows: 10 });
});

it('counts the rows of a list that was dropped after several runs once', async () => {
  const rows = `${list(4)} -o out.csv`;
  await bought(`${rows} --first 2`);
  await bought(`${rows} --first 3`);
  const [left] = await at.history();
  await bought(`history drop ${left?.operation_id}`);
  await bought(`${list(2)} --dry-run`);
  await refused(`${list(3)} --dry-run`);
});

it('counts a search that was cut and dropped, since its cost is unknown', async () => {
  const there = await machineWith(cutting);
  writeSettings(there.env, { max_credits_per_day: 10 });
  expect((await there.leadpipe('search company x --limit 6 -o x.csv')).code).toBe(3);
  const [{ operation_id } = {}] = await there.history();
  expect((await there.leadpipe(`history drop ${operation_id}`)).code).toBe(0);
  expect((await there.leadpipe('search company y --limit 4 --dry-run')).code).toBe(0);
  expect((await there.leadpipe('search company y --limit 5 --dry-run')).code).toBe(5);
});

it.each([
  ['of this day', 0, 4],
  ['of yesterday, of which only the rest is of this day', 1, 8],
])('adds up the parts of a list that was resumed, %s', async (_, days, left) => {
  let credits = 4;
  const there = await machineWith((socket) => {
    const answer = jsonAnswer(contactResult('email', 'x', 'a@b.example'));
    socket.write(credits-- > 0 ? answer : errorAnswer('402 Payment Required', 'insufficient_credits', 'no'));
  });
  writeSettings(there.env, { 'price.contact.email': 2, max_credits_per_day: 20 });
  for (const count of [6, left, left + 1]) {
    there.write(`${count}.txt`, Array.from({ length: count }, (_, nth) => `p${nth}\n`).join(''));
  }
  const before = { ...machineClock, now: () => new Date(Date.now() - days * 86_400_000) };
  const list = 'contact email --input 6.txt -o out.jsonl --concurrency 1';
  expect((await there.leadpipe(list, { context: { clock: before } })).code).toBe(5);
  credits = 2;
  expect((await there.leadpipe(list)).code).toBe(0);
  expect((await there.leadpipe(`contact email --input ${left}.txt --dry-run`)).code).toBe(0);
  expect((await there.leadpipe(`contact email --input ${left + 1}.txt --dry-run`)).code).toBe(5);
});

it.each([
  ['begins at midnight there', '2026-01-15T23:30-05:00', '2026-01-16T00:30-05:00', 0],
  ['ends at midnight there', '2026-01-15T18:30-05:00', '2026-01-15T23:30-05:00', 5],
  ['begins before the clocks are set ahead', '2026-03-07T23:30-05:00', '2026-03-08T12:00-04:00', 0],
  ['begins before they are set back', '2026-11-01T00:30-04:00', '2026-11-01T12:00-05:00', 5],
])('a day of this machine %s', async (_, first, second, code) => {
  await bought('config set max_credits_per_day 2');
  const buy = (time: string, name: string) =>
    at.run(`contact email ${name} -q`, {
      TZ: 'America/New_York',
      NODE_OPTIONS: `--import ${join(import.meta.dirname, '../soak/clock-preload.mjs')}`,
      CLOCK_AHEAD_MS: String(Date.parse(time) - Date.now()),
    });
  expect(await buy(first, 'a')).toMatchObject({ code: 0 });
  expect(await buy(second, 'b')).toMatchObject({ code });
});

it('refuses what has no price, naming its setting', () => refused('contact phone a', 'price.contact.phone'));

describe('purchases before their price was set', () => {
  const unpriced = async (line: string) => {
    await bought('config unset price.contact.email');
    await bought('config unset max_credits_per_day');
    await bought(line);
    await bought('config set max_credits_per_day 10');
    await bought('config set price.contact.phone 1');
  };

  it.each([
    ['a purchase', 'contact email a -q', 4],
    ['one without a record', 'contact email a -q --no-history', 4],
    ['a list', 'contact email --input 3.txt -q', 2],
  ])('%s is named, and counts as soon as it is', async (_, line, left) => {
    list(3);
    await unpriced(line);
    const { code, stderr } = await at.leadpipe('contact phone b', { stderrIsTerminal: true, columns: 300 });
    expect(code).toBe(5);
    const what = line.includes('--input') ? 'contact list' : 'contact';
    expect(stderr).toMatch(
      RegExp(`${what} of \\d\\d:\\d\\d \\(op_\\w+\\) counts for today, but its cost is not known, so`),
    );
    expect(stderr).toContain(
      'Set the price, so that its cost counts: leadpipe config set price.contact.email <credits>\n',
    );
    const used = await at.leadpipe('balance', { stderrIsTerminal: true, columns: 300 });
    expect(used.stderr).toContain('Used today: at most 0 credits (without 1 purchase of unknown cost).');
    await bought('config set price.contact.email 2');
    await bought(`${list(left)} --dry-run`);
    await refused(`${list(left + 1)} --dry-run`);
  });

  it('counts as the rows that were sent when a list that was killed is dropped', async () => {
    const { gate, open } = createGate('p2');
    service = await startRowService({ gate });
    at = createMachine(service.url);
    const child = at.start(`${list(40)} -o out.csv --concurrency 1`);
    await until(() => service.requests() === 3);
    child.kill('SIGKILL');
    await resultOf(child);
    open();
    writeSettings(at.env, { 'price.contact.email': 2, max_credits_per_day: 20 });
    const [{ operation_id } = {}] = await at.history();
    // Of one that was killed, it is known which rows were sent.
    await bought(`${list(6)} --dry-run`);
    await bought(`history drop ${operation_id}`);
    const [{ credits_at_most } = {}] = await at.history();
    // It was sent without a price, so its own record does not say what it cost.
    expect(credits_at_most).toBeNull();
    await bought(`${list(6)} --dry-run`);
    await refused(`${list(8)} --dry-run`);
  });
});

it('is shown on a terminal with the balance and the totals, and nowhere else', async () => {
  await bought('contact email a -q');
  await bought(`${list(2)}`);
  for (const line of ['balance', 'history totals']) {
    expect((await at.leadpipe(line, { stderrIsTerminal: true })).stderr).toContain(
      'Used today: at most 6 credits. Your limit for a day is 10; purchases with\n--no-history count, too.\n',
    );
    expect((await at.leadpipe(line)).stderr).not.toContain('Used today');
  }
  await bought('contact phone a --local -q');
  expect((await at.leadpipe('balance --local', { stderrIsTerminal: true })).stderr).not.toContain(
    'Used today',
  );
});
