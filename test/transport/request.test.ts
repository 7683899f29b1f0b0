import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { createAgent } from '../../src/transport/agent.ts';
import { createTransport, type Transport } from '../../src/transport/request.ts';
import { type FaultServer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer | undefined;
let transport: Transport | undefined;
afterEach(async () => {
  await transport?.close();
  await server?.close();
});

const limits = { headers: 5, idle: 5, total: 10 };
const answer = wholeAnswer('200 OK', 'application/json', '{"object":"contact_search_result"}');

async function transportTo(url: string, keyHeader?: 'x-api-key' | 'bearer'): Promise<Transport> {
  transport = createTransport({
    fetch: globalThis.fetch,
    dispatcher: await createAgent({ proxies: false, connectTimeoutMs: 1000, env: {} }),
    clock: {
      now: () => new Date(),
      monotonic: () => performance.now(),
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    },
    baseUrl: new URL(url),
    apiKey: 'key-0123456789',
    keyHeader,
    userAgent: 'test',
    random: () => 0,
    retryAttempts: 0,
    retryBudgetMs: 0,
  });
  return transport;
}

const contact = {
  endpoint: endpoints.contactSearch,
  body: '{}',
  idempotencyKey: 'k',
  limits,
  signal: new AbortController().signal,
};

describe('connections', () => {
  it('are used again at once, but not after a second of idleness', async () => {
    const sockets: Socket[] = [];
    server = await startFaultServer((socket) => {
      sockets.push(socket);
      socket.write(answer);
    });
    const to = await transportTo(server.url);
    await to.json(contact);
    await turn();
    await to.json(contact);
    expect(server.connections()).toBe(1);
    // Our side gives the idle connection up by itself; the server keeps it open for ever.
    await once(sockets[0] as Socket, 'close');
    await to.json(contact);
    expect(server.connections()).toBe(2);
    expect(server.requests).toHaveLength(3);
  });
});

/** Lets the connection see that its answer has ended. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('key headers', () => {
  it.each([
    [undefined, 'bearer'],
    ['bearer', 'bearer'],
    ['x-api-key', 'x-api-key'],
  ] as const)('auth_header %s sends contact search with %s', async (chosen, sent) => {
    server = await startFaultServer((socket) => void socket.write(answer));
    await (await transportTo(server.url, chosen)).json(contact);
    const headers = server.requests[0]?.headers ?? {};
    expect([headers.authorization, headers['x-api-key']]).toEqual(
      sent === 'bearer' ? ['Bearer key-0123456789', undefined] : [undefined, 'key-0123456789'],
    );
  });
});

describe('TLS', () => {
  it('a certificate that nobody vouches for is refused, whatever the environment says', async () => {
    const folder = temporaryFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '1',
        ...subject,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      {
        stdio: 'ignore',
      },
    );
    let requests = 0;
    const secure = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
      requests++;
      response
        .setHeader('content-type', 'application/json')
        .end('{"object":"credit_balance","available_credits":1}');
    }).listen(0, '127.0.0.1');
    await once(secure, 'listening');
    const env = pointedAt(`https://127.0.0.1:${(secure.address() as AddressInfo).port}`);
    const refused = await run(['balance', '--json-errors'], {
      env: { ...env, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    });
    expect(refused.code).toBe(76);
    expect(refused.stderr).toContain('"type":"certificate"');
    expect(requests).toBe(0);
    expect(await run(['balance'], { env: { ...env, NODE_EXTRA_CA_CERTS: cert } })).toMatchObject({ code: 0 });
    secure.close();
  });
});
