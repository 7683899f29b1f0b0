import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { machineClock } from '../helpers/clock.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import {
  contacts,
  cwd,
  ending,
  env,
  leadpipe,
  operationsFolder,
  paid,
  read,
  serve,
  service,
  setEnv,
  write,
} from '../helpers/lists.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { pointedAt, type Result, resultOf, run, start } from '../helpers/run.ts';
import { resultOfSignalled } from '../helpers/signalled.ts';

/** Is there an earlier run of this list? What is paid for is counted by the service, and files are compared by their bytes. */
beforeEach(() => serve({ latencyMs: 30 }));

const people = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `p${String(from + at).padStart(2, '0')}`);
const lines = (rows: readonly string[]): string => `${rows.join('\n')}\n`;
const csvRow = (name: string): string => `${name},${name}@example.com,,`;
const csvOf = (rows: readonly string[]): string =>
  ['objective,email,email_reference,email_error', ...rows.map(csvRow), ''].join('\r\n');

/** Runs it, and sends the signal when the service has charged this number of rows. */
async function stopped(args: string[], bought: number, signal: NodeJS.Signals, stdin = ''): Promise<Result> {
  const before = service.charged.size;
  const child = start(args, { env, cwd, stdin });
  return await resultOfSignalled(child, signal, () => service.charged.size >= before + bought);
}

const one = ['--concurrency', '1'];
const operations = (): string[] => readdirSync(operationsFolder()).sort();

