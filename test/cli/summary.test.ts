import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { faultyWith } from '../durability/faulty-run.ts';
import { ending } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { cutting, notFound, searchFrames, startFaultServer, wholeStream } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { inShell, resultOf, until } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';

/** `--summary` says how a run ended, however it ended. */

const file = 'summary.json';
let check: ValidateFunction;
let members: string[];
beforeAll(async () => {
  const { stdout } = await runInProcess('help formats');
  const [, text = ''] = stdout.match(/^ {2}\{$[\s\S]*?^ {2}\}$/gm) ?? [];
  const schema = JSON.parse(text);
  members = Object.keys(schema.properties);
  check = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema);
});

let at: Machine | undefined;
afterEach(() => {
  // Nothing is left beside it, and every object has every member.
  expect(at?.files().filter((name) => name.startsWith(`${file}.`)) ?? []).toEqual([]);
  at = undefined;
});

function summaryOf(machine: Machine, name = file) {
  at = machine;
  const text = readFileSync(machine.pathOf(name), 'utf8');
  expect(text).toMatch(/^\{.*\}\n$/);
  const summary = JSON.parse(text);
  check(summary);
  expect(check.errors).toBeNull();
  expect(Object.keys(summary)).toEqual(members);
  return summary;
}

const resumable = {
  resume: expect.stringMatching(/^leadpipe resume op_\w+$/),
  operation_id: expect.stringMatching(/^op_/),
};
const free = { charged: 'no', credits_at_most: 0 };
const nothing = { ...free, operation_id: null, resume: null, leads: null, rows: null };
const price = { 'price.contact.email': 3 };
const found = { name: 'contact', state: 'complete', exit: 0, error: null, charged: 'yes', resume: null };

