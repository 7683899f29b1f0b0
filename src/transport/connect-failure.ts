import type { Fault } from './policy.ts';

/** A connection that was never made: nothing of the request left this machine. */
export class ConnectFailure extends Error {
  readonly code: string | undefined;

  constructor(cause: Error, message = messageOf(cause)) {
    super(message, { cause });
    this.name = 'ConnectFailure';
    this.code = (cause as NodeJS.ErrnoException).code;
  }
}

/** Connection errors of several addresses at once have no message of their own. */
export function messageOf(cause: Error): string {
  return cause instanceof AggregateError && cause.message === ''
    ? cause.errors.map((one: Error) => one.message).join(', ')
    : cause.message;
}

/** A proxy that answers and does not let us through: nothing of the request left this machine. */
export class ProxyRefusal extends ConnectFailure {
  readonly fault: Fault;

  constructor(fault: Fault, message: string, cause?: Error) {
    super(cause ?? new Error(message), message);
    this.name = 'ProxyRefusal';
    this.fault = fault;
  }
}

/** Error codes of a connection whose other end does not use TLS, or no version of it that we support. */
export const notTls = /^(?:EPROTO$|ERR_SSL_)/;