describe('resume of a list', () => {
  const schema = (name: string): string =>
    JSON.stringify({ type: 'object', properties: { [name]: { type: 'string' } } });

  it('resumes from stored rows, and does not buy rows that were edited since', async () => {
    write('list.txt', lines(people(0, 10)));
    write('schema.json', schema('city'));
    const args = ['enrich', '--input', 'list.txt', '--schema', 'schema.json', '-o', 'out.jsonl', ...one];
    await stopped([...args, '--input-format', 'text'], 4, 'SIGINT');
    write('schema.json', schema('size'));
    const resumed = await leadpipe(['resume']);
    expect(paid()).toEqual(people(0, 10));
    expect([...service.charged.values()].every((body) => body.includes('"city"'))).toBe(true);
    expect(resumed.code).toBe(0);
    const [operation = ''] = operations();
    const again = await leadpipe(['resume', operation]);
    expect(service.charged.size).toBe(10);
    expect(again).toMatchObject(ending(2, 'has already ended', 'Nothing was bought'));
  });

  it('that had ended in part and was stopped later takes it, and the history has all of its runs', async () => {
    const refused = new Set(['p01']);
    await serve({ latencyMs: 30, refused });
    write('list.txt', lines(people(0, 2)));
    const args = ['contact', 'email', '--input', 'list.txt', '-o', 'out.jsonl', ...one];
    expect(await leadpipe(args)).toMatchObject({ code: 3 });
    write('list.txt', lines(people(0, 8)));
    await stopped(args, 4, 'SIGINT');
    const found = paid().length;
    expect((await historyOf(env)).records).toMatchObject([{ state: 'interrupted', charged: 'yes', found }]);
    refused.clear();
    expect(await leadpipe(['resume'])).toMatchObject({ code: 0 });
    expect(paid()).toEqual(people(0, 8));
  });

  it('buys nothing at another address', async () => {
    write('list.txt', lines(people(0, 10)));
    await stopped(['contact', 'email', '--input', 'list.txt', '-o', 'out.jsonl', ...one], 3, 'SIGINT');
    const bought = service.charged.size;
    const other = await startRowService();
    const [operation = ''] = operations();
    const result = await leadpipe(['resume', operation], '', pointedAt(other.url));
    expect({ here: service.charged.size, there: other.requests() }).toEqual({ here: bought, there: 0 });
    expect(result.code).toBe(78);
  });

  it('is of its shard alone', async () => {
    write('list.txt', lines(people(0, 10)));
    const args = ['contact', 'email', '--input', 'list.txt', '--shard', '0/2', '-o', 'out.csv', ...one];
    await stopped(args, 2, 'SIGINT');
    expect((await leadpipe(['resume'])).code).toBe(0);
    expect(paid()).toHaveLength(5);
  });

  it('is not of one from standard input, unless that is named', async () => {
    const piped = ['contact', 'email', '--input', '-', '-o', 'piped.jsonl', ...one];
    await stopped(piped, 3, 'SIGINT', lines(people(30, 40)));
    expect(await leadpipe(['resume'])).toMatchObject(ending(0, 'There is nothing to resume'));
  });

  it('of rows that are gone, or came from standard input, says so and buys nothing', async () => {
    write('list.txt', lines(people(0, 10)));
    await stopped(['contact', 'email', '--input', 'list.txt', '-o', 'out.jsonl', ...one], 3, 'SIGINT');
    const [first = ''] = operations();
    write('list.txt', lines(people(20, 30)));
    const gone = await leadpipe(['resume', first]);
    expect(gone).toMatchObject(ending(2, 'nothing was bought'));
    const piped = ['contact', 'email', '--input', '-', '-o', 'piped.jsonl', ...one];
    await stopped(piped, 3, 'SIGINT', lines(people(30, 40)));
    const second = operations().find((id) => id !== first) ?? '';
    const before = service.requests();
    const lost = await leadpipe(['resume', second]);
    expect(lost).toMatchObject(ending(2, 'came from standard input'));
    expect(service.requests()).toBe(before);
  });

  it.each([
    ['list.json', '{"a":[{"objective":"x"}],"b":[{"objective":"Ada"},{"objective":"Bo"}]}', ['--table', 'b']],
    ['list.csv', 'Ada,1\nBo,2\n', ['--header-row', '0', '--template', '{column 1}']],
  ])('of %s reads it in the way that was said', async (name, text, how) => {
    const refused = new Set(['Bo']);
    await serve({ refused });
    write(name, text);
    expect(await contacts('--input', name, ...how, '-o', 'out.jsonl')).toMatchObject({ code: 3 });
    refused.clear();
    expect(await leadpipe(['resume', ...operations()])).toMatchObject({ code: 0 });
    expect(paid()).toEqual(['Ada', 'Bo']);
  });

  it('resumes an extraction', async () => {
    write('list.txt', lines(people(0, 6)));
    const args = ['extract', 'x_followers', '--limit', '5', '--input', 'list.txt', '-o', 'out.jsonl', ...one];
    await stopped(args, 2, 'SIGINT');
    expect(await leadpipe(['resume'])).toMatchObject({ code: 0 });
    expect(read('out.jsonl')).toBe(
      lines(people(0, 6).map((target) => `{"type":"x_followers","target":"${target}","id":1}`)),
    );
    expect(paid()).toEqual(people(0, 6));
  });
});

it('of several lists with one output, the latest that has sent rows of the input is resumed', async () => {
  const args = ['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', ...one];
  for (const from of [0, 20]) {
    write('list.txt', lines(people(from, from + 10)));
    await stopped(args, 2, 'SIGINT');
  }
  const [first = '', second = ''] = operations();
  const all = [...people(0, 2), ...people(20, 22)];
  write('list.txt', lines(all));
  const { code, stderr } = await leadpipe(args);
  expect({ code, stderr }).toMatchObject(ending(0, RegExp(`^Resuming ${second}: `, 'm')));
  expect(stderr).not.toContain(first);
  // What the first one has bought is its own.
  expect(paid().filter((name) => all.includes(name))).toEqual([...people(0, 2), ...all].sort());
  expect(read('out.csv')).toBe(csvOf(all));
});

