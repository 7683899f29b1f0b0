import type { Socket } from 'node:net';
import { Agent } from 'undici';
import { expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { openExchange } from '../../src/transport/exchange.ts';
import { machineClock } from '../helpers/clock.ts';
import { startFaultServer } from '../helpers/fault-server.ts';
import { until } from '../helpers/run.ts';

it('an answer that nobody reads is not taken from the network', async () => {
  const megabyte = Buffer.alloc(1024 * 1024, ' ');
  const all = 128;
  let sent = 0;
  let turns = 0;
  const server = await startFaultServer(async (socket: Socket) => {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${all * megabyte.length}\r\n\r\n`,
    );
    while (sent < all) {
      await new Promise((resolve) => socket.write(megabyte, resolve));
      sent++;
      turns = 0;
    }
  });
  const dispatcher = new Agent();
  const call = {
    endpoint: endpoints.search,
    idempotencyKey: 'key',
    limits: { connect: 60, headers: 60, idle: 60, total: 60 },
    signal: new AbortController().signal,
  };
  const outgoing = { origin: server.url, path: '/', method: 'GET' } as const;
  const exchange = await openExchange({ dispatcher, clock: machineClock }, call as never, outgoing);
  // The server is stuck when it has sent nothing for many turns: what is under way is held by the system.
  await until(() => sent === all || turns++ > 200_000);
  expect(sent).toBeLessThan(all);
  exchange.close();
  await dispatcher.destroy();
});
