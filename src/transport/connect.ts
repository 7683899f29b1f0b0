import type { Socket } from 'node:net';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import createConnector from 'undici/lib/core/connect.js';
import { ConnectFailure, messageOf } from './connect-failure.ts';

/** Characters: some certificates have hundreds of names. */
const maxNames = 300;

/** Opens TCP, and TLS over it (or over `httpSocket`) for https. Rejects with ConnectFailure. */
export type Connect = (target: buildConnector.Options) => Promise<Socket>;

/** `timeout`, in milliseconds, is for TCP and TLS together. What is still being opened ends with `ended`. */
export function createConnect(options: buildConnector.BuildOptions, ended: AbortSignal): Connect {
  const connector = createConnector(options);
  return (target) =>
    new Promise((resolve, reject) => {
      let validity = '';
      const stop = (): void => void opening.destroy(new Error('the run has ended'));
      const opening = connector(target, (...[error, socket]) => {
        ended.removeEventListener('abort', stop);
        if (error === null) return resolve(socket);
        reject(new ConnectFailure(error, messageOf(error) + aboutCertificate(error, validity)));
      });
      ended.addEventListener('abort', stop);
      // Node judges the certificate next, and one that it refuses can't be read any more.
      opening.prependOnceListener('secure', () => {
        validity = validityOf(opening as TLSSocket);
      });
    });
}

function validityOf(socket: TLSSocket): string {
  const { valid_from, valid_to } = socket.getPeerCertificate();
  return valid_to === undefined ? '' : ` (valid from ${valid_from} to ${valid_to})`;
}

/** What OpenSSL leaves out, and Node where the host is an address. */
function aboutCertificate(error: NodeJS.ErrnoException, validity: string): string {
  if (error.code === 'CERT_HAS_EXPIRED' || error.code === 'CERT_NOT_YET_VALID') return validity;
  if (error.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return '';
  const { cert } = error as { cert?: PeerCertificate };
  const names = cert?.subjectaltname ?? cert?.subject?.CN ?? 'nobody';
  return ` (the certificate is for ${names.slice(0, maxNames)})`;
}