it.each([
  ['one that has sent rows of it comes before a later one that has sent nothing', [1], 'list.txt', 0],
  ['of those that have sent nothing the last one is gone on with', [0, 1], 'list.txt', 1],
  ['one that has sent nothing is no run of another file', [0, 1], 'other.txt', undefined],
])('of several lists into one file: %s', async (_, empty, input, expected) => {
  for (const from of [0, 20]) {
    write('list.txt', lines(people(from, from + 10)));
    await stopped(['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', ...one], 2, 'SIGINT');
  }
  const ids = operations();
  // As if they had been killed before their first row.
  for (const nth of empty) rmSync(join(operationsFolder(), ids[nth] ?? '', 'rows.jsonl'));
  write(input, lines(people(0, 3)));
  const { code, stderr } = await leadpipe(['contact', 'email', '--input', input, '-o', 'out.csv', ...one]);
  expect(code).toBe(0);
  expect(/^Resuming (op_\w+)/m.exec(stderr)?.[1]).toBe(expected === undefined ? undefined : ids[expected]);
});

describe('a list that adds rows to a file, stopped and run again', () => {
  const all = people(0, 12);
  const args = ['contact', 'email', '--input', '-', '-o', 'out.csv', '--append', ...one];

  it.each(['SIGKILL', 'SIGINT'] as const)('has every row once, paid for once (%s)', async (signal) => {
    await stopped(args, 5, signal, lines(all));
    const { code, stderr } = await leadpipe(args, lines(all));
    // A row whose answer was lost can be bought again, so the list waits for it.
    const names = (): string[] =>
      read(code === 0 ? 'out.csv' : 'out.csv.part')
        .split('\r\n')
        .map((row) => row.split(',')[0] ?? '');
    expect(names()).toEqual(['objective', ...all, '']);
    expect(paid()).toEqual(all);
    expect(stderr).toContain('Resuming op_');
  });

  it.each([
    ['another job has added a row', ['more'], (rows: string[]) => rows],
    ['a line was corrected', [], (rows: string[]) => rows.map((name) => (name === 'p01' ? 'p99' : name))],
  ])('when %s meanwhile: the whole list, after the existing rows', async (_, more, toNext) => {
    write('out.csv', csvOf(['other']));
    await stopped(args, 5, 'SIGINT', lines(all));
    write('out.csv', read('out.csv') + more.map((name) => `${csvRow(name)}\r\n`).join(''));
    const next = toNext(all);
    const { code } = await leadpipe(args, lines(next));
    expect(read('out.csv')).toBe(csvOf(['other', ...more, ...next]));
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: [...new Set([...all, ...next])].sort() });
  });
});

it.each([
  ['of two files', ['a.txt', 'b.txt'], []],
  ['of one name', ['-', '-'], []],
  ['of one name, with a limit,', ['-', '-'], ['--max-credits', '8']],
] as const)(
  'two lists %s into one file leave each other alone: both are paid for once',
  async (_, names, limit) => {
    const [first, second] = [people(0, 8), people(50, 58)];
    write('a.txt', lines(first));
    write('b.txt', lines(second));
    await leadpipe(['config', 'set', 'price.contact.email', '1']);
    const list = (name: string) => ['contact', 'email', '--input', name, '-o', 'out.csv', ...limit, ...one];
    await stopped(list(names[0]), 3, 'SIGINT', lines(first));
    const other = await leadpipe(list(names[1]), lines(second));
    const again = await leadpipe(list(names[0]), lines(first));
    expect(paid()).toEqual([...first, ...second]);
    expect(read('out.csv')).toBe(csvOf(first));
    expect([other.code, again.code]).toEqual([0, 0]);
  },
);

it('two lists of different files into one run at once, and the last one stands', async () => {
  const { gate, open } = createGate('p00');
  await serve({ gate });
  write('a.txt', lines(people(0, 3)));
  write('b.txt', lines(people(50, 52)));
  const list = (input: string) => ['contact', 'email', '--input', input, '-o', 'out.csv', ...one];
  const first = resultOf(start(list('a.txt'), { env, cwd }));
  await expect.poll(() => service.requests()).toBe(1);
  expect(await leadpipe(list('b.txt'))).toMatchObject({ code: 0 });
  expect(read('out.csv')).toBe(csvOf(people(50, 52)));
  open();
  expect((await first).code).toBe(0);
  expect(read('out.csv')).toBe(csvOf(people(0, 3)));
});

