import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { createAgent } from '../../src/transport/agent.ts';
import type { Request } from '../../src/transport/call.ts';
import { createTransport, type Transport } from '../../src/transport/request.ts';
import { type FaultServer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';

let server: FaultServer | undefined;
let agent: Dispatcher | undefined;
afterEach(async () => {
  await agent?.destroy();
});

const answer = jsonAnswer('{"object":"contact_search_result"}');

async function transportTo(url: string): Promise<Transport> {
  agent = await createAgent({ service: new URL(url), isLoopback: true, connectTimeoutMs: 1000 });
  return createTransport({
    dispatcher: agent,
    clock: createClock(),
    baseUrl: new URL(url),
    apiKey: 'key-0123456789',
    keyHeader: undefined,
    userAgent: 'test',
    random: () => 0,
    retryAttempts: 0,
    retryBudgetMs: 0,
    timeouts: { headers: 5, idle: 5, total: 10 },
  });
}

const contact = { endpoint: 'contactSearch', body: '{}', idempotencyKey: 'k' } as const;

const send = (to: Transport, request: Request) => to.json(request, new AbortController().signal, () => ({}));

describe('connections', () => {
  it('are used again at once, but not after a second of idleness', async () => {
    const sockets: Socket[] = [];
    server = await startFaultServer((socket) => {
      sockets.push(socket);
      socket.write(answer);
    });
    const to = await transportTo(server.url);
    await send(to, contact);
    await send(to, contact);
    expect(server.connections()).toBe(1);
    // Our side gives the idle connection up by itself; the server keeps it open for ever.
    await once(sockets[0] as Socket, 'close');
    await send(to, contact);
    expect(server.connections()).toBe(2);
    expect(server.requests).toHaveLength(3);
  });

  it('are closed behind the last request on them', async () => {
    server = await startFaultServer((socket) => void socket.write(answer));
    const to = await transportTo(server.url);
    await send(to, { endpoint: 'balance', last: true });
    await send(to, contact);
    expect(server.connections()).toBe(2);
    expect(server.requests[0]?.headers.connection).toBe('close');
  });
});

it('an answer comes whole, or with what broke it', async () => {
  const text = JSON.stringify({ object: 'contact_search_result', long: 'x'.repeat(1_000_000) });
  const whole = jsonAnswer(text, ['X-Request-Id: req_1']);
  server = await startFaultServer((socket, { body }) => {
    if (body === '{}') socket.write(whole);
    else socket.end(whole.slice(0, -1));
  });
  const to = await transportTo(server.url);
  const answer = await send(to, contact);
  expect({ isWhole: answer.text === text, id: answer.requestId }).toEqual({ isWhole: true, id: 'req_1' });
  await expect(send(to, { ...contact, body: '{"cut":1}' })).rejects.toMatchObject({
    fault: 'lost',
    details: { requestId: 'req_1', charged: 'maybe' },
  });
});
