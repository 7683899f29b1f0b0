import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import { bareEnvironment, pointedAt, resultOf, start, temporaryFolder } from '../helpers/run.ts';

/** `max_credits_per_day` counts the worst cases of all runs of this machine since midnight. */

let service: RowService;
let env: Record<string, string>;
let cwd: string;
beforeEach(async () => {
  service = await startRowService({ credits: 1000 });
  env = { ...bareEnvironment(), ...pointedAt(service.url) };
  cwd = temporaryFolder();
  for (const setting of [
    ['price.contact.email', '2'],
    ['max_credits_per_day', '10'],
  ]) {
    expect(await runInProcess(['config', 'set', ...setting], { env })).toMatchObject({ code: 0 });
  }
});

const run = (...args: string[]) => runInProcess(args, { env });
const contact = (who: string) => run('contact', 'email', who, '-q', '--idempotency-key', who);
const rows = (count: number, from = 0): string => {
  const file = join(cwd, `${from}-${count}.txt`);
  writeFileSync(file, Array.from({ length: count }, (_, at) => `p${from + at}\n`).join(''));
  return file;
};
const refused = { code: 5, stderr: expect.stringContaining('leadpipe config set max_credits_per_day') };

it('counts single purchases, lists and what leaves no record together, and refuses the one above it', async () => {
  expect(await contact('a')).toMatchObject({ code: 0 });
  expect(await run('contact', 'email', 'b', '-q', '--no-history', '--idempotency-key', 'b')).toMatchObject({
    code: 0,
  });
  expect(await run('contact', 'email', '--input', rows(4), '-q')).toMatchObject(refused);
  expect(service.charged.size).toBe(2);
  expect(await run('contact', 'email', '--input', rows(3), '-q')).toMatchObject({ code: 0 });
  expect(service.charged.size).toBe(5);
  const { code, stderr } = await contact('c');
  expect({ code, stderr }).toMatchObject(refused);
  expect(stderr).toContain('only 0 are left of the 10 for today');
  expect(stderr).toContain('charged: no');
  expect(service.charged.size).toBe(5);
});

it('buys of what comes on standard input as many rows as are left of the day', async () => {
  expect(await contact('a')).toMatchObject({ code: 0 });
  const stdin = 'p1\np2\np3\np4\np5\np6\n';
  expect(await runInProcess('contact email --input - -q', { env, stdin })).toMatchObject({ code: 5 });
  expect(service.charged.size).toBe(5);
});

it('is not passed by several runs at the same time', async () => {
  const ended = await Promise.all(
    Array.from({ length: 8 }, (_, at) => resultOf(start(['contact', 'email', `p${at}`, '-q'], { env }))),
  );
  expect(ended.map(({ code }) => code).sort()).toEqual([0, 0, 0, 0, 0, 5, 5, 5]);
  expect(service.charged.size).toBe(5);
});

it('refuses a preview of what it would refuse', async () => {
  expect(await contact('a')).toMatchObject({ code: 0 });
  expect(await run('contact', 'email', '--input', rows(4), '--dry-run')).toMatchObject({ code: 0 });
  expect(await run('contact', 'email', '--input', rows(5), '--dry-run')).toMatchObject(refused);
  expect(await run('config', 'set', 'max_credits_per_day', '3')).toMatchObject({ code: 0 });
  expect(await run('contact', 'email', 'b', '--dry-run')).toMatchObject(refused);
  expect(service.charged.size).toBe(1);
});

it('refuses what has no price, naming its setting', async () => {
  expect(await run('contact', 'phone', 'a')).toMatchObject(ending(5, 'price.contact.phone'));
});

it('buys nothing more on a day of which nobody knows what it has cost', async () => {
  for (const setting of ['price.contact.email', 'max_credits_per_day']) await run('config', 'unset', setting);
  expect(await contact('a')).toMatchObject({ code: 0 });
  await run('config', 'set', 'price.contact.email', '2');
  await run('config', 'set', 'max_credits_per_day', '10');
  expect(await contact('b')).toMatchObject(ending(5, 'had no known price'));
  expect(service.charged.size).toBe(1);
});
