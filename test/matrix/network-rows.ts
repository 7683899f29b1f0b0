import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { selfSigned } from '../helpers/certificates.ts';
import { all, lost, paid, type Row } from './row.ts';
import { after, hangUp, instead, reset, silence, status, through, type Way } from './ways.ts';

type Elsewhere = NonNullable<Row['elsewhere']>;

const unsent = all({ exit: 75, charged: 'no', type: 'unsent', requests: 0 });

/** Before a connection is made: nothing is sent, nothing is charged. */
const unsentRows: readonly Row[] = [
  {
    fault: 'connection refused',
    ways: [through],
    elsewhere: async () => {
      const closed = await listening(createServer(), 'http');
      closed.close();
      return closed;
    },
    endings: unsent,
    says: 'ECONNREFUSED',
  },
  {
    fault: 'no such host',
    ways: [through],
    // Longer than a label can be: no resolver asks the network for it.
    elsewhere: async () => ({ url: `https://${'nowhere'.repeat(10)}.invalid`, close() {} }),
    endings: unsent,
    says: 'nowhere.invalid',
  },
  {
    fault: 'connect time-out',
    ways: [through],
    // A connection counts as made when TLS is.
    elsewhere: () => listening(createServer(), 'https'),
    config: '{"profiles":{"default":{"timeout.connect":0.05,"retry.attempts":0}}}',
    endings: unsent,
    // undici's timer takes a second.
    only: ['balance', 'task create', 'contact', 'extract', 'search'],
    says: 'imeout',
  },
  {
    fault: 'a certificate that nobody vouches for',
    ways: [through],
    elsewhere: () => listening(createTlsServer(selfSigned('IP:127.0.0.1')), 'https'),
    endings: all({ exit: 76, charged: 'no', type: 'certificate', requests: 0 }),
    says: 'self-signed certificate',
  },
  {
    fault: 'plain HTTP at an https address',
    ways: [through],
    elsewhere: () =>
      listening(
        createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 X\r\n\r\n')),
        'https',
      ),
    endings: all({ exit: 76, charged: 'no', type: 'not_http', requests: 0 }),
  },
  {
    fault: 'not HTTP',
    ways: [instead('SSH-2.0-OpenSSH_9.2\r\n\r\n')],
    endings: all({ exit: 76, charged: 'no', type: 'not_http' }),
  },
  {
    fault: 'a corrupt config file',
    ways: [through],
    config: '{"profiles":',
    endings: all({ exit: 78, charged: 'no', type: 'configuration', requests: 0 }),
    says: 'config.json',
  },
  {
    fault: 'no API key',
    ways: [through],
    apiKey: '',
    endings: all({ exit: 78, charged: 'no', type: 'configuration', requests: 0 }),
    says: 'no API key',
  },
];

const brief = ['--timeout', '0.1'];

/** Sent, and no answer: the service has not got it, or has done it each time it came. */
const lostRows: readonly Row[] = (
  [
    ['a reset', reset],
    ['the end of the connection', hangUp],
    ['half a head, then the end', ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\nContent-')],
    ['silence', silence, brief],
  ] as const satisfies readonly (readonly [string, Way, (readonly string[])?])[]
).flatMap(([fault, way, options = []]) => [
  {
    fault: `${fault} before the service has the request`,
    ways: [way],
    options,
    endings: lost(0),
    says: /the connection to the service broke: |no (?:answer|data|event) for /,
  },
  {
    fault: `${fault} after the service has done it`,
    ways: [after(way)],
    options,
    endings: lost(1),
    says: /the connection to the service broke: |no (?:answer|data|event) for /,
  },
]);

const again = { exit: 0, requests: 2 } as const;
const answerLost = (type: string): Row['endings'] => ({
  G: again,
  // Those that replay bring it the second time.
  C: { ...again, paid: 1 },
  X: { ...again, paid: 1 },
  P: { exit: 8, charged: 'maybe', type, requests: 2, paid: 1 },
  S: { exit: 8, charged: 'maybe', type, requests: 2, paid: 1 },
});

/** A fault that passes. */
const onceRows: readonly Row[] = [
  {
    fault: 'one lost request',
    ways: [reset, through],
    endings: { G: again, ...paid({ ...again, paid: 1 }) },
  },
  {
    fault: 'one lost answer',
    ways: [after(reset), through],
    endings: answerLost('lost'),
    says: "The service has the request, but its answer can't be fetched again",
  },
  {
    fault: 'an answer that stays away once',
    ways: [after(silence), through],
    options: ['--timeout', '1'],
    endings: answerLost('lost'),
    says: "The service has the request, but its answer can't be fetched again",
  },
  {
    fault: 'a 504 for an answer, once',
    ways: [after(status(504)), through],
    endings: answerLost('gateway'),
    says: "The service has the request, but its answer can't be fetched again",
  },
  {
    fault: 'a 502 instead of the service, once',
    ways: [status(502), through],
    endings: { G: again, ...paid({ ...again, paid: 1 }) },
  },
  {
    fault: 'four lost requests',
    ways: [reset, reset, reset, reset, through],
    endings: { G: { exit: 0, requests: 5 }, C: { exit: 0, requests: 5, paid: 1 } },
  },
];

export const networkRows: readonly Row[] = [...unsentRows, ...lostRows, ...onceRows];

/** Starts to listen on a free port; whoever is connected when it closes is cut off. */
async function listening(server: Server, scheme: 'http' | 'https'): ReturnType<Elsewhere> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
