import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from '../helpers/run.ts';
import { startCountingService } from './counting-service.ts';
import { simulate, startSimulated } from './simulated.ts';

beforeAll(simulate);

/** What random runs have found, as short as it can be told. */
it('rows that another operation of a named run has bought are added to a file once', async () => {
  const service = await startCountingService(false);
  const home = temporaryFolder();
  const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
  const [list, days] = [join(home, 'list.jsonl'), join(home, 'days.jsonl')];
  // The second row can't be sent, so that the list is never complete.
  writeFileSync(list, '{"objective":"Ada"}\n{"objective":""}\n');
  const contacts = (...more: string[]) =>
    runInProcess(['contact', 'email', '--input', list, '--run', 'october', ...more], { env });
  expect((await contacts('-o', join(home, 'own.jsonl'))).code).toBe(3);
  expect((await contacts('-o', days, '--append')).code).toBe(3);
  const once = readFileSync(days, 'utf8');
  expect(once).toContain('Ada@example.com');
  await contacts('-o', days, '--append');
  await service.close();
  // Neither the row with its answer nor the one that can't be sent.
  expect(readFileSync(days, 'utf8')).toBe(once);
});

it('a search that is completed from what is stored adds its rows once, wherever it is killed', async () => {
  const service = await startCountingService(false);
  const old = '{"name":"old"}\n';
  /** Runs the same search until one is not killed; each run is killed at another change. */
  async function live(...kills: readonly number[]) {
    const home = temporaryFolder();
    const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
    const days = join(home, 'days.jsonl');
    const rowsOf = (): string => readFileSync(days, 'utf8');
    writeFileSync(days, old);
    const args = ['search', 'company', 'any', '--limit', '3', '-o', days, '--append'];
    const before = service.purchases.length;
    const results = [];
    for (const killAt of kills) {
      const { code } = await startSimulated({ args, env, killAt, clockAheadMs: 0 }).ended;
      results.push({ code, rows: rowsOf() });
    }
    await startSimulated({ args, env, clockAheadMs: 0 }).ended;
    return { results, rows: rowsOf(), purchases: service.purchases.length - before };
  }
  // The moments at which all leads are stored, and the file is as it was.
  const firsts: number[] = [];
  let whole = '';
  for (let at = 1; ; at++) {
    const { results, rows, purchases } = await live(at);
    if (results[0]?.code !== null) break;
    if (purchases === 1 && results[0]?.rows === old) firsts.push(at);
    if (purchases === 1) whole = rows;
  }
  expect(whole.split('\n').length).toBe(5);
  for (const first of [firsts.at(-14), firsts.at(-1)]) {
    for (let at = 1; ; at++) {
      const { results, rows, purchases } = await live(first ?? 0, at);
      // Behind its end the same command is a new purchase.
      if (results[1]?.code !== null || purchases > 1) break;
      expect({ first, at, rows }).toEqual({ first, at, rows: whole });
    }
  }
  await service.close();
}, 120_000);