describe('a run that ends by itself', () => {
  it.each<[string, string, object, object?]>([
    [
      'a look-up',
      'contact email a',
      { ...found, command: 'contact', credits_at_most: 3, request_id: 'req_1' },
      price,
    ],
    ['one without a price', 'contact email a', { state: 'complete', charged: 'yes', credits_at_most: null }],
    [
      'a limited one',
      'contact email a --max-credits 3',
      { credits_before: 40, credits_after: 39, credits_at_most: 3 },
      price,
    ],
    ['one without a record', 'contact email a --no-history', { ...found, operation_id: null }, price],
    ['a preview', 'contact email a --dry-run', { ...nothing, state: 'complete', exit: 0 }],
    [
      'a limit that refuses',
      'contact email a --max-credits 2',
      { ...nothing, state: 'failed', exit: 5, error: { type: 'over_limit', charged: 'no' } },
      price,
    ],
    [
      'a folder that is not there',
      'contact email a -o no/x.csv',
      { ...nothing, state: 'failed', exit: 74, error: { charged: 'no' } },
    ],
    ['an input that is not there', 'contact email --input no.csv', { ...nothing, state: 'failed', exit: 2 }],
    [
      'an address that is missing',
      'contact email a --profile nope',
      { ...nothing, state: 'failed', exit: 78 },
    ],
    [
      'an answer that is lost',
      'contact email lost',
      { state: 'unknown', exit: 8, charged: 'maybe', credits_at_most: 3, leads: null, resume: null },
      price,
    ],
    [
      'a request that is refused',
      'contact email refused',
      { ...free, state: 'failed', exit: 2, resume: null },
      price,
    ],
    [
      'a list',
      'contact email --input two.txt -o out.csv',
      { ...found, rows: 2, rows_failed: 0, credits_at_most: 6, output: expect.stringMatching(/\/out\.csv$/) },
      price,
    ],
    [
      'a list of items',
      'extract x_followers --input two.txt -o out.csv',
      { rows: 2, rows_failed: 0, leads: 2, charged: 'yes' },
    ],
    [
      'a list with a row that failed',
      'contact email --input three.txt -o out.csv',
      {
        ...resumable,
        state: 'partial',
        exit: 3,
        rows: 3,
        rows_failed: 1,
        credits_at_most: 6,
        charged: 'yes',
      },
      price,
    ],
    [
      'a list of which only the first rows are bought',
      'contact email --input three.txt --first 1 -o out.csv',
      { ...resumable, state: 'partial', exit: 0, rows: 1, credits_at_most: 3, charged: 'yes' },
      price,
    ],
    [
      'a list that a limit stops',
      'contact email --input - --max-credits 3 -o out.csv',
      { state: 'interrupted', exit: 5, rows: 1, credits_at_most: 3, charged: 'yes', resume: null },
      price,
    ],
    [
      'a list of which an answer was lost: only --retry-unknown buys it again',
      'contact email --input lost.txt -o out.csv',
      { state: 'partial', exit: 3, rows: 1, rows_failed: 1, charged: 'maybe', resume: null },
      price,
    ],
    [
      'a search that is refused',
      'search company refused -o x.csv',
      { ...free, state: 'failed', exit: 2, resume: null, operation_id: expect.stringMatching(/^op_/) },
    ],
    ['the balance', 'balance', { ...nothing, command: 'balance', state: 'complete', exit: 0 }],
    [
      'the balance that is too low',
      'balance --require 99',
      { ...nothing, state: 'failed', exit: 5, error: { charged: 'no' } },
    ],
    ['what needs no service', 'resume', { ...nothing, command: 'resume', state: 'complete', exit: 0 }],
    [
      'what is free',
      'search company fintech --limit 2 --local',
      { ...free, command: 'search', state: 'complete', leads: 2, excluded: 0, stop_reason: 'limit' },
    ],
    [
      'a task',
      'task run company fintech --limit 2 --local -o x.csv',
      {
        ...free,
        command: 'task run',
        state: 'complete',
        leads: 2,
        leads_search_id: expect.stringMatching(/^ls_/),
      },
    ],
    [
      'a task that goes on',
      'task run company fintech --local --wait-timeout 0.01 -o x.csv',
      { ...free, ...resumable, state: 'interrupted', exit: 75 },
    ],
    [
      'nothing found',
      'search company qqqqq --local --exit-status',
      { ...free, state: 'complete', exit: 7, leads: 0 },
    ],
  ])('%s', async (_, line, expected, settings = {}) => {
    const service = await startRowService({
      credits: 40,
      lost: new Set(['lost']),
      refused: new Set(['refused']),
    });
    const machine = createMachine(service.url);
    writeSettings(machine.env, settings);
    machine.write('two.txt', 'a\nb\n');
    machine.write('three.txt', 'a\nb\nrefused\n');
    machine.write('lost.txt', 'lost\n');
    machine.write(file, 'of yesterday');
    const { name: _name, ...wanted } = expected as { name?: string };
    const { code } = await machine.leadpipe([...wordsOf(line), '--summary', file], { stdin: 'a\nb\n' });
    const summary = summaryOf(machine);
    expect(summary).toMatchObject(wanted);
    expect(summary.exit).toBe(code);
    expect(summary.error === null).toBe(code === 0);
    // The suggested command resumes it.
    if (summary.resume !== null) {
      const again = await machine.leadpipe(`${summary.resume.replace('leadpipe ', '')} --wait-timeout 0.01`);
      expect({ code: again.code, stderr: again.stderr }).toEqual({
        code: expect.toSatisfy((one: number) => one !== 2 && one !== 6),
        stderr: expect.toSay(/^Resuming op_/m),
      });
    }
  });

  it('a search that is cut, and its rest', async () => {
    const service = await startFaultServer(cutting);
    const machine = createMachine(service.url);
    await machine.leadpipe(`search company x --limit 6 -o x.csv --summary ${file}`);
    const cut = summaryOf(machine);
    expect(cut).toMatchObject({
      ...resumable,
      state: 'partial',
      exit: 3,
      leads: 2,
      charged: 'yes',
      credits_at_most: 6,
    });
    expect(cut).toMatchObject({
      leads_search_id: 'ls_test',
      request_id: 'req_test',
      error: { exit: 3, charged: 'yes' },
    });
    const whole = await startFaultServer((socket, { method }) =>
      method === 'GET'
        ? void socket.write(notFound)
        : void socket.end(wholeStream(searchFrames([['{"name":"C"}']]))),
    );
    expect(
      await machine.leadpipe(`${cut.resume.replace('leadpipe ', '')} --summary ${file}`, {
        env: { LEADPIPE_BASE_URL: whole.url },
      }),
    ).toMatchObject({ code: 78 });
    expect(summaryOf(machine)).toMatchObject({ ...free, command: 'resume', state: 'failed', exit: 78 });
  });
});

