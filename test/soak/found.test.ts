import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  /** Runs the same search, killed at these changes, and then to its end. */
  async function live(...kills: readonly number[]) {
    const home = temporaryFolder();
    const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
    const days = join(home, 'days.jsonl');
    const rowsOf = (): string => readFileSync(days, 'utf8');
    writeFileSync(days, old);
    const args = ['search', 'company', 'any', '--limit', '3', '-o', days, '--append'];
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
  for (let at = undisturbed[0]?.changes ?? 0; ; at--) {
    const { results, purchases } = await live(at);
    if (purchases === 1 && results[0]?.rows === old) firsts.push(at);
    // Before that, its rest has to be bought.
    else if (firsts.length > 0) break;
  }
  // Each of the two with every second change.
  for (const [nth, first] of [firsts.at(-1) ?? 0, firsts[0] ?? 0].entries()) {
    for (let at = 1 + nth; ; at += 2) {
      const { results, rows, purchases } = await live(first, at);
      // Behind its end the same command is a new purchase.
      if (results[1]?.code !== null || purchases > 1) break;
      expect({ first, at, rows }).toEqual({ first, at, rows: whole });
    }
  }
}, 120_000);

it('a list goes on with its own operation, also where a newer one of the same file had sent nothing when it was killed', async () => {
  const service = await startCountingService(false);
  for (let killAt = 1; ; killAt++) {
    const home = temporaryFolder();
    const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
    const [ours, theirs] = [join(home, 'ours.jsonl'), join(home, 'theirs.jsonl')];
    // The second row can't be sent, so that the list is never complete.
    writeFileSync(ours, '{"objective":"Ada"}\n{"objective":""}\n');
    writeFileSync(theirs, '{"objective":"Grace"}\n');
    const contacts = (input: string) => [
      ...['contact', 'email', '--input', input],
      ...['-o', join(home, 'days.jsonl'), '--append'],
    ];
    const before = service.purchases.length;
    await runInProcess(contacts(ours), { env });
    const { code } = await startSimulated({ args: contacts(theirs), env, killAt, clockAheadMs: 0 }).ended;
    await runInProcess(contacts(ours), { env });
    const paid = service.purchases.slice(before).map(({ subject }) => subject);
    expect({ killAt, ours: paid.filter((subject) => subject === 'Ada') }).toEqual({ killAt, ours: ['Ada'] });
    if (code !== null || paid.includes('Grace')) break;
  }
}, 120_000);

it('runs that buy a lost answer again at the same time buy it once', async () => {
  const service = await startCountingService(false);
  const home = temporaryFolder();
  const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
  const list = join(home, 'list.jsonl');
  writeFileSync(list, '{"objective":"Ada"}\n');
  const args = ['contact', 'email', '--input', list, '--run', 'october', '--retry-unknown'];
  const killed = startSimulated({ args, env, clockAheadMs: 0 });
  service.onPurchase = killed.kill;
  await killed.ended;
  service.onPurchase = () => {};
  // The answer to its key is not given again.
  expect((await runInProcess(args, { env })).code).toBe(3);
  const codes = await Promise.all(
    [1, 2, 3].map(async () => (await startSimulated({ args, env, clockAheadMs: 0 }).ended).code),
  );
  await service.close();
  expect({ paid: service.purchases.length, codes: codes.sort() }).toEqual({ paid: 2, codes: [0, 3, 3] });
});

it('a row whose answer was lost before the service had no room is sent again with its key, wherever it stands', async () => {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    keys.push(String(request.headers['idempotency-key']));
    if (keys.length === 1) response.socket?.destroy();
    else if (keys.length < 4)
      response.writeHead(429, { 'retry-after': keys.length === 2 ? '0' : '3600' }).end();
    else response.writeHead(409).end('{"error":{"type":"request_already_exists","message":"known"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const home = temporaryFolder();
  const env = {
    ...bareEnvironment(home),
    ...pointedAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  };
  const list = join(home, 'list.jsonl');
  const args = ['contact', 'email', '--input', list, '--run', 'october'];
  writeFileSync(list, '{"objective":"Ada"}\n');
  const first = await runInProcess(args, { env });
  writeFileSync(list, '{"objective":""}\n{"objective":"Ada"}\n');
  const second = await runInProcess(args, { env });
  server.close();
  expect([first.code, second.code, new Set(keys).size]).toEqual([75, 3, 1]);
  expect(second.stderr).toContain('may be charged');
});
