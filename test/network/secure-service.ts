import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../helpers/certificates.ts';
import { closing } from '../helpers/closing.ts';
import { searchFrames } from '../helpers/fault-server.ts';

export interface SecureService {
  readonly port: number;
  /** `<method> <path>` of each request that came. */
  readonly requests: string[];
  close(): void;
}

/** What brings all that the service has. */
export const search = ['search', 'company', 'x', '-f', 'jsonl', '-q'];
export const threeLeads = {
  code: 0,
  stdout: '{"name":"One"}\n{"name":"Two"}\n{"name":"Three"}\n',
};

/** A service on https that knows balance and search: three leads, in three batches. */
export async function startSecureService(
  certificate: Certificate,
  host = '127.0.0.1',
): Promise<SecureService> {
  const requests: string[] = [];
  const server = createServer(certificate, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      response.end('{"object":"credit_balance","available_credits":7}');
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const leads = ['One', 'Two', 'Three'].map((name) => [JSON.stringify({ name })]);
    for (const frame of searchFrames(leads)) response.write(frame);
    response.end();
  }).listen(0, host);
  await once(server, 'listening');
  return closing({
    port: (server.address() as AddressInfo).port,
    requests,
    close() {
      server.close();
      server.closeAllConnections();
    },
  });
}