describe('a run that is stopped', () => {
  const ofFirst = { resume: expect.stringMatching(/^leadpipe resume op_\w+ --first 3$/) };

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s', async (signal, exit) => {
    const { gate, open } = createGate('p2');
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    writeSettings(machine.env, price);
    machine.write('rows.txt', 'p1\np2\np3\n');
    const child = machine.start(
      `contact email --input rows.txt -o out.csv --concurrency 1 --first 3 --summary ${file}`,
    );
    const said = saidBy(child, 'pending answer');
    const ended = resultOf(child);
    await until(() => service.requests() === 2);
    child.kill(signal);
    await said;
    open();
    expect(await ended).toMatchObject({ code: exit });
    const known = { rows: 2, charged: 'yes', credits_at_most: 6, error: { exit } };
    expect(summaryOf(machine)).toMatchObject({
      ...resumable,
      ...known,
      ...ofFirst,
      state: 'interrupted',
      exit,
    });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('before the answer of a look-up, by %s', async (signal, exit) => {
    const { gate, open } = createGate();
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    const child = machine.start(`contact email a -o out.csv --summary ${file}`);
    const ended = resultOf(child);
    await until(() => service.requests() === 1);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: exit });
    open();
    const known = { state: 'interrupted', exit, charged: 'maybe', resume: null, rows: null };
    expect(summaryOf(machine)).toMatchObject(known);
  });

  it('at once, by a second Ctrl-C, while an answer is waited for', async () => {
    const { gate, open } = createGate('p1');
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    machine.write('rows.txt', 'p1\n');
    const child = machine.start(
      `contact email --input rows.txt -o out.csv --first 3 --summary ${file} --base-url ${service.url}`,
    );
    const said = saidBy(child, 'press Ctrl-C again');
    const ended = resultOf(child);
    await until(() => service.requests() === 1);
    child.kill('SIGINT');
    await said;
    // The first 0.2 s count as the same signal.
    await new Promise((resolve) => setTimeout(resolve, 250));
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130 });
    open();
    expect(summaryOf(machine)).toMatchObject({
      ...resumable,
      resume: expect.stringMatching(/^leadpipe resume op_\w+ --first 3 --base-url http:/),
      state: 'interrupted',
      exit: 130,
      error: null,
      charged: 'maybe',
    });
  });

  it('by the reader of its output', async () => {
    const machine = createMachine();
    const line = `leadpipe search company fintech --limit 100 --local -q --summary ${file} | head -n 1`;
    await inShell(line, { env: machine.env, cwd: machine.cwd });
    expect(summaryOf(machine)).toMatchObject({
      ...free,
      state: 'partial',
      exit: 141,
      error: { exit: 141 },
    });
  });
});

