import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { notFound, searchFrames, startFaultServer, streamStart } from '../helpers/fault-server.ts';
import {
  cwd,
  ending,
  env,
  leadpipe,
  operationsFolder,
  read,
  serve,
  service,
  setEnv,
  write,
} from '../helpers/lists.ts';
import { startRowService } from '../helpers/row-service.ts';
import { bareEnvironment, command, pointedAt, resultOf, start } from '../helpers/run.ts';
import { withSettings } from '../helpers/settings.ts';

/** Follows the advice that an unfinished list prints: no row is paid twice. */
const input = 'list.txt';
const contact = ['contact', 'email', '--input-format', 'text', '--concurrency', '1', '-f', 'jsonl'];
const rows = (...given: string[]): string => given.map((row) => `${row}\n`).join('');
const operation = (): string => readdirSync(operationsFolder())[0] ?? '';
const settings = (values: object): void => setEnv(withSettings({ 'price.contact.email': 5, ...values }));

describe('a list without a file and a name', () => {
  it.each([
    [['--input', '-'], 'history show'],
    [['--input', '-', '--run', 'october'], 'the same command again with a higher --max-credits'],
  ])('from standard input over its limit: %j', async (more, words) => {
    settings({});
    const args = [...contact, ...more, '--max-credits', '12'];
    const { code, stderr } = await leadpipe(args, rows('a', 'b', 'c'));
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining(words) });
    expect(service.charged.size).toBe(2);
    const isNamed = more.includes('--run');
    expect(stderr.includes('are not bought again')).toBe(isNamed);
    const shown = await leadpipe(['resume', operation()]);
    expect(shown.code).toBe(2);
    expect(shown.stderr.includes('Run the same command again')).toBe(isNamed);
  });

  it('with a row that was corrected, and no rows behind the first ones', async () => {
    write(input, rows('a', 'x'.repeat(4100), 'c', 'd'));
    const { stderr } = await leadpipe([...contact, '--input', input, '--first', '3']);
    expect(stderr).toMatch(/To buy the other rows, run `leadpipe resume op_\w+`\./);
    const [, advice = ''] = /missing rows, .* run `leadpipe ([^`]+)`/.exec(stderr) ?? [];
    write(input, rows('a', 'b', 'c', 'd'));
    const { code, stdout } = await leadpipe(advice.split(' '));
    expect({ code, rows: stdout.split('\n').length }).toEqual({ code: 0, rows: 4 });
    expect(service.charged.size).toBe(3);
  });

  it('whose answers were lost', async () => {
    const lossy = await startRowService({ garbled: true });
    const there = pointedAt(lossy.url);
    write(input, rows('a'));
    const { stderr } = await leadpipe([...contact, '--input', input], '', there);
    const [, advice = ''] = /run `leadpipe ([^`]+ --retry-unknown)`/.exec(stderr) ?? [];
    await leadpipe(advice.split(' '), '', there);
    await lossy.close();
    expect(lossy.charged.size).toBe(2);
  });

  it('is named to the next one only if that has the same input', async () => {
    write(input, rows('a', 'x'.repeat(4100)));
    const other = 'other.txt';
    write(other, rows('z'));
    await leadpipe([...contact, '--input', input]);
    const said = async (file: string): Promise<boolean> =>
      (await leadpipe([...contact, '--input', file])).stderr.includes('did not finish it');
    expect([await said(other), await said(input)]).toEqual([false, true]);
  });
});

it('the limit of the day is named, and no option that does not help', async () => {
  settings({ max_credits_per_day: 12 });
  const args = [...contact, '--input', '-', '-o', join(cwd, 'out.jsonl')];
  const left = await leadpipe(args, rows('a', 'b', 'c'));
  const again = await leadpipe([...args, '--max-credits', '1000'], rows('a', 'b', 'c'));
  expect([left.code, again.code, service.charged.size]).toEqual([5, 5, 2]);
  for (const { stderr } of [left, again]) {
    expect(stderr).toContain('max_credits_per_day');
    expect(stderr).not.toContain('--max-credits');
  }
});

it('a reader that closes is told nothing, and the list counts as ended', async () => {
  await serve({ latencyMs: 200 });
  write(input, rows(...Array.from({ length: 12 }, (_, at) => `p${at}`)));
  const child = start([...contact, '--input', input], { env, cwd });
  child.stdout?.once('data', () => child.stdout?.destroy());
  const { code, stderr } = await resultOf(child);
  expect({ code, stderr }).toEqual({ code: 141, stderr: 'sent for row 1: p0\n' });
  expect(read(join(operationsFolder(), operation(), 'journal.jsonl'))).toContain('"outcome":"reader_closed"');
});

it.runIf(existsSync('/dev/full')).each([['man'], ['completion bash'], ['config path'], ['--help']])(
  'standard output that takes nothing is an error: %s',
  (words) => {
    const { stderr, status: code } = spawnSync('sh', ['-c', `"$0" ${words} > /dev/full`, command], {
      encoding: 'utf8',
      env: bareEnvironment(),
    });
    expect({ stderr, code }).toEqual({
      stderr: "error: can't write standard output: no space left on the device\n",
      code: 74,
    });
  },
);

it('the error of a search whose last answer was lost says how to resume it', async () => {
  let searches = 0;
  settings({ 'retry.attempts': 0 });
  const [first = ''] = searchFrames([['{"name":"Lead 1"}', '{"name":"Lead 2"}']]);
  const server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') return void socket.end(notFound);
    if (++searches > 1) return void socket.destroy();
    socket.write(streamStart(first), () => socket.destroy());
  });
  const there = pointedAt(server.url);
  const out = join(cwd, 'out.jsonl');
  const search = ['search', 'company', 'any', '--limit', '5', '-o', out];
  expect((await leadpipe(search, '', there)).code).toBe(3);
  const lost = await leadpipe(search, '', there);
  const again = await leadpipe(['resume'], '', there);
  expect(lost).toMatchObject(ending(8, `${out}.part`, 'leadpipe resume op_'));
  expect(again.stderr).toContain('it may have been charged');
});