it('two lists of one name with outputs of their own run at once', async () => {
  const { gate, open } = createGate('p00');
  await serve({ gate });
  const list = (output: string) => ['contact', 'email', '--input', '-', '-o', output, ...one];
  const first = resultOf(start(list('a.csv'), { env, cwd, stdin: lines(people(0, 3)) }));
  await expect.poll(() => service.requests()).toBe(1);
  expect((await leadpipe(list('b.csv'), lines(people(50, 52)))).code).toBe(0);
  open();
  expect((await first).code).toBe(0);
  expect([read('a.csv'), read('b.csv')]).toEqual([csvOf(people(0, 3)), csvOf(people(50, 52))]);
  expect(paid()).toEqual([...people(0, 3), ...people(50, 52)]);
});

it('a list into a pipe is bought again, and names the operation that could be resumed', async () => {
  write('list.txt', lines(people(0, 6)));
  const args = ['contact', 'email', '--input', 'list.txt', ...one];
  await stopped(args, 2, 'SIGINT');
  expect(await leadpipe(args)).toMatchObject(
    ending(
      0,
      /^You started a list from this file at \S+ \S+ and did not finish it: contact email list\.txt, \d rows? done\. This run buys everything again, at an unknown price\. To finish that one instead: leadpipe resume op_/m,
    ),
  );
});