describe('the file', () => {
  it.each([
    ['can not be in a folder that is not there', 'no/such.json', 74],
    ['can not be a folder', 'folder.csv', 74],
    ['is not standard output', '-', 2],
    ['is not the file of -o', 'out.csv', 2],
    ['is not the file of -o by another name', './out.csv', 2],
    ['is not the input', 'rows.txt', 2],
  ])('%s, which is found before anything is sent', async (_, name, exit) => {
    const service = await startRowService();
    const machine = createMachine(service.url);
    machine.write('rows.txt', 'a\n');
    const line = `contact email --input rows.txt -o out.csv --summary ${name === 'folder.csv' ? '/tmp' : name}`;
    expect((await machine.leadpipe(line)).code).toBe(exit);
    expect(service.requestsOfAll()).toBe(0);
    expect(machine.files()).toEqual(['rows.txt']);
  });

  it.each([
    ['output', 'out.csv'],
    ['input', './rows.txt'],
  ])('is not the %s of the run that is resumed', async (_, name) => {
    const { gate, open } = createGate('p2');
    const service = await startRowService({ gate });
    const machine = createMachine(service.url);
    machine.write('rows.txt', 'p1\np2\n');
    machine.write('out.csv', 'of yesterday\n');
    const child = machine.start('contact email --input rows.txt -o out.csv --concurrency 1');
    await until(() => service.requests() === 2);
    child.kill('SIGKILL');
    await resultOf(child);
    open();
    const before = machine.read(name);
    const [latest] = await machine.history();
    for (const line of ['resume', `resume ${latest?.operation_id}`]) {
      const { code, stderr } = await machine.leadpipe(`${line} --summary ${name}`);
      expect({ code, stderr }).toMatchObject(ending(2, 'are the same file'));
    }
    expect(machine.read(name)).toBe(before);
    expect(service.requests()).toBe(2);
  });

  it.each([
    ['search company @mine.txt', '-o mine.txt'],
    ['search company @mine.txt', '--summary mine.txt'],
    ['search company x --dedup-custom-leads @mine.txt', '--summary ./mine.txt'],
    ['search company x --dedup-custom-leads @mine.txt -f jsonl', '-o mine.txt'],
    ['enrich Acme --schema mine.txt', '--summary mine.txt'],
    ['search company @mine.txt -o leads.csv --append', '--summary mine.txt'],
    ['contact email --input rows.txt --errors mine.csv', '-o mine.csv'],
    ['contact email --input mine.csv', '--errors mine.csv'],
  ])('of `%s` is not replaced by %s', async (line, more) => {
    const service = await startRowService();
    const machine = createMachine(service.url);
    machine.write('rows.txt', 'a\n');
    const text = '{"type":"object","properties":{"city":{"type":"string"}}}\n';
    for (const name of ['mine.txt', 'mine.csv']) machine.write(name, text);
    const { code, stderr } = await machine.leadpipe(`${line} ${more}`);
    expect({ code, stderr }).toMatchObject(ending(2, 'are the same file'));
    expect([machine.read('mine.txt'), machine.read('mine.csv')]).toEqual([text, text]);
    expect(service.requestsOfAll()).toBe(0);
  });

  it('is not written for an invalid command line', async () => {
    const machine = createMachine();
    for (const line of [
      'search company',
      'search company x --limit many',
      'search company x --nothing',
      'search planet x y z',
    ])
      expect((await machine.leadpipe(`${line} --summary ${file}`)).code).toBe(2);
    expect(machine.files()).toEqual([]);
  });

  it('is whole, although a full pipe takes it in pieces', async () => {
    const machine = createMachine();
    const full = faultyWith({ mode: 'EAGAIN', at: 1, on: '.part' });
    expect(await machine.run(`balance --local --summary ${file}`, full)).toMatchObject({ code: 0 });
    expect(summaryOf(machine)).toMatchObject({ command: 'balance', exit: 0 });
  });

  it('can be a descriptor', async () => {
    const machine = createMachine();
    const line = `{ leadpipe balance --local --summary /dev/fd/3 3>&1 >&2 | cat > ${file}; } 2>&1`;
    expect(await inShell(line, { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0 });
    expect(summaryOf(machine)).toMatchObject({ command: 'balance', exit: 0 });
    const closed = await inShell('leadpipe balance --local --summary /dev/fd/9', {
      env: machine.env,
      cwd: machine.cwd,
    });
    expect(closed).toMatchObject(ending(74, "can't write /dev/fd/9"));
  });
});

/** Resolves when a command has said this on stderr. */
async function saidBy(child: ChildProcess, text: string): Promise<void> {
  let heard = '';
  child.stderr?.on('data', (piece) => {
    heard += piece;
  });
  await until(() => heard.includes(text));
}

function wordsOf(line: string): string[] {
  return line.split(' ');
}
