import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandsWith } from '../helpers/commands.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type RawRequest, startFaultServer } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt } from '../helpers/run.ts';
import { withConfigFile } from '../helpers/settings.ts';
import { answerRows } from './answer-rows.ts';
import { framingRows } from './framing-rows.ts';
import { networkRows } from './network-rows.ts';
import { type Operation, operations } from './operations.ts';
import type { Ending, Row } from './row.ts';
import { statusRows } from './status-rows.ts';
import { deliverTo, through } from './ways.ts';

/** The matrix of faults and operations. What was charged is what the ledger of the local service says. */

let service: LedgerService;
let task = '';
let cells = 0;
/** Credits that all cells should have cost. */
let due = 0;

beforeAll(async () => {
  service = await startLedgerService({ batch_size: 1, batch_pause_ms: 0 });
  const made = await runInProcess(['task', 'create', 'company', 'fintech', '--limit', '3'], {
    env: pointedAt(service.url, ledgerKey),
  });
  task = JSON.parse(made.stdout).leads_search_id;
  await service.quiet();
  due = service.spent();
});
afterAll(async () => {
  await service.quiet();
  const spent = service.spent();
  await service.close();
  expect(spent).toBe(due);
});

/**
 * Each fault with every operation. Otherwise faults with the same endings are taken for one: each of them meets one column at least, and each
 * column one of them, with one of its operations, the next fault with the next.
 */
const exhaustive = process.env.LEADPIPE_EXHAUSTIVE === '1';

/** `nth` of all faults, and `place` among those with the same endings, which are so `many`. */
type Numbered = readonly [fault: string, row: Row, nth: number, place: number, many: number];
const rows = [...networkRows, ...framingRows, ...statusRows, ...answerRows];
const numbered = rows.map((row, nth): Numbered => {
  const same = rows.filter(({ endings }) => JSON.stringify(endings) === JSON.stringify(row.endings));
  return [row.fault, row, nth, same.indexOf(row), same.length];
});
const isTimed = ([, { options }]: Numbered): boolean => options?.includes('--timeout') === true;

function describeCells(_: string, row: Row, nth: number, place: number, many: number): void {
  const concerned = operations.filter(
    ({ group, name }) => row.endings[group] && row.only?.includes(name) !== false,
  );
  const columns = [...new Set(concerned.map(({ group }) => group))];
  const step = Math.min(many, columns.length);
  for (const operation of concerned) {
    const ending = row.endings[operation.group];
    const alike = concerned.filter(({ group }) => group === operation.group);
    const isChosen =
      columns.indexOf(operation.group) % step === place % step && alike[nth % alike.length] === operation;
    if (ending === undefined || !(exhaustive || isChosen)) continue;
    it(`${operation.name}: exit ${ending.exit}`, () => expectEnding(row, operation, ending));
  }
}

describe.concurrent.each(numbered.filter((one) => !isTimed(one)))('%s', describeCells);
// What else this process does at once would count for their short times.
describe.each(numbered.filter(isTimed))('%s', describeCells);

it('every paid command meets every fault', async () => {
  // `task run` creates as `task create` does, and reads as `task fetch` does.
  const names = (await commandsWith('--idempotency-key')).filter((name) => name !== 'task run');
  expect(names.filter((name) => !operations.some((one) => one.name === name))).toEqual([]);
});

async function expectEnding(row: Row, operation: Operation, ending: Ending): Promise<void> {
  const { group, price } = operation;
  const key = `cell-${++cells}`;
  const withKey = group === 'G' ? [] : ['--idempotency-key', key];
  if (row.usedBy !== undefined) {
    const args = row.usedBy === 'another' ? operation.otherArgs : operation.args(task);
    const used = await runInProcess([...args, ...withKey], {
      env: pointedAt(service.url, ledgerKey),
    });
    expect(used).toMatchObject({ code: 0 });
    await service.quiet(key);
  }
  const before = service.purchaseOf(key)?.settled ?? 0;
  due += before;
  const { result, requests } = await runOnTheWay(row, operation, [
    ...operation.args(task),
    ...withKey,
    ...(row.options ?? []),
    '--json-errors',
  ]);
  await service.quiet(key);

  // Without settings that can be read, no request is made of the words yet.
  const isMade = group !== 'G' && ending.type !== 'configuration';
  expectError(result, row, ending, isMade ? key : null);
  expect(result.code).toBe(ending.exit);
  expect(result.stdout === '').toBe(ending.exit !== 0 && ending.exit !== 3);
  expect(requests.length).toBe(ending.requests ?? 1);
  expectSameRequest(requests, group === 'G' ? undefined : key);
  const cost = (ending.paid ?? 0) * price;
  due += cost;
  expect((service.purchaseOf(key)?.settled ?? 0) - before).toBe(cost);
}

/** Runs a command against the service with the row's fault in between; `requests` are those of its operation. */
async function runOnTheWay(row: Row, { endpoint }: Operation, args: readonly string[]) {
  let nth = 0;
  const delivered: Promise<Buffer>[] = [];
  const { ways = [through] } = row;
  const way = await startFaultServer(async (socket, request) => {
    const deliver = (): Promise<Buffer> => {
      const answer = deliverTo(service.url, request);
      delivered.push(answer);
      return answer;
    };
    // Whatever else the command reads arrives.
    if (!isOf(endpoint, request)) return void socket.end(await deliver());
    const take = ways[Math.min(nth++, ways.length - 1)] ?? ways[0];
    await take({ socket, endpoint, deliver });
  });
  const elsewhere = await row.elsewhere?.();
  const folder = row.config === undefined ? bareEnvironment() : withConfigFile(row.config);
  const env = { ...folder, ...pointedAt(elsewhere?.url ?? way.url, row.apiKey ?? ledgerKey) };
  try {
    const result = await runInProcess(args, { env });
    // What the command has given up may still be on its way.
    await Promise.all(delivered);
    const others = way.requests.filter((request) => !isOf(endpoint, request));
    // Nothing that was not asked for costs anything.
    expect(others.filter(({ method }) => method !== 'GET')).toEqual([]);
    return { result, requests: way.requests.filter((request) => isOf(endpoint, request)) };
  } finally {
    await elsewhere?.close();
    await way.close();
  }
}

function isOf({ method, path }: Operation['endpoint'], request: RawRequest): boolean {
  return request.method === method && request.path.split('?')[0] === path;
}

function expectError(
  { stderr }: { stderr: string },
  row: Row,
  { exit, charged, type }: Ending,
  idempotency_key: string | null,
): void {
  if (charged === undefined) {
    expect(stderr).not.toContain('"error"');
    return;
  }
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  expect(error).toMatchObject({ exit, charged, type, idempotency_key });
  expect(error.message).toMatch(row.says ?? ' ');
  expect(error.message).not.toContain('\n');
  expect(error.hint).toMatch(/\S/);
  expect(error.retryable).toBe(exit === 75);
}

/** Every repetition is the first request again, with its key. */
function expectSameRequest(requests: readonly RawRequest[], key: string | undefined): void {
  for (const request of requests) {
    expect(request).toEqual(requests[0]);
    expect(request.headers['idempotency-key']).toBe(key);
  }
}
