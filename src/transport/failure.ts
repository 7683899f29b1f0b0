import type { Outcome } from '../errors.ts';
import { ConnectFailure } from './agent.ts';
import { RequestError, StoppedError } from './errors.ts';
import type { Call } from './request.ts';
import { SilenceError } from './watch.ts';

/** A 2xx whose body is not what the interface promises; `body` is that body, where it could be read. */
export function garbled(
  call: Call,
  what: string,
  requestId: string | undefined,
  cause?: unknown,
  body?: string,
): RequestError {
  return new RequestError('garbled', call.endpoint, `${nameOf(call)} brought ${what}`, {
    ...known(call, requestId),
    cause,
    body,
  });
}

/** What went wrong on the way, as the policy table sees it; `head` is missing until the answer has begun. */
export function toFailure(
  error: unknown,
  call: Call,
  head?: { readonly requestId: string | undefined },
): Error {
  const requestId = head?.requestId;
  if (call.signal.aborted) {
    return new StoppedError(call.signal.reason as Outcome, 'stopped', {
      ...known(call, requestId),
      charged: call.endpoint.method === 'GET' ? 'no' : 'maybe',
    });
  }
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const fault = head === undefined ? faultOf(cause) : 'lost';
  const what = cause instanceof Error ? describe(cause) : String(cause);
  return new RequestError(fault, call.endpoint, `${nameOf(call)} failed: ${what}`, {
    ...known(call, requestId),
    cause: error,
  });
}

function faultOf(cause: unknown): 'unsent' | 'certificate' | 'not_http' | 'lost' {
  const { code = '', name = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {};
  if (/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|HOSTNAME_MISMATCH|INVALID_CA)/.test(code)) {
    return 'certificate';
  }
  if (name === 'HTTPParserError' || code === 'EPROTO' || code.startsWith('ERR_SSL_')) return 'not_http';
  // Node's fetch refuses some ports, such as 1 and 9, without trying.
  if (cause instanceof ConnectFailure || (cause instanceof Error && cause.message === 'bad port'))
    return 'unsent';
  return 'lost';
}

/** Connection errors of several addresses at once have no message of their own. */
function describe(cause: Error): string {
  if (cause instanceof SilenceError) return cause.message;
  const inner = cause instanceof ConnectFailure ? (cause.cause as Error) : cause;
  if (inner instanceof AggregateError && inner.message === '') {
    return inner.errors.map((one: Error) => one.message).join(', ');
  }
  return inner.message;
}

function nameOf(call: Call): string {
  return `${call.endpoint.method} ${call.endpoint.path}`;
}

function known(call: Call, requestId: string | undefined): { idempotencyKey?: string; requestId?: string } {
  return {
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}
