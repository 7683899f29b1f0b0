import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../src/clock.ts';
import { createConnect } from '../../src/transport/connect.ts';
import { withEarly } from '../../src/transport/early.ts';
import { chunk, lastChunk, searchFrames, startFaultServer, streamHead } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, run } from '../helpers/run.ts';

const long = 60_000;
const clock = createClock();
const accepted: Socket[] = [];
const server = createServer((socket) => accepted.push(socket.on('error', () => {})));
let ended: AbortController;
let target: Parameters<ReturnType<typeof createConnect>>[0];

beforeEach(async () => {
  accepted.length = 0;
  ended = new AbortController();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  target = { host: `127.0.0.1:${port}`, hostname: '127.0.0.1', protocol: 'http:', port: String(port) };
});

afterEach(async () => {
  ended.abort();
  for (const socket of accepted) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

function early(keptMs = long) {
  const { connect, prepare } = withEarly(
    createConnect({ timeout: 5000 }, ended.signal),
    target,
    keptMs,
    clock,
    ended.signal,
  );
  prepare();
  return connect;
}

describe('the connection that is opened early', () => {
  it('is there before it is asked for, is given away once, and carries what it is given', async () => {
    const accepting = once(server, 'connection');
    const connect = early();
    const [first] = (await accepting) as [Socket];
    const socket = await connect(target);
    socket.write('hello');
    expect(String((await once(first, 'data'))[0])).toBe('hello');
    expect(await connect(target)).not.toBe(socket);
    await expect.poll(() => accepted.length).toBe(2);
    expect(socket.eventNames()).not.toContain('readable');
  });

  it.each([
    ['was closed by the service', (socket: Socket) => socket.end()],
    ['was reset by the service', (socket: Socket) => socket.resetAndDestroy()],
    ['already said something', (socket: Socket) => socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n')],
  ])('is replaced when it %s', async (_, spoil) => {
    const accepting = once(server, 'connection');
    const connect = early();
    const [first] = (await accepting) as [Socket];
    spoil(first);
    await once(first, 'close');
    const socket = await connect(target);
    await expect.poll(() => accepted.length).toBe(2);
    const [, second] = accepted;
    second?.write('for the second');
    expect(String((await once(socket, 'data'))[0])).toBe('for the second');
  });

  it.each([
    ['nobody asked for it in time', 1, () => {}],
    ['the run ends', long, () => ended.abort()],
  ])('is closed when %s', async (_, keptMs, end) => {
    const accepting = once(server, 'connection');
    early(keptMs);
    const [first] = (await accepting) as [Socket];
    const closed = once(first.resume(), 'close');
    end();
    await closed;
  });

  it('is tried again when it could not be opened', async () => {
    const refused = { ...target, port: '1' };
    const direct = createConnect({ timeout: 5000 }, ended.signal);
    const { connect, prepare } = withEarly(direct, refused, long, clock, ended.signal);
    prepare();
    await expect(connect(refused)).rejects.toThrow('ECONNREFUSED');
    await connect(target);
    await expect.poll(() => accepted.length).toBe(1);
  });
});

describe('a command', () => {
  it('that buys opens one connection, and the one request of its purchase goes over it', async () => {
    const service = await startFaultServer((socket) => {
      const frames = searchFrames([['{"name":"Ada"}']]).join('');
      socket.end(Buffer.concat([Buffer.from(streamHead), chunk(frames), Buffer.from(lastChunk)]));
    });
    const env = { ...bareEnvironment(), ...pointedAt(service.url) };
    expect((await run(['search', 'company', 'dentists'], { env })).code).toBe(0);
    expect({ connections: service.connections(), requests: service.requests.length }).toEqual({
      connections: 1,
      requests: 1,
    });
    await service.close();
  });
});
