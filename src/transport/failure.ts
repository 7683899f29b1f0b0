import { stoppedBy, toAdvice } from '../errors.ts';
import { type Call, known, nameOf } from './call.ts';
import { ConnectFailure, messageOf, notTls, ProxyRefusal } from './connect-failure.ts';
import { RequestError, StoppedError } from './errors.ts';
import { certificateHint, type Fault } from './policy.ts';
import { SilenceError } from './watch.ts';

/** A 2xx whose body is not what the interface promises; `body` is that body, where it could be read. */
export function garbled(
  call: Call,
  what: string,
  requestId: string | undefined,
  cause?: unknown,
  body?: string,
): RequestError {
  return new RequestError('garbled', call.endpoint, `the service sent ${what}`, {
    ...known(call, requestId),
    technical: nameOf(call),
    cause,
    body,
  });
}

/**
 * What went wrong on the way, as the policy table sees it; `head` is missing until the answer has begun. `sent` says
 * whether any of the request may have left this machine.
 */
export function toFailure(
  error: unknown,
  call: Call,
  head?: { readonly requestId: string | undefined },
  sent = true,
): Error {
  const requestId = head?.requestId;
  if (call.signal.aborted) {
    const isFree = call.endpoint.method === 'GET' || !sent;
    return new StoppedError(stoppedBy(call.signal), 'stopped', {
      ...known(call, requestId),
      ...(isFree ? { charged: 'no' } : { charged: 'maybe', facts: { is: 'in_doubt' } }),
    });
  }
  // Bytes that came and are no HTTP: they are not masked, and a program may print all that its error holds.
  if (error instanceof Error && 'data' in error) error.data = undefined;
  const fault = head === undefined ? faultOf(error, sent) : 'lost';
  const what = !(error instanceof Error)
    ? String(error)
    : error instanceof ConnectFailure
      ? error.message
      : messageOf(error);
  const words = error instanceof SilenceError ? what : `${causes[fault] ?? causes.lost}: ${what}`;
  return new RequestError(fault, call.endpoint, words, {
    ...known(call, requestId),
    technical: nameOf(call),
    ...(fault === 'certificate' ? toAdvice(certificateHint((error as NodeJS.ErrnoException).code)) : {}),
    cause: error,
  });
}

/** In plain words; what the machine says about it follows. */
const causes: Partial<Readonly<Record<Fault, string>>> = {
  unsent: 'no connection to the service',
  proxy_credentials: 'no connection to the service',
  proxy_refused: 'no connection to the service',
  certificate: 'this machine does not accept the certificate of the service',
  not_http: 'the server at this address is not the service',
  lost: 'the connection to the service broke',
};

function faultOf(cause: unknown, sent: boolean): Fault {
  if (cause instanceof ProxyRefusal) return cause.fault;
  const { code = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {};
  if (/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|HOSTNAME_MISMATCH|INVALID_CA)/.test(code)) {
    return 'certificate';
  }
  if (isOtherProtocol(cause) || notTls.test(code)) return 'not_http';
  return sent && !(cause instanceof ConnectFailure) ? 'lost' : 'unsent';
}

/** HTTP that can't be read is no other protocol: whoever speaks it may have done the work. */
function isOtherProtocol(cause: unknown): boolean {
  return (
    cause instanceof Error && cause.name === 'HTTPParserError' && cause.message.includes('Expected HTTP/')
  );
}
