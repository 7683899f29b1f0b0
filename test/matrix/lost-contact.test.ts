import { beforeAll, expect, it } from 'vitest';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run } from '../helpers/run.ts';
import { deliverTo } from './ways.ts';

/** A look-up that was done and paid for, and whose answer never came, through the built command. */

const contact = ['contact', 'email', 'Lena Weber', '--json-errors'];
const price = 5;
let service: LedgerService;
let way: FaultServer;
let loseAnswers = true;

beforeAll(async () => {
  service = await startLedgerService({});
  way = await startFaultServer(async (socket, request) => {
    const answer = await deliverTo(service.url, request);
    if (loseAnswers) socket.resetAndDestroy();
    else socket.end(answer);
  });
});

it('exits 8, says that it may be charged, and is bought again on the word of the user alone', async () => {
  const env = { ...bareEnvironment(), ...pointedAt(way.url, ledgerKey) };
  const { code, stdout, stderr } = await run(contact, { env });
  expect({ code, stdout }).toEqual({ code: 8, stdout: '' });
  const [first, second, ...more] = way.requests;
  const key = first?.headers['idempotency-key'] ?? '';
  expect(JSON.parse(stderr).error).toMatchObject({
    exit: 8,
    charged: 'maybe',
    retryable: false,
    idempotency_key: key,
    hint: expect.stringContaining('leadpipe balance'),
  });
  // Asked once more for the answer: the same request, which the service knows by its key.
  expect(more).toEqual([]);
  expect(second?.body).toBe(first?.body);
  expect(second?.headers).toEqual(first?.headers);
  expect(service.purchaseOf(key)).toMatchObject({ state: 'settled', settled: price });
  expect(service.spent()).toBe(price);

  loseAnswers = false;
  const same = await run([...contact, '--idempotency-key', key], { env });
  expect(same).toMatchObject({ code: 8, stdout: '' });
  expect(service.spent()).toBe(price);

  const again = await run(contact, { env });
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout).result.content).toBe('lena@nordlicht.example');
  expect(way.requests.at(-1)?.headers['idempotency-key']).not.toBe(key);
  expect(service.spent()).toBe(2 * price);
}, 60_000);