describe('a named run', () => {
  const all = people(0, 8);
  const named = (...more: string[]) => contacts('--input', 'list.txt', '--run', 'october', ...more);
  beforeEach(() => write('list.txt', lines(all)));

  it('without its state leaves a good output as it is', async () => {
    expect((await named('-o', 'out.csv')).code).toBe(0);
    rmSync(env.LEADPIPE_STATE_DIR ?? '', { recursive: true });
    const { code, stderr } = await named('-o', 'out.csv');
    expect(read('out.csv')).toBe(csvOf(all));
    expect(paid()).toEqual(all);
    expect({ code, stderr }).toMatchObject(ending(3, 'out.csv.part'));
  });

  it('leaves the output of yesterday as it is when no answer of today can be read', async () => {
    expect((await contacts('--input', 'list.txt', '-o', 'out.csv')).code).toBe(0);
    await serve({ garbled: true });
    await contacts('--input', 'list.txt', '-o', 'out.csv');
    expect(read('out.csv')).toBe(csvOf(all));
  });

  it('whose shards write one file has the whole in it, for nothing, when it runs without them', async () => {
    for (const shard of ['0/2', '1/2']) await named('-o', 'out.csv', '--shard', shard);
    await named('-o', 'out.csv');
    expect(read('out.csv')).toBe(csvOf(all));
    expect(paid()).toEqual(all);
  });

  it('is not told that it was bought, where its list has another row', async () => {
    write('more.csv', 'objective\nAda\n');
    const line = ['contact', 'email', '--input', 'more.csv', '--run', 'more', '-o', 'more-out.csv'];
    expect((await leadpipe(line)).code).toBe(0);
    write('more.csv', 'objective\nAda\nBo\n');
    const again = await leadpipe(line);
    expect(again).toMatchObject({ code: 0, stderr: expect.not.stringContaining('already bought a list') });
  });

  it('finds the answers of its shards, whatever the output and the shard', async () => {
    expect((await named('-o', '0.csv', '--shard', '2/2')).code).toBe(0);
    expect((await named('-o', '1.csv', '--shard', '1/2')).code).toBe(0);
    expect((await named('-o', 'again.csv', '--shard', '0/2')).code).toBe(0);
    expect(read('again.csv')).toBe(read('0.csv'));
    await leadpipe(['config', 'set', 'price.contact.email', '1']);
    const { code, stderr } = await named('-o', 'whole.csv', '--max-credits', '0');
    expect(read('whole.csv')).toBe(csvOf(all));
    expect(service.requests()).toBe(8);
    expect({ code, stderr }).toMatchObject(ending(0, 'cost nothing'));
  });

  it('of a killed shard is resumed by another one with the same keys', async () => {
    await stopped(
      ['contact', 'email', '--input', 'list.txt', '--run', 'october', '-o', 'a.csv', ...one],
      3,
      'SIGKILL',
    );
    write('list.txt', lines(['new', ...all]));
    expect([0, 3]).toContain((await named('-o', 'b.csv')).code);
    expect(paid()).toEqual(['new', ...all]);
  });

  it('counts for its limit what a killed one has sent, and it sends again', async () => {
    const { gate, open } = createGate('p00');
    await serve({ gate });
    await leadpipe(['config', 'set', 'price.contact.email', '2']);
    const args = ['contact', 'email', '--run', 'october', ...one];
    const child = start([...args, '--input', 'list.txt', '-o', 'a.csv'], { env, cwd });
    await resultOfSignalled(child, 'SIGKILL', () => service.requests() === 1);
    open();
    // The rows of standard input can't be counted before.
    const limited = [...args, '--input', '-', '-o', 'b.csv', '--max-credits', '4'];
    expect(await leadpipe(limited, lines(all))).toMatchObject({ code: 5 });
    expect(paid()).toEqual(['p00', 'p01']);
  });

  it('has its answers longer than other lists, so that no row is bought again', async () => {
    const now = () => new Date(Date.now() - 10 * 86_400_000);
    const daysAgo = { env, cwd, context: { clock: { ...machineClock, now } } };
    await runInProcess('contact email --input list.txt --run october -o a.csv', daysAgo);
    await runInProcess('contact email --input list.txt -o b.csv', daysAgo);
    expect(service.requests()).toBe(16);
    const { stdout } = await leadpipe(['history', 'prune', '-f', 'jsonl']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect((await named('-o', 'c.csv')).code).toBe(0);
    expect(service.requests()).toBe(16);
  });

  it('adds the rows of its shards under one header', async () => {
    for (const shard of ['0/2', '1/2']) {
      expect((await named('-o', 'out.csv', '--append', '--shard', shard)).code).toBe(0);
    }
    const shardOf = (odd: number) => all.filter((_, at) => at % 2 === odd);
    expect(read('out.csv')).toBe(csvOf([...shardOf(1), ...shardOf(0)]));
    expect((await named('-o', 'out.csv', '--append', '--shard', '0/2')).stderr).toContain(
      'nothing was left to send',
    );
    expect(read('out.csv')).toBe(csvOf([...shardOf(1), ...shardOf(0), ...shardOf(1)]));
  });
});

it('answers of rows that are gone from the input are counted at the end', async () => {
  const refused = new Set(['p02']);
  await serve({ refused });
  const add = (...rows: string[]) => {
    write('list.txt', lines(rows));
    return contacts('--input', 'list.txt', '-o', 'out.csv');
  };
  expect((await add('p00', 'p01', 'p02')).code).toBe(3);
  refused.clear();
  const says = '1 answer of rows that are no longer in the input: leadpipe history show op_';
  expect(await add('p01', 'p02', 'p03', 'p03')).toMatchObject(ending(0, says));
});

it('a run with another API key starts over', async () => {
  write('list.txt', lines(people(0, 5)));
  await stopped(['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', ...one], 2, 'SIGINT');
  setEnv({ LEADPIPE_API_KEY: 'another-key-0123456789' });
  expect((await contacts('--input', 'list.txt', '-o', 'out.csv')).code).toBe(0);
  expect(read('out.csv')).toBe(csvOf(people(0, 5)));
});

it.each([
  ['SIGINT', [130]],
  ['SIGTERM', [143]],
  ['SIGHUP', [129]],
  // Whichever of the two arrives first.
  ['SIGTERM and SIGHUP', [143, 129]],
] as const)('%s: a list waits for pending answers', async (signals, codes) => {
  const { gate, open } = createGate();
  await serve({ gate });
  write('list.txt', lines(people(0, 12)));
  const args = ['contact', 'email', '--input', 'list.txt', '-o', 'out.csv', '--concurrency', '3'];
  const child = start(args, { env, cwd });
  const ended = resultOf(child);
  await expect.poll(() => service.requests()).toBe(3);
  child.stderr.on('data', (text) => String(text).includes('waiting up to') && open());
  for (const signal of signals.split(' and ')) child.kill(signal as NodeJS.Signals);
  const result = await ended;
  const whole = await leadpipe(args);
  expect(read('out.csv')).toBe(csvOf(people(0, 12)));
  expect(paid()).toEqual(people(0, 12));
  expect(whole.code).toBe(0);
  expect(result).toMatchObject({
    code: expect.toBeOneOf([...codes]),
    stderr: expect.stringContaining('waiting up to 10 s for 3 pending answers'),
  });
});

it('a row that failed once is asked for again, whatever became of the rows before it', async () => {
  await serve({ stumbles: true });
  const all = people(100, 400);
  write('list.txt', lines(all));
  const { code } = await contacts('--input', 'list.txt', '-o', 'out.csv', '--concurrency', '32');
  expect(read('out.csv')).toBe(csvOf(all));
  expect({ code, paid: paid() }).toEqual({ code: 0, paid: all });
});

describe('pods of a job that share a state folder', () => {
  const pod = (index: number): string[] => [
    ...['contact', 'email', '--input', 'list.txt', '--shard', 'auto/2'],
    ...['-o', `out-${index}.csv`, ...one],
  ];
  const at = (index: number) => ({ env: { ...env, JOB_COMPLETION_INDEX: String(index) }, cwd });
  const rowsOf = (index: number): string =>
    csvOf(people(0, 6).filter((_, number) => (number + 1) % 2 === index));

  it.each(['another is at work', 'another was killed'])('buy their own rows: %s', async (what) => {
    // The second row of the first pod.
    const { gate, open } = createGate('p03');
    await serve({ gate });
    write('list.txt', lines(people(0, 6)));
    const child = start(pod(0), at(0));
    const ended = resultOf(child);
    await expect.poll(() => service.requests()).toBe(2);
    if (what === 'another was killed') {
      child.kill('SIGKILL');
      await ended;
      open();
    }
    const second = await run(pod(1), at(1));
    open();
    const { code } = await ended;
    // A killed pod is started again, as Kubernetes does.
    const first = code === 0 ? code : (await run(pod(0), at(0))).code;
    expect({ second: second.code, rows: read('out-1.csv') }).toEqual({ second: 0, rows: rowsOf(1) });
    expect(paid()).toEqual(people(0, 6));
    // The answer that was pending when it was killed is not sent again.
    expect(first).toBe(what === 'another was killed' ? 3 : 0);
    expect(read('out-0.csv').split('\r\n').length).toBe(rowsOf(0).split('\r\n').length);
  });
});

it.each([
  ['3600', 'asks to wait 3600 s'],
  ['Fri, 31 Dec 2099 23:59:59 GMT', 'asks to wait'],
])('a service without room that says for how long (%s) stops the list at once', async (retryAfter, words) => {
  await serve({ mostAtOnce: 0, retryAfter });
  write('list.txt', lines(people(0, 30)));
  expect(await contacts('--input', 'list.txt', '-o', 'out.csv')).toMatchObject(ending(75, words));
  expect(service.requests()).toBeLessThanOrEqual(4);
});

it('the history counts every row that was sent, and none that was refused for nothing', async () => {
  await serve({ refused: new Set(['p00']) });
  await leadpipe(['config', 'set', 'price.contact.email', '2']);
  // Two of them occur twice, and are sent once.
  write('list.txt', lines([...people(0, 5), ...people(3, 5)]));
  expect((await contacts('--input', 'list.txt', '-o', 'out.csv')).code).toBe(3);
  await serve({ garbled: true });
  expect((await contacts('--input', 'list.txt', '-o', 'lost.csv')).code).toBe(3);
  const { stdout } = await leadpipe(['history', 'list', '-f', 'csv', '--columns', 'credits_at_most']);
  expect(stdout.trimEnd().split('\r\n')).toEqual(['credits_at_most', '8', '10']);
});

describe('the output', () => {
  it.each([
    [
      'csv',
      'objective,email,email_error\nAda,mine,mine too\n',
      'objective,email,email_error,email_2,email_reference_2,email_error_2\r\nAda,mine,mine too,ada@example.com,,\r\n',
    ],
    [
      'csv',
      'objective,email_error\nAda,mine\n',
      'objective,email_error,email_2,email_reference_2,email_error_2\r\nAda,mine,ada@example.com,,\r\n',
    ],
    [
      'jsonl',
      '{"objective":"Bo","email_error":"mine"}\n',
      '{"objective":"Bo","email_error":"mine","email_2":{"content":"bo@example.com","reference":null}}\n',
    ],
  ])('keeps columns that are called like ours (%s)', async (format, text, expected) => {
    write(`list.${format}`, text);
    expect((await contacts('--input', `list.${format}`, '-f', format)).stdout).toBe(expected);
  });

  it('says which fields were asked for and not found', async () => {
    write('list.txt', 'a\nx\nxx\n');
    const fields = ['--field', 'city', '--field', 'size:integer'];
    const { stderr } = await leadpipe(['enrich', '--input', 'list.txt', ...fields]);
    expect(stderr).toContain('2 rows lack fields: size (2)');
  });

  it('loses no row beside a line of 100 MB', async () => {
    write('list.txt', Buffer.concat([Buffer.from('Ada\n'), Buffer.alloc(100e6, 'x'), Buffer.from('\nBo\n')]));
    const { code } = await contacts('--input', 'list.txt', '-o', 'out.csv');
    expect({ code, paid: paid() }).toEqual({ code: 3, paid: ['Ada', 'Bo'] });
  });
});

const toEnvironment = (words: string): Record<string, string> =>
  Object.fromEntries(words.split(' ').flatMap((word) => (word === '' ? [] : [word.split('=')])));

describe('the shard of a job array', () => {
  it('shows how many rows of its own there are', async () => {
    const { gate, open } = createGate('p04');
    await serve({ gate });
    write('list.txt', lines(people(0, 6)));
    const ended = runInProcess('contact email --input list.txt --shard 1/2 -o out.csv --concurrency 1', {
      ...{ env, cwd, stderrIsTerminal: true, columns: 120 },
      heard: (_, text) => /\b2 of \d/.test(text) && open(),
    });
    expect((await ended).stderr).toMatch(/\b2 of 3\b/);
  });

  it.each([
    ['', 'auto', 'JOB_COMPLETION_INDEX is not set'],
    ['JOB_COMPLETION_INDEX=', 'auto/4', 'JOB_COMPLETION_INDEX is empty'],
    ['JOB_COMPLETION_INDEX=x', 'auto/4', 'JOB_COMPLETION_INDEX is "x"'],
    ['JOB_COMPLETION_INDEX=4', 'auto/4', 'JOB_COMPLETION_INDEX=4: not one of the 4 parts'],
    ['JOB_COMPLETION_INDEX=1', 'auto', 'Add the number of completions'],
    ['SLURM_ARRAY_TASK_ID=7', 'auto', 'SLURM_ARRAY_TASK_COUNT is not set'],
    [
      'SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4',
      'auto',
      'not one of the 4 parts',
    ],
    ['', '5/4', '--shard must be i/n'],
    ['', '0/0', '--shard must be i/n'],
  ])('%s (%s) is refused before anything is sent', async (words, shard, says) => {
    write('list.txt', lines(people(0, 4)));
    const args = ['contact', 'email', '--input', 'list.txt', '--shard', shard];
    expect(await leadpipe(args, '', toEnvironment(words))).toMatchObject(ending(2, says));
    expect(service.requests()).toBe(0);
  });

  it.each([
    ['JOB_COMPLETION_INDEX=1', 'auto/4', ['p00', 'p04']],
    [
      'SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=3 SLURM_ARRAY_TASK_COUNT=3',
      'auto',
      ['p01', 'p04'],
    ],
  ])('with %s, --shard %s takes its own rows', async (words, shard, rows) => {
    write('list.txt', lines(people(0, 6)));
    const args = ['contact', 'email', '--input', 'list.txt', '--shard', shard];
    expect((await leadpipe(args, '', toEnvironment(words))).code).toBe(0);
    expect(paid()).toEqual(rows);
  });
});
