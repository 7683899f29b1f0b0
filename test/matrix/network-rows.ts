import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { selfSigned } from '../helpers/certificates.ts';
import { listening } from '../helpers/listening.ts';
import { all, lost, type Row, someOfAll, well } from './row.ts';
import { after, hangUp, instead, reset, silence, status, through, type Way } from './ways.ts';

/** A server that is asked in place of the service, at an https address. */
async function elsewhere(server: Server) {
  server.on('connection', (socket: Socket) => void socket.on('error', () => {}));
  const listener = await listening(server);
  return { ...listener, url: listener.url.replace('http', 'https') };
}
const unsent = { exit: 75, charged: 'no', type: 'unsent', requests: 0 } as const;
const notHttp = { exit: 76, charged: 'no', type: 'not_http' } as const;
const unconfigured = { exit: 78, charged: 'no', type: 'configuration', requests: 0 } as const;

/** Before a connection is made: nothing is sent, nothing is charged. */
const unsentRows: readonly Row[] = [
  {
    fault: 'connection refused',
    elsewhere: async () => {
      const closed = await listening(createServer());
      await closed.close();
      return closed;
    },
    endings: all({ ...unsent, type: 'not_running' }),
    says: 'ECONNREFUSED',
  },
  {
    fault: 'no such host',
    // Longer than a label can be: no resolver asks the network for it.
    elsewhere: async () => ({ url: `https://${'nowhere'.repeat(10)}.invalid`, close() {} }),
    endings: all(unsent),
    says: 'nowhere.invalid',
  },
  {
    fault: 'connect time-out',
    // A connection counts as made when TLS is.
    elsewhere: () => elsewhere(createServer()),
    config: '{"profiles":{"default":{"timeout.connect":0.05,"retry.attempts":0}}}',
    endings: all(unsent),
    // undici's timer takes a second.
    only: someOfAll,
    says: 'imeout',
  },
  {
    fault: 'a certificate that nobody vouches for',
    elsewhere: () => elsewhere(createTlsServer(selfSigned('IP:127.0.0.1'))),
    endings: all({ exit: 76, charged: 'no', type: 'certificate', requests: 0 }),
    says: 'self-signed certificate',
  },
  {
    fault: 'plain HTTP at an https address',
    elsewhere: () => elsewhere(createServer((socket) => void socket.end('HTTP/1.1 400 X\r\n\r\n'))),
    endings: all({ ...notHttp, requests: 0 }),
    says: 'it answers without TLS, so it probably speaks http, not https',
  },
  { fault: 'not HTTP', ways: [instead('SSH-2.0-OpenSSH_9.2\r\n\r\n')], endings: all(notHttp) },
  { fault: 'a corrupt config file', config: '{"profiles":', endings: all(unconfigured), says: 'config.json' },
  { fault: 'no API key', apiKey: '', endings: all(unconfigured), says: 'no API key' },
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
).flatMap(([fault, way, options = []]) =>
  (
    [
      ['before the service has the request', way, 0],
      ['after the service has done it', after(way), 1],
    ] as const
  ).map(([when, there, paid]) => ({
    fault: `${fault} ${when}`,
    ways: [there] as const,
    options,
    endings: lost(paid),
    says: /the connection to the service broke: |no (?:answer|data|event) for /,
  })),
);

/** Answers that are lost once: those that replay bring them the second time. */
const answersLost: readonly Row[] = (
  [
    ['one lost answer', reset, 'lost'],
    ['an answer that stays away once', silence, 'lost', ['--timeout', '1']],
    ['a 504 for an answer, once', status(504), 'gateway'],
  ] as const satisfies readonly (readonly [string, Way, string, (readonly string[])?])[]
).map(([fault, way, type, options = []]) => {
  const unknown = { exit: 8, charged: 'maybe', type, requests: 2, paid: 1 } as const;
  return {
    fault,
    ways: [after(way), through],
    options,
    endings: { ...well(2), P: unknown, S: unknown },
    says: "The service has the request, but its answer can't be fetched again",
  };
});

/** A fault that passes. */
const onceRows: readonly Row[] = [
  { fault: 'one lost request', ways: [reset, through], endings: well(2) },
  { fault: 'a 502 instead of the service, once', ways: [status(502), through], endings: well(2) },
  {
    fault: 'four lost requests',
    ways: [reset, reset, reset, reset, through],
    endings: { G: { exit: 0, requests: 5 }, C: { exit: 0, requests: 5, paid: 1 } },
  },
];

export const networkRows: readonly Row[] = [...unsentRows, ...lostRows, ...answersLost, ...onceRows];
